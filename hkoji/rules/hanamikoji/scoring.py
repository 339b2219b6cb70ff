"""The winner of each favour, and of the game.

Markers are text of seven characters, one a geisha in the order of the row: `0` or `1` on that seat's side, `.` in
the middle. Source: rulebooks, "Scoring" and "End of the game"; the optional round limit with its two tie-breaks.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from hkoji.rules.cards import Cards
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.hanamikoji.actions import CHARM, PACK

NEUTRAL: Final = "."
START: Final = NEUTRAL * 7

CHARM_TO_WIN: Final = 11
GEISHA_TO_WIN: Final = 4


def move_markers(markers: str, host_row: Cards, guest_row: Cards) -> str:
    """The markers after a round: strictly more items move a marker; a tie, or no item, leaves it where it is."""
    return "".join(
        "0" if host > guest else "1" if guest > host else marker
        for marker, host, guest in zip(markers, PACK.counts(host_row), PACK.counts(guest_row), strict=False)
    )


@cache
def charm(markers: str, seat: Seat) -> int:
    """Charm points on a seat's side."""
    return sum(points for marker, points in zip(markers, CHARM, strict=True) if marker == str(seat))


@cache
def geisha(markers: str, seat: Seat) -> int:
    """The number of geisha that favour a seat."""
    return markers.count(str(seat))


@cache
def winner(markers: str) -> Outcome | None:
    """The outcome by a winning goal. If each player has one, charm comes before geisha, as the rulebooks say."""
    for seat in (0, 1):
        if charm(markers, seat) >= CHARM_TO_WIN:
            return Outcome("charm", seat)
    for seat in (0, 1):
        if geisha(markers, seat) >= GEISHA_TO_WIN:
            return Outcome("geisha", seat)
    return None


@cache
def limit(markers: str, tiebreak: str) -> Outcome:
    """The outcome at the round limit: `geisha` (geisha, then charm) or `charm` (charm, then the highest geisha)."""
    if tiebreak == "geisha":
        ranks = [(geisha(markers, seat), charm(markers, seat)) for seat in (0, 1)]
        return Outcome("limit", _higher(ranks[0], ranks[1]))
    boards = [
        (
            charm(markers, seat),
            *sorted((c for m, c in zip(markers, CHARM, strict=True) if m == str(seat)), reverse=True),
        )
        for seat in (0, 1)
    ]
    return Outcome("limit", _higher(boards[0], boards[1]))


def _higher(host: tuple[int, ...], guest: tuple[int, ...]) -> Seat | None:
    return None if host == guest else 0 if host > guest else 1
