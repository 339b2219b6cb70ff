"""The points that stand for cards, and those that commitments are made with. docs/spec/sealed.md, "Points made by
hashing".
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

from hkoji.rules.cards import Pack
from hkoji.sealed import ristretto


class CardPoints(NamedTuple):
    """The cards of a ruleset as points. A card is one copy: of kind `B` there are `B1` and `B2`."""

    cards: tuple[str, ...]
    """The names of all copies, in order."""
    points: tuple[bytes, ...]
    """M_c of each, in the same order."""
    kinds: tuple[str, ...]
    """The kind of each, as actions name it."""

    def point(self, card: str) -> bytes:
        """M_c. The card must be one of `cards`."""
        return self.points[self.cards.index(card)]

    def kind(self, card: str) -> str:
        """The kind of a card of `cards`."""
        return self.kinds[self.cards.index(card)]


@cache
def card_points(ruleset: str, pack: Pack) -> CardPoints:
    """The cards of a ruleset, by its name in the log."""
    cards, kinds = zip(*pack.deck(), strict=True)
    points = tuple(_hashed(f"hkoji.sealed.card.v1\n{ruleset}\n{card}\n") for card in cards)
    return CardPoints(cards, points, kinds)


@cache
def blind_point() -> bytes:
    """H, which hides cards that are played face down."""
    return _hashed("hkoji.sealed.blind.v1\n")


@cache
def base_points(size: int) -> tuple[bytes, ...]:
    """h_0 … for a deck of `size` cards."""
    return tuple(_hashed(f"hkoji.sealed.base.v1\n{index}\n") for index in range(size))


def _hashed(text: str) -> bytes:
    return ristretto.encode(ristretto.from_hash(hashlib.sha512(text.encode()).digest()))
