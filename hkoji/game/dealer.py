"""Dealers: the deck key of each round, from seed and entropy, and the cards from a key.

docs/spec/log.md, "Deal". In `server/v1` the service's seed and both players' entropy make the deck. All three commit
before any of them reveals, so one honest party is enough for a fair deck. In `duplicate/v1` the deck depends only on
the seed and the deal id, so several tables get the same deals; its author could have chosen the deck.

A dealer knows a game's decks and public chance. It knows no rules except the ruleset's way to cut a deck.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from hkoji.rules.events import Chance, Deal
from hkoji.rules.protocol import Ruleset


class Dealer(Protocol):
    """What replay needs of a dealer."""

    def deal(self, round_number: int) -> Deal:
        """The cards of a round, counted from 1."""

    def chance(self) -> Chance | None:
        """What public chance decides before the first deal; None if nothing."""


@dataclass(frozen=True, slots=True)
class ServerDealer:
    """Dealer `server/v1` with all its inputs known: seed and entropy are 64 hex digits each."""

    game: str
    ruleset: Ruleset
    seed: str
    host_entropy: str
    guest_entropy: str

    def deck_key(self, round_number: int) -> bytes:
        """K_r, 32 bytes."""
        lines = ("hkoji.deck.v1", self.game, self.guest_entropy, self.host_entropy, round_number)
        return _hmac(bytes.fromhex(self.seed), *lines)

    def deal(self, round_number: int) -> Deal:
        """The cards of a round, counted from 1."""
        return _deal(self, round_number)

    def chance(self) -> Chance | None:
        """What public chance decides before the first deal; None if nothing."""
        return _chance(self.ruleset, self.deck_key(1))


@dataclass(frozen=True, slots=True)
class DuplicateDealer:
    """Dealer `duplicate/v1` with all its inputs known: the deal id is 32 hex digits, the seed 64.

    It is equal for all tables of a deal, and so is all that it deals.
    """

    deal_id: str
    ruleset: Ruleset
    seed: str

    def deck_key(self, round_number: int) -> bytes:
        """K_r, 32 bytes."""
        return _hmac(bytes.fromhex(self.seed), "hkoji.duplicate.deck.v1", self.deal_id, round_number)

    def deal(self, round_number: int) -> Deal:
        """The cards of a round, counted from 1."""
        return _deal(self, round_number)

    def chance(self) -> Chance | None:
        """What public chance decides before the first deal; None if nothing."""
        return _chance(self.ruleset, self.deck_key(1))


# A deal costs some twenty HMACs and is asked for again with every view of a running game. Pure, so never stale.
@lru_cache(maxsize=4096)
def _deal(dealer: ServerDealer | DuplicateDealer, round_number: int) -> Deal:
    """All cards sorted by their HMAC, bytewise, cut as the ruleset says."""
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
