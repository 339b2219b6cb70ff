"""The board of Hanamikoji as values: seven geisha with their favours and both sides' cards, strips, offer and deck."""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game.position import Position
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, KINDS, PACK
from hkoji.rules.hanamikoji.position import charm, geisha
from hkoji.rules.hanamikoji.ruleset import HanamikojiState
from hkoji.show.board import turned_up
from hkoji.show.hanamikoji.drawing import action_tiles
from hkoji_server.web.board_parts import THINGS, Face, Slip, Strip, pile, side_of_marker, strip

FACES: Final = tuple(
    Face(kind, str(points), tell("{card}, {thing}, charm {charm}", card=kind, thing=THINGS[kind], charm=points))
    for kind, points in zip(KINDS, CHARM, strict=True)
)


class Geisha(NamedTuple):
    """A geisha: her letter and charm, the side that has her favour, and the cards on both sides."""

    kind: str
    charm: int
    favours: str
    far: tuple[Slip, ...]
    near: tuple[Slip, ...]


class HanamikojiTable(NamedTuple):
    """The table. `offer` has a group for each choice of an answer; `deck` is in order, the next card first."""

    far: Strip
    near: Strip
    columns: tuple[Geisha, ...]
    offer: tuple[tuple[str, ...], ...]
    deck: tuple[str, ...]
    aside: tuple[str, ...]
    faces: tuple[Face, ...] = FACES


def board_context(position: Position, near: Seat) -> HanamikojiTable:
    """Returns what the board shows of a position, with the seat `near` at its lower edge."""
    state = position.course.state
    assert isinstance(state, HanamikojiState)
    secrets = turned_up(position.events)
    far_rows, near_rows = (PACK.counts(state.rows[seat]) for seat in (1 - near, near))
    columns = (
        Geisha(
            kind,
            points,
            side_of_marker(marker, near),
            pile([kind] * theirs, secrets[1 - near]),
            pile([kind] * mine, secrets[near]),
        )
        for kind, points, marker, theirs, mine in zip(KINDS, CHARM, state.markers, far_rows, near_rows, strict=False)
    )
    return HanamikojiTable(
        _strip(position, state, 1 - near, near),
        _strip(position, state, near, near),
        tuple(columns),
        _offer(state.proposal),
        PACK.split(state.deck),
        PACK.split(PACK.decode(state.aside)),
    )


def _strip(position: Position, state: HanamikojiState, seat: Seat, near: Seat) -> Strip:
    totals = (
        tell("{n} geisha", n=geisha(state.markers, seat)),
        tell("{n} charm", n=charm(state.markers, seat)),
    )
    return strip(position.course, seat, near, totals, action_tiles(state, seat))


def _offer(proposal: str) -> tuple[tuple[str, ...], ...]:
    names = PACK.split(proposal[1:])
    if proposal[:1] == str(COMPETITION):
        return names[:2], names[2:]
    return tuple((name,) for name in names)
