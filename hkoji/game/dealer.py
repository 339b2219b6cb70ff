"""Who gives out the cards. `server/v1`: the server's committed seed and both players' entropy make the deck.

docs/spec/log.md, "Deal". Each of the three is bound by a commitment before any of them speaks, so one honest party
is enough for a fair deck. A dealer knows a game's deck and public chance; it knows no rules beyond the ruleset's
own way to cut a deck into a deal.
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

    def order(self, round_number: int) -> tuple[str, ...]:
        """The kinds of the shuffled deck, top first: all cards sorted by their HMAC, bytewise."""
        key = self.deck_key(round_number)
        deck = sorted((_hmac(key, "hkoji.order.v1", copy), kind) for copy, kind in self.ruleset.pack.deck())
        return tuple(kind for _, kind in deck)

    def deal(self, round_number: int) -> Deal:
        """The cards of a round, counted from 1."""
        return _deal(self, round_number)

    def chance(self) -> Chance | None:
        """What public chance decides before the first deal; None if nothing."""
        decided = self.ruleset.chance()
        if not decided:
            return None
        key = self.deck_key(1)
        first = _hmac(key, "hkoji.first.v1")[0] & 1 if "first" in decided else None
        markers = None
        if "markers" in decided:
            colours = sorted((_hmac(key, "hkoji.marker.v1", colour), colour) for colour in self.ruleset.markers)
            markers = colours[0][1] + colours[1][1]
        return Chance(first, markers)


# A deal costs some twenty HMACs and is asked for again with every view of a running game. Pure, so never stale.
@lru_cache(maxsize=4096)
def _deal(dealer: ServerDealer, round_number: int) -> Deal:
    return dealer.ruleset.deal(dealer.order(round_number))


def _hmac(key: bytes, *lines: str | int) -> bytes:
    text = "".join(f"{line}\n" for line in lines)
    return hmac.digest(key, text.encode(), "sha256")
