"""The board of Geisha's Road as values: teahouses with their guests, five geisha with influence, lanterns and markers.

Influence is in words, as people write half points.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game.position import Position
from hkoji.messages.text import tell
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.actions import BITS, COLOURS, COMPETITION, INTRIGUE, NAMES, PACK, pairs
from hkoji.rules.geishas_road.position import ROUNDS_TO_WIN, leads, prestige
from hkoji.rules.geishas_road.road import TEAHOUSES
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.show.board import turned_up
from hkoji.show.geishas_road.board import written_halves
from hkoji_server.web.board_parts import THINGS, Face, Sign, Slip, Strip, pile, side_of_marker, strip, unused

FACES: Final = tuple(
    Face(name, name[0], tell("{card}, {thing}", card=name, thing=THINGS[name[0]])) for name in PACK.kinds
)
ACTIONS: Final = unused(NAMES)


class House(NamedTuple):
    """A teahouse, and the geisha who stand there."""

    kind: str
    guests: str


class RoadGeisha(NamedTuple):
    """A geisha: both sides' cards and influence, the side with more of it, her marker, and her lanterns.

    `homes` says how often she came home in this round; `lanterns` is what her lanterns are worth.
    """

    kind: str
    leads: str
    marker: str
    lanterns: int
    homes: int
    far: tuple[Slip, ...]
    far_influence: str
    near: tuple[Slip, ...]
    near_influence: str


class RoadTable(NamedTuple):
    """The table. `offer` has a group for each choice of an answer, or the two cards whose order is due."""

    far: Strip
    near: Strip
    houses: tuple[House, ...]
    light: tuple[int, ...]
    dark: tuple[int, ...]
    columns: tuple[RoadGeisha, ...]
    offer: tuple[tuple[str, ...], ...]
    deck: tuple[str, ...]
    aside: tuple[str, ...] = ()
    faces: tuple[Face, ...] = FACES
    actions: tuple[Sign, ...] = ACTIONS


def board_context(position: Position, near: Seat) -> RoadTable:
    """Returns what the board shows of a position, with the seat `near` at its lower edge."""
    state = position.course.state
    assert isinstance(state, GeishasRoadState)
    return RoadTable(
        _strip(position, state, 1 - near, near),
        _strip(position, state, near, near),
        tuple(map(_house, range(TEAHOUSES), [state.road.places] * TEAHOUSES)),
        state.road.light,
        state.road.dark,
        tuple(_geisha(position, state, number, near) for number in range(len(COLOURS))),
        _offer(state),
        PACK.split(state.deck),
    )


def _house(number: int, places: tuple[int, ...]) -> House:
    here = (colour for at, colour in enumerate(COLOURS) if (at + places[at]) % TEAHOUSES == number)
    return House(COLOURS[number], "".join(here))


def _geisha(position: Position, state: GeishasRoadState, number: int, near: Seat) -> RoadGeisha:
    far = 1 - near
    kind, kept = COLOURS[number], turned_up(position.events)
    influence = state.influence(0), state.influence(1)
    return RoadGeisha(
        kind,
        side_of_marker(leads(*influence)[number], near),
        side_of_marker(state.markers[number], near),
        state.road.lanterns[number],
        state.road.homes[number],
        pile(_of(state.tableaus[far], kind), kept[far]),
        written_halves(influence[far][number]),
        pile(_of(state.tableaus[near], kind), kept[near]),
        written_halves(influence[near][number]),
    )


def _of(tableau: Cards, kind: str) -> list[str]:
    return [name for name in PACK.split(PACK.decode(tableau)) if name[0] == kind]


def _strip(position: Position, state: GeishasRoadState, seat: Seat, near: Seat) -> Strip:
    down = PACK.split(PACK.decode(state.intrigues[seat])) + PACK.split(PACK.decode(state.discards[seat]))
    signs = (
        each._replace(used=bool(state.used[seat] & BITS[each.code]), down=down if each.code == INTRIGUE else ())
        for each in ACTIONS
    )
    won = leads(state.influence(0), state.influence(1))
    totals = (
        tell("rounds {n}/{needed}", n=state.wins[seat], needed=ROUNDS_TO_WIN),
        tell("prestige {n}", n=prestige(state.road.lanterns, won, seat)),
    )
    return strip(position.course, seat, near, totals, signs, pack=PACK)


def _offer(state: GeishasRoadState) -> tuple[tuple[str, ...], ...]:
    if state.left:
        return tuple((name,) for name in PACK.split(state.left))
    if state.proposal[:1] == COMPETITION:
        return pairs(state.proposal)
    return tuple((name,) for name in PACK.split(state.proposal[1:]))
