"""Dealers: from the inputs of a dealer to a deck key for each round, and from the key to the cards.

docs/spec/log.md, "Deal". In `server/v1` the server's seed and both players' entropy make the deck. Each is committed to
before any of them is revealed, so one honest party is enough for a fair deck. In `duplicate/v1` only the seed and the
deal id make it, so that several tables get the same deals; the person who chose the seed could have chosen the deck.

A dealer decides a game's decks and public chance. It knows no rules except how the ruleset cuts a deck.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from hkoji.rules.events import Chance, Deal
from hkoji.rules.protocol import Ruleset


class Dealer(Protocol):
    """The interface of a dealer that a replay needs."""

    def deal(self, round_number: int) -> Deal:
        """Returns the cards of a round; rounds count from 1."""

    def chance(self) -> Chance | None:
        """Returns the decision of public chance before the first deal; None if it decides nothing."""


@dataclass(frozen=True, slots=True)
class ServerDealer:
    """Dealer `server/v1` with all its inputs known: seed and entropy are 64 hex digits each."""

    game: str
    ruleset: Ruleset
    seed: str
    host_entropy: str
    guest_entropy: str

    def deck_key(self, round_number: int) -> bytes:
        """Returns K_r, the 32 bytes that determine the deck of a round."""
        lines = ("hkoji.deck.v1", self.game, self.guest_entropy, self.host_entropy, round_number)
        return _hmac(bytes.fromhex(self.seed), *lines)

    def deal(self, round_number: int) -> Deal:
        """Returns the cards of a round; rounds count from 1."""
        return _deal(self, round_number)

    def chance(self) -> Chance | None:
        """Returns the decision of public chance before the first deal; None if it decides nothing."""
        return _chance(self.ruleset, self.deck_key(1))


@dataclass(frozen=True, slots=True)
class DuplicateDealer:
    """Dealer `duplicate/v1` with all its inputs known: the deal id is 32 hex digits, the seed 64.

    It is equal for all tables of a deal, so they all get the same cards.
    """

    deal_id: str
    ruleset: Ruleset
    seed: str

    def deck_key(self, round_number: int) -> bytes:
        """Returns K_r, the 32 bytes that determine the deck of a round."""
        return _hmac(bytes.fromhex(self.seed), "hkoji.duplicate.deck.v1", self.deal_id, round_number)

    def deal(self, round_number: int) -> Deal:
        """Returns the cards of a round; rounds count from 1."""
        return _deal(self, round_number)

    def chance(self) -> Chance | None:
        """Returns the decision of public chance before the first deal; None if it decides nothing."""
        return _chance(self.ruleset, self.deck_key(1))


# A deal takes some twenty HMACs and is needed again for every view of a running game. The function is pure.
@lru_cache(maxsize=4096)
def _deal(dealer: ServerDealer | DuplicateDealer, round_number: int) -> Deal:
    """Sorts all cards by the bytes of their HMACs, and cuts the deck as the ruleset defines."""
    key = dealer.deck_key(round_number)
    deck = sorted((_hmac(key, "hkoji.order.v1", copy), kind) for copy, kind in dealer.ruleset.pack.deck())
    return dealer.ruleset.deal(tuple(kind for _, kind in deck))


def _chance(ruleset: Ruleset, deck_key: bytes) -> Chance | None:
    decided = ruleset.chance()
    if not decided:
        return None
    first = _hmac(deck_key, "hkoji.first.v1")[0] & 1 if "first" in decided else None
    markers = None
    if "markers" in decided:
        colours = sorted((_hmac(deck_key, "hkoji.marker.v1", colour), colour) for colour in ruleset.markers)
        markers = colours[0][1] + colours[1][1]
    return Chance(first, markers)


def _hmac(key: bytes, *lines: str | int) -> bytes:
    text = "".join(f"{line}\n" for line in lines)
    return hmac.digest(key, text.encode(), "sha256")
