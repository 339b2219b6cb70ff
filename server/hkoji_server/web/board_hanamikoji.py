"""The board of Hanamikoji: all that it shows of a position, as values for `templates/board_hanamikoji.html`.

A board depends on its position alone, which knows what its observer knows: it can show nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hkoji.game.position import Position
from hkoji.rules.events import SEATS, Seat
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, KINDS, NAMES, NUMBERS, PACK, bit
from hkoji.rules.hanamikoji.position import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.ruleset import HanamikojiState
from hkoji.show.board import turned_up
from hkoji_server.web.board_values import Action, Offer, Strip


class Side(NamedTuple):
    """The cards of one side at a geisha: how many, and whether one of them is a secret that was just turned up."""

    cards: int
    revealed: bool


class Column(NamedTuple):
    """A geisha: her charm, the side that she favours (`near`, `far` or empty), and the cards of both sides."""

    kind: str
    charm: int
    favours: str
    far: Side
    near: Side


class HanamikojiTable(NamedTuple):
    """All that lies on the table. Each card is in exactly one place."""

    far: Strip
    near: Strip
    columns: tuple[Column, ...]
    offer: Offer | None
    deck: tuple[str, ...]
    aside: str
    """The card that was removed, `X` if it is not known; empty between two rounds."""


def board_context(position: Position, near: Seat) -> Mapping[str, object]:
    """Returns the board as the template takes it, with the seat `near` below."""
    return hanamikoji_table(position, near)._asdict()


def hanamikoji_table(position: Position, near: Seat) -> HanamikojiTable:
    """Returns the board of a position of Hanamikoji."""
    state = position.course.state
    assert isinstance(state, HanamikojiState)
    far = 1 - near
    shown = turned_up(position.events)
    counts = [PACK.counts(row) for row in state.rows]

    def side(seat: Seat, number: int, kind: str) -> Side:
        return Side(counts[seat][number], shown[seat] == kind)

    columns = tuple(
        Column(
            kind,
            CHARM[number],
            "" if state.markers[number] == NEUTRAL else "near" if state.markers[number] == str(near) else "far",
            side(far, number, kind),
            side(near, number, kind),
        )
        for number, kind in enumerate(KINDS)
    )
    names = position.course.setup.names
    strips = [_strip(state, seat, names[seat]) for seat in SEATS]
    aside = PACK.decode(state.aside) if state.deck else ""
    return HanamikojiTable(strips[far], strips[near], columns, _offer(state), PACK.split(state.deck), aside)


def _strip(state: HanamikojiState, seat: Seat, name: str | None) -> Strip:
    return Strip(
        seat,
        name,
        state.actor == seat,
        (("geisha", geisha(state.markers, seat)), ("charm", charm(state.markers, seat))),
        PACK.split(PACK.decode(state.hands[seat])),
        PACK.split(PACK.decode(state.secrets[seat]) + PACK.decode(state.trade_offs[seat])),
        tuple(Action(NAMES[number], bool(state.used[seat] & bit(number))) for number in NUMBERS),
    )


def _offer(state: HanamikojiState) -> Offer | None:
    if not state.proposal:
        return None
    assert state.actor is not None
    cards = PACK.split(state.proposal[1:])
    pairs = state.proposal[0] == str(COMPETITION)
    groups = (cards[:2], cards[2:]) if pairs else tuple((card,) for card in cards)
    return Offer("pairs" if pairs else "cards", 1 - state.actor, groups)
