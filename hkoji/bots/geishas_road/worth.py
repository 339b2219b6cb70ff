"""The worth of a round of Geisha's Road: the chance to win the whole game after that end of the round.

The first player to win two rounds wins the game. The markers count a little too: they stay, and each is half a point in
every round to come.
"""

from __future__ import annotations

from math import tanh
from typing import Final

from hkoji.bots.geishas_road.model import Lead, Road, lanterns, leads
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road import scoring
from hkoji.rules.geishas_road.state import GeishasRoadState

EDGE: Final = 0.02
"""How much each marker of lead over the other player raises the chance to win a round."""

MARGIN: Final = 0.15
"""The share of the margin in a round's worth: a larger margin is safer and carries more information than the result."""


class GeishasRoadRoundWorth:
    """A seat's chance to win the game, by the road and the seat's lead at the end of the current round."""

    def __init__(self, view: GeishasRoadState, seat: Seat) -> None:
        self._marks = tuple(0 if m == scoring.MIDDLE else 1 if m == str(seat) else -1 for m in view.markers)
        self._wins = view.wins[seat], view.wins[1 - seat]
        self._starts = view.first == seat

    def won(self, road: Road, lead: Lead) -> tuple[bool, int, int]:
        """Returns whether the seat wins the round, and then its leads in prestige and in markers."""
        points, markers = 0, 0
        for prestige, ahead, mark in zip(lanterns(road), leads(lead), self._marks, strict=True):
            favour = 1 if ahead > 0 else -1 if ahead < 0 else mark
            points += favour * prestige
            markers += favour or mark
        return (points, markers) > (0, 0) or (points == markers == 0 and self._starts), points, markers

    def of(self, road: Road, lead: Lead) -> float:
        """Returns the seat's chance to win the game."""
        won, points, markers = self.won(road, lead)
        mine, yours = self._wins
        ahead = EDGE * markers
        chance = game(mine + won, yours + (not won), ahead)
        return (1 - MARGIN) * chance + MARGIN * (0.5 + 0.5 * tanh(points / 8))


def game(mine: int, yours: int, edge: float) -> float:
    """Returns the chance to win a game with these rounds won, if each coming round is won with chance 0.5 + `edge`."""
    if scoring.ROUNDS_TO_WIN in (mine, yours):
        return float(mine > yours)
    chance = min(0.9, max(0.1, 0.5 + edge))
    return chance * game(mine + 1, yours, edge) + (1 - chance) * game(mine, yours + 1, edge)
