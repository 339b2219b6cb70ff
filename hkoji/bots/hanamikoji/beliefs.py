"""The possible places of the cards that a seat cannot see: worlds that fit all it has seen.

Every distribution of the unseen cards counts as equally likely. The opponent's choices say something about its hand,
but weighting worlds by them has not made play stronger (docs/bots.md), so this module ignores them.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from hkoji.bots.hanamikoji.model import ALL_CARDS, WEIGHTS, Hand, counts, from_pack, hand_of
from hkoji.bots.protocol import Seen
from hkoji.rules.hanamikoji.state import HanamikojiState


class HanamikojiWorld(NamedTuple):
    """The unseen cards: the opponent's hand, its secret and trade-off (0 if not played), then the deck and the rest."""

    hand: Hand
    secret: Hand
    trade_off: Hand
    rest: tuple[Hand, ...]
    """The cards to be drawn, in order, then the card removed from the round."""


class HanamikojiBeliefs:
    """The worlds that `seen` allows."""

    def __init__(self, seen: Seen, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, HanamikojiState)
        me, other = seen.seat, 1 - seen.seat
        self._chance = chance
        shown = from_pack(view.rows[0]) + from_pack(view.rows[1]) + hand_of(view.proposal[1:])
        own = from_pack(view.hands[me]) + from_pack(view.secrets[me]) + from_pack(view.trade_offs[me])
        hidden = counts(ALL_CARDS - shown - own)
        self._unseen = [weight for n, weight in zip(hidden, WEIGHTS, strict=True) for _ in range(n)]
        pack = view.ruleset.pack
        self._secret_at = pack.count(view.hands[other])
        self._trade_off_at = self._secret_at + pack.count(view.secrets[other])
        self._rest_at = self._trade_off_at + pack.count(view.trade_offs[other])
        assert len(self._unseen) == self._rest_at + len(view.deck) + 1

    def any(self) -> HanamikojiWorld:
        """Returns a random world; all are equally likely."""
        unseen = self._unseen
        self._chance.shuffle(unseen)
        return HanamikojiWorld(
            sum(unseen[: self._secret_at]),
            sum(unseen[self._secret_at : self._trade_off_at]),
            sum(unseen[self._trade_off_at : self._rest_at]),
            tuple(unseen[self._rest_at :]),
        )
