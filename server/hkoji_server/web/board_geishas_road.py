"""The board of Geisha's Road: all that it shows of a position, as values for `templates/board_geishas_road.html`.

A board depends on its position alone, which knows what its observer knows: it can show nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hkoji.game.position import Position
from hkoji.rules.events import SEATS, Seat
from hkoji.rules.geishas_road.actions import BITS, CODES, COLOURS, COMPETITION, NAMES, PACK
from hkoji.rules.geishas_road.position import MIDDLE, leads, prestige
from hkoji.rules.geishas_road.road import TEAHOUSES
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.rules.protocol import Due
from hkoji.show.board import turned_up
from hkoji_server.web.board_values import Action, Offer, Strip


class Walker(NamedTuple):
    """A geisha at a teahouse; at home the teahouse is her own."""

    colour: str
    home: bool


class Teahouse(NamedTuple):
    """A teahouse and the geisha who stand there. They walk to the next one, and from the last to the first."""

    colour: str
    walkers: tuple[Walker, ...]


class Side(NamedTuple):
    """One side of a geisha: its cards, its influence as people write it, and the card that was just turned up."""

    cards: tuple[str, ...]
    influence: str
    revealed: str
    leads: bool


class Column(NamedTuple):
    """A geisha: where her marker is (`near`, `far` or empty), her lantern's points, how often she came home."""

    colour: str
    marker: str
    lantern: int
    homes: int
    far: Side
    near: Side


class GeishasRoadTable(NamedTuple):
    """All that lies on the table. Each card is in exactly one place."""

    far: Strip
    near: Strip
    houses: tuple[Teahouse, ...]
    columns: tuple[Column, ...]
    light: tuple[int, ...]
    dark: tuple[int, ...]
    offer: Offer | None
    deck: tuple[str, ...]


def board_context(position: Position, near: Seat) -> Mapping[str, object]:
    """Returns the board as the template takes it, with the seat `near` below."""
    return geishas_road_table(position, near)._asdict()


def geishas_road_table(position: Position, near: Seat) -> GeishasRoadTable:
    """Returns the board of a position of Geisha's Road."""
    state = position.course.state
    assert isinstance(state, GeishasRoadState)
    shown, far = turned_up(position.events), 1 - near
    won = leads(state.influence(0), state.influence(1))
    tableaus = [PACK.split(PACK.decode(tableau)) for tableau in state.tableaus]

    def side(seat: Seat, number: int, colour: str) -> Side:
        cards = tuple(card for card in tableaus[seat] if card[0] == colour)
        revealed = shown[seat] if shown[seat] in cards else ""
        return Side(cards, halves(state.influence(seat)[number]), revealed, won[number] == str(seat))

    columns = tuple(
        Column(
            colour,
            "" if state.markers[number] == MIDDLE else "near" if state.markers[number] == str(near) else "far",
            state.road.lanterns[number],
            state.road.homes[number],
            side(far, number, colour),
            side(near, number, colour),
        )
        for number, colour in enumerate(COLOURS)
    )
    names = position.course.setup.names
    strips = [_strip(state, seat, names[seat], won) for seat in SEATS]
    deck = PACK.split(state.deck)
    road = state.road
    return GeishasRoadTable(
        strips[far], strips[near], _houses(road.places), columns, road.light, road.dark, _offer(state), deck
    )


def halves(number: int) -> str:
    """Returns half points as people write them: `5½`."""
    whole, half = divmod(number, 2)
    return f"{whole or ('' if half else 0)}{'½' * half}"


def _houses(places: tuple[int, ...]) -> tuple[Teahouse, ...]:
    return tuple(
        Teahouse(
            house,
            tuple(
                Walker(colour, colour == house)
                for at, colour in enumerate(COLOURS)
                if (at + places[at]) % TEAHOUSES == number
            ),
        )
        for number, house in enumerate(COLOURS)
    )


def _strip(state: GeishasRoadState, seat: Seat, name: str | None, won: str) -> Strip:
    kept = state.intrigues[seat]
    # A kept card that has been turned up lies on the table when both have been: until then it is still here.
    down = PACK.decode(kept) + PACK.decode(state.discards[seat])
    return Strip(
        seat,
        name,
        state.actor == seat,
        (("rounds", state.wins[seat]), ("prestige", prestige(state.road.lanterns, won, seat))),
        PACK.split(PACK.decode(state.hands[seat])),
        PACK.split(down),
        tuple(Action(NAMES[code], bool(state.used[seat] & BITS[code])) for code in CODES),
    )


def _offer(state: GeishasRoadState) -> Offer | None:
    if state.due is Due.ORDER:
        assert state.actor is not None
        return Offer("left", state.actor, tuple((card,) for card in PACK.split(state.left)))
    if not state.proposal:
        return None
    assert state.actor is not None
    cards = PACK.split(state.proposal[1:])
    pairs = state.proposal[0] == COMPETITION
    groups = (cards[:2], cards[2:]) if pairs else tuple((card,) for card in cards)
    return Offer("pairs" if pairs else "cards", 1 - state.actor, groups)
