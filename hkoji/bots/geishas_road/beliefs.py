"""The possible places of the cards that a seat cannot see: worlds that fit all it has seen."""

from __future__ import annotations

import random
from typing import NamedTuple

from hkoji.bots.geishas_road.model import ALL_CARDS, Card, in_mask, mask_of
from hkoji.bots.protocol import Seen
from hkoji.rules.geishas_road.actions import KNOWN, PACK
from hkoji.rules.geishas_road.state import GeishasRoadState


class GeishasRoadWorld(NamedTuple):
    """The unseen cards: the opponent's hand, its kept and its discarded card (empty if not played), and the deck."""

    hand: int
    kept: int
    discarded: int
    deck: tuple[Card, ...]


class GeishasRoadBeliefs:
    """The worlds that `seen` allows; all are equally likely."""

    def __init__(self, seen: Seen, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, GeishasRoadState)
        me, other = seen.seat, 1 - seen.seat
        self._chance = chance
        known = view.tableaus[0] | view.tableaus[1] | view.hands[me] | view.intrigues[me] | view.discards[me]
        known |= PACK.encode(view.proposal[1:]) | PACK.encode(view.left)
        self._unseen = list(in_mask(ALL_CARDS & ~(known & KNOWN)))
        self._size = PACK.count(view.hands[other])
        self._intrigue = int(view.intrigues[other] != 0)

    def any(self) -> GeishasRoadWorld:
        """Returns a random world."""
        unseen = self._unseen
        self._chance.shuffle(unseen)
        kept = self._size
        discarded = kept + self._intrigue
        rest = discarded + self._intrigue
        return GeishasRoadWorld(
            mask_of(unseen[:kept]),
            mask_of(unseen[kept:discarded]),
            mask_of(unseen[discarded:rest]),
            tuple(unseen[rest:]),
        )
