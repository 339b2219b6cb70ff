"""What a round of Geisha's Road is worth: the chance to win the whole game with the round ended so.

Two rounds won are the game. Beside the round itself its markers count a little: they stay, and each is half a point
in every round to come.
"""

from __future__ import annotations

from math import tanh
from typing import Final

from hkoji.bots.geishas_road.model import Lead, Road, lanterns, leads
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road import scoring
from hkoji.rules.geishas_road.state import GeishasRoadState

EDGE: Final = 0.02
"""By how much each marker more than the other player's raises the chance to win a round."""

MARGIN: Final = 0.15
"""How much of a round's worth is by how much it was won: more is safer, and tells more than the bare result."""


class GeishasRoadRoundWorth:
    """By the road and a seat's lead at the end of the current round: that seat's chance to win the game."""

    def __init__(self, view: GeishasRoadState, seat: Seat) -> None:
        self._marks = tuple(0 if m == scoring.MIDDLE else 1 if m == str(seat) else -1 for m in view.markers)
        self._wins = view.wins[seat], view.wins[1 - seat]
        self._starts = view.first == seat

    def won(self, road: Road, lead: Lead) -> tuple[bool, int, int]:
        """Whether the seat wins the round, by how much prestige, and by how many markers it is ahead then."""
        points, markers = 0, 0
        for prestige, ahead, mark in zip(lanterns(road), leads(lead), self._marks, strict=True):
            favor = 1 if ahead > 0 else -1 if ahead < 0 else mark
            points += favor * prestige
            markers += favor or mark
        return (points, markers) > (0, 0) or (points == markers == 0 and self._starts), points, markers

    def of(self, road: Road, lead: Lead) -> float:
        """The seat's chance to win the game."""
        won, points, markers = self.won(road, lead)
        mine, yours = self._wins
        ahead = EDGE * markers
        chance = game(mine + won, yours + (not won), ahead)
        return (1 - MARGIN) * chance + MARGIN * (0.5 + 0.5 * tanh(points / 8))


def game(mine: int, yours: int, edge: float) -> float:
    """The chance to win a game with these rounds won, the chance to win each coming round being a half and `edge`."""
    if scoring.ROUNDS_TO_WIN in (mine, yours):
        return float(mine > yours)
    chance = min(0.9, max(0.1, 0.5 + edge))
    return chance * game(mine + 1, yours, edge) + (1 - chance) * game(mine, yours + 1, edge)
