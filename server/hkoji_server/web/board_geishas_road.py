"""The board of Geisha's Road as values: teahouses with their guests, five geisha with influence, lanterns and markers.

Influence is in words, as people write half points.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game.position import Position
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.actions import COLOURS, COMPETITION, PACK, pairs
from hkoji.rules.geishas_road.position import ROUNDS_TO_WIN, leads, prestige
from hkoji.rules.geishas_road.road import Road
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.show.board import turned_up
from hkoji.show.geishas_road.board import written_halves
from hkoji.show.geishas_road.drawing import action_tiles, of_colour
from hkoji_server.web.board_parts import THINGS, Face, Slip, Strip, pile, side_of_marker, strip

FACES: Final = tuple(
    Face(name, name[0], tell("{card}, {thing}", card=name, thing=THINGS[name[0]])) for name in PACK.kinds
)


class RoadGeisha(NamedTuple):
    """A geisha: both sides' cards and influence, the side with more of it, and that with her marker."""

    kind: str
    leads: str
    marker: str
    far: tuple[Slip, ...]
    far_influence: str
    near: tuple[Slip, ...]
    near_influence: str


class RoadTable(NamedTuple):
    """The table. `offer` has a group for each choice of an answer, or the two cards whose order is due."""

    far: Strip
    near: Strip
    road: Road
    columns: tuple[RoadGeisha, ...]
    offer: tuple[tuple[str, ...], ...]
    deck: tuple[str, ...]
    aside: tuple[str, ...] = ()
    faces: tuple[Face, ...] = FACES


def board_context(position: Position, near: Seat) -> RoadTable:
    """Returns what the board shows of a position, with the seat `near` at its lower edge."""
    state = position.course.state
    assert isinstance(state, GeishasRoadState)
    return RoadTable(
        _strip(position, state, 1 - near, near),
        _strip(position, state, near, near),
        state.road,
        tuple(_geisha(position, state, number, near) for number in range(len(COLOURS))),
        _offer(state),
        PACK.split(state.deck),
    )


def _geisha(position: Position, state: GeishasRoadState, number: int, near: Seat) -> RoadGeisha:
    far = 1 - near
    kind, kept = COLOURS[number], turned_up(position.events)
    influence = state.influence(0), state.influence(1)
    return RoadGeisha(
        kind,
        side_of_marker(leads(*influence)[number], near),
        side_of_marker(state.markers[number], near),
        pile(of_colour(state.tableaus[far], kind), kept[far]),
        written_halves(influence[far][number]),
        pile(of_colour(state.tableaus[near], kind), kept[near]),
        written_halves(influence[near][number]),
    )


def _strip(position: Position, state: GeishasRoadState, seat: Seat, near: Seat) -> Strip:
    won = leads(state.influence(0), state.influence(1))
    totals = (
        tell("rounds {n}/{needed}", n=state.wins[seat], needed=ROUNDS_TO_WIN),
        tell("prestige {n}", n=prestige(state.road.lanterns, won, seat)),
    )
    return strip(position.course, seat, near, totals, action_tiles(state, seat))


def _offer(state: GeishasRoadState) -> tuple[tuple[str, ...], ...]:
    if state.left:
        return tuple((name,) for name in PACK.split(state.left))
    if state.proposal[:1] == COMPETITION:
        return pairs(state.proposal)
    return tuple((name,) for name in PACK.split(state.proposal[1:]))
