"""`greedy` at Geisha's Road: chooses the decision after which its view looks best, given the opponent's worst answer.

It looks no further than that answer and the order of the cards left, guesses no hidden card, and rates a view as if the
round ended now. Stronger bots are measured against it, so it stays simple.
"""

from __future__ import annotations

from typing import Final

from hkoji.bots.geishas_road.model import (
    INFLUENCE,
    INTRIGUES,
    Card,
    GeishasRoadMove,
    Lead,
    Road,
    cards_of,
    from_road,
    in_mask,
    lanterns,
    leads,
    plays,
    read,
    step,
)
from hkoji.bots.protocol import Bot, Seen
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road import position
from hkoji.rules.geishas_road.actions import COLOURS, KNOWN
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.rules.protocol import Due

MARKER: Final = 1.0
"""The value of winning a geisha in addition to her lanterns: her marker, and lanterns that she may still bring."""

POINT: Final = 0.05
"""The value of a point of influence, needed or not."""


class GeishasRoadGreedy(Bot):
    """Plays by `looks`; ties go to the first action in the order of the rules."""

    def __init__(self, seed: int) -> None:
        del seed  # this bot uses no chance

    def decide(self, seen: Seen) -> str:
        """Returns the decision with the best worst case."""
        view = seen.view
        assert isinstance(view, GeishasRoadState)
        return max(view.legal_actions(), key=lambda action: _Table(view, seen.seat).worst(action))


def looks(road: Road, lead: Lead, markers: str, seat: Seat) -> float:
    """Rates a view: the prestige of `seat` less that of the other player if the round ended now."""
    total = 0.0
    for points, ahead, marker in zip(lanterns(road), leads(lead), markers, strict=True):
        kept = 0 if marker == position.MIDDLE else 1 if marker == str(seat) else -1
        favour = 1 if ahead > 0 else -1 if ahead < 0 else kept
        total += (points + MARKER) * favour + POINT * ahead
    return total


def influence(cards: Cards) -> Lead:
    """Returns the influence of a set's known cards, in the form of a lead."""
    return _sum(in_mask(cards & KNOWN))


def _sum(cards: tuple[Card, ...]) -> Lead:
    return sum(INFLUENCE[card] for card in cards)


def lead_of(view: GeishasRoadState, seat: Seat) -> Lead:
    """Returns the lead of `seat` as that seat sees it, its own intrigue included."""
    return influence(view.tableaus[seat]) - influence(view.tableaus[1 - seat]) + influence(view.intrigues[seat])


class _Table:
    """The outcomes of decisions in one view."""

    def __init__(self, view: GeishasRoadState, seat: Seat) -> None:
        self._view = view
        self._seat = seat
        self._road = from_road(view.road)
        self._lead = lead_of(view, seat)

    def worst(self, action: str) -> float:
        """Rates the view after `action` and the worst answer to it."""
        match self._view.due:
            case Due.PICK:
                return self._picked(action)
            case Due.ANSWER:
                # The player who offered plays the cards left in the order that suits it best.
                taken = cards_of(action[1:])
                rest = tuple(card for card in cards_of(self._view.proposal[1:]) if card not in taken)
                road = self._walk(taken)
                lead = self._lead + _sum(taken) - _sum(rest)
                return min(self._look(play.road, lead) for play in plays(road, rest))
            case Due.ORDER:
                cards = cards_of(action[1:])
                return self._look(self._walk(cards), self._lead + _sum(cards))
        return self._acted(read(action))

    def _acted(self, move: GeishasRoadMove) -> float:
        if move.bit == INTRIGUES:
            # The kept card moves its geisha only when the round ends: its influence is certain, a lantern is not.
            return self._look(self._road, self._lead + _sum(move.cards[:1]))
        if not move.shares:
            return self._look(self._walk(move.cards), self._lead + _sum(move.cards))
        worst = 1e9
        for share, rest in move.shares:
            for taken in plays(self._road, share):
                lead = self._lead + _sum(rest) - taken.influence
                worst = min(worst, max(self._look(play.road, lead) for play in plays(taken.road, rest)))
        return worst

    def _picked(self, action: str) -> float:
        if action[0] == "^":
            return float(action[1] == str(self._seat))
        held = influence(self._view.hands[self._seat])
        return float(leads(held)[COLOURS.index(action[1])])

    def _walk(self, cards: tuple[Card, ...]) -> Road:
        road = self._road
        for card in cards:
            road = step(road, card)
        return road

    def _look(self, road: Road, lead: Lead) -> float:
        return looks(road, lead, self._view.markers, self._seat)
