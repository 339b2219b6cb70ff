"""Influence, prestige, and who wins a round.

Markers are text of five characters, one a colour: `0` or `1` on that seat's side, `.` in the middle. Influence is
counted in halves, so that a marker's half point is a whole number.

Source: rulebook (2021), "Round End".
"""

from __future__ import annotations

from typing import Final

from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.actions import COLOURS, NUMBERS

MIDDLE: Final = "."
START: Final = MIDDLE * len(COLOURS)
ROUNDS_TO_WIN: Final = 2

_SUMS: Final = tuple(2 * sum(n for n in NUMBERS if subset >> (n - 1) & 1) for subset in range(16))


def influence(tableau: Cards, markers: str, seat: Seat) -> tuple[int, ...]:
    """A seat's influence on each geisha, in half points, from the known cards of its tableau and its markers."""
    side = str(seat)
    return tuple(_SUMS[tableau >> 4 * n & 15] + (marker == side) for n, marker in enumerate(markers))


def move_markers(markers: str, tableaus: tuple[Cards, Cards]) -> str:
    """The markers after a round: more influence wins the geisha and moves her marker, a tie leaves it.

    A tie is possible only while the marker is in the middle: whole points never make up for a half point.
    """
    won = leads(influence(tableaus[0], markers, 0), influence(tableaus[1], markers, 1))
    return "".join(marker if side == MIDDLE else side for marker, side in zip(markers, won, strict=True))


def free(markers: str) -> tuple[str, ...]:
    """The colours whose marker is in the middle."""
    return tuple(colour for colour, marker in zip(COLOURS, markers, strict=True) if marker == MIDDLE)


def mark(markers: str, colour: str, seat: Seat) -> str:
    """The markers, with the one of `colour` moved to a seat's side."""
    at = COLOURS.index(colour)
    return f"{markers[:at]}{seat}{markers[at + 1 :]}"


def prestige(lanterns: tuple[int, ...], won: str, seat: Seat) -> int:
    """A seat's prestige: the lanterns of the geisha it has won, `won` being the markers after they moved."""
    return sum(points for points, side in zip(lanterns, won, strict=True) if side == str(seat))


def leads(host: tuple[int, ...], guest: tuple[int, ...]) -> str:
    """The seat with more influence on each geisha: `0`, `1`, or `.` for a tie."""
    return "".join("0" if a > b else "1" if b > a else MIDDLE for a, b in zip(host, guest, strict=True))


def winner(lanterns: tuple[int, ...], won: str, first: Seat) -> Seat:
    """The winner of a round: more prestige, then more markers after they moved, then its starting player `first`."""
    host, guest = ((prestige(lanterns, won, seat), won.count(str(seat))) for seat in (0, 1))
    if host == guest:
        return first
    return 0 if host > guest else 1
