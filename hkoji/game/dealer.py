"""Dealers, which decide a game's decks and public chance, and their terms. docs/spec/log.md, "Commitments" and "Deal".

A dealer computes a deck key for each round from its inputs, and the cards of the round from that key. In `server/v1`
the server's seed and both players' entropy make the deck. Each is committed to before any of them is revealed, so one
honest party is enough for a fair deck. In `duplicate/v1` only the seed and the deal id make it, so that several tables
get the same deals; the person who chose the seed could have chosen the deck.

A dealer knows no rules except how the ruleset cuts a deck. Its terms are the public part of an offer that names it and
binds it to a seed before play begins. To add a dealer, add a class for the dealer, a class for its terms, and a case in
`parse_terms`.

In `sealed/v1` the players deal, and nothing is committed to but their entropy: docs/spec/sealed.md.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.errors import CommitmentError, MalformedError, NotUnderstoodError
from hkoji.game.commitments import commit_to
from hkoji.log.canonical import JsonValue, exactly, read_hex
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN, Pack
from hkoji.rules.events import Chance, Deal
from hkoji.rules.protocol import Ruleset


def seed_commit(game: str, seed: str) -> str:
    """Returns the server's commitment to `seed` (64 hex digits)."""
    return commit_to("hkoji.seed.v1", game, seed)


def duplicate_seed_commit(deal: str, seed: str) -> str:
    """Returns the commitment of dealer `duplicate/v1` to `seed` (64 hex digits): the same at all tables of the deal."""
    return commit_to("hkoji.duplicate.seed.v1", deal, seed)


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


@dataclass(frozen=True, slots=True)
class SealedDealer:
    """Dealer `sealed/v1`: only public chance. The players deal, so nobody who asks it knows a card."""

    game: str
    ruleset: Ruleset
    host_entropy: str
    guest_entropy: str

    def deal(self, round_number: int) -> Deal:  # noqa: ARG002
        """Returns a deal of unknown cards."""
        return self.ruleset.deal((UNKNOWN,) * self.ruleset.pack.size)

    def chance(self) -> Chance | None:
        """Returns the decision of public chance before the first deal; None if it decides nothing."""
        key = bytes.fromhex(self.host_entropy)
        return _chance(self.ruleset, _hmac(key, "hkoji.sealed.coin.v1", self.game, self.guest_entropy))


# A deal takes some twenty HMACs and is needed again for every view of a running game. The function is pure.
@lru_cache(maxsize=4096)
def _deal(dealer: ServerDealer | DuplicateDealer, round_number: int) -> Deal:
    """Sorts all cards by the bytes of their HMACs, and cuts the deck as the ruleset defines."""
    key = dealer.deck_key(round_number)
    deck = sorted((hmac.digest(key, text, "sha256"), kind) for text, kind in _ordered(dealer.ruleset.pack))
    return dealer.ruleset.deal(tuple(kind for _, kind in deck))


@lru_cache(maxsize=64)
def _ordered(pack: Pack) -> tuple[tuple[bytes, str], ...]:
    """Returns the text that orders each card of a pack in a deck, and the card."""
    return tuple((_text("hkoji.order.v1", copy), kind) for copy, kind in pack.deck())


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
    return hmac.digest(key, _text(*lines), "sha256")


def _text(*lines: str | int) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


SERVER_V1: Final = "server/v1"
DUPLICATE_V1: Final = "duplicate/v1"
SEALED_V1: Final = "sealed/v1"

Entropy: TypeAlias = tuple[str | None, str | None]
"""The entropy that host and guest have revealed, 64 hex digits each; None before that."""


# --- terms ------------------------------------------------------------------------------------------------------------


class Publishes(Enum):
    """When the seed of a game is published."""

    AT_END = auto()
    LATE = auto()
    """By an `unseal` after the `end`."""
    NEVER = auto()
    """There is none."""


class Terms(Protocol):
    """The interface of a dealer's terms."""

    @property
    def name(self) -> str:
        """The dealer's name."""

    @property
    def publishes(self) -> Publishes:
        """When the seed is published. Until then it is unopened."""

    def fits(self, game: str, seed: str | None) -> bool:
        """Whether this is the seed that the terms commit to; None for a dealer without one."""

    def dealer(self, game: str, ruleset: Ruleset, seed: str | None, entropy: Entropy) -> Dealer | None:
        """Returns the dealer, or None while an input is missing."""

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the `dealer` object of the offer."""


class ServerTerms(NamedTuple):
    """Terms of `server/v1`: for one table, with a seed and both players' entropy; the `end` publishes the seed."""

    seed_commit: str

    @staticmethod
    def bind(game: str, seed: str) -> ServerTerms:
        """Makes terms bound to a seed of 64 hex digits, for the game with that id only."""
        return ServerTerms(seed_commit(game, seed))

    @property
    def name(self) -> str:
        """`server/v1`."""
        return SERVER_V1

    @property
    def publishes(self) -> Publishes:
        """With the `end`."""
        return Publishes.AT_END

    def fits(self, game: str, seed: str | None) -> bool:
        """Whether this seed has the commitment, which binds it to the game's id."""
        return seed is not None and seed_commit(game, seed) == self.seed_commit

    def dealer(self, game: str, ruleset: Ruleset, seed: str | None, entropy: Entropy) -> Dealer | None:
        """Returns the dealer once the seed and both players' entropy are known, else None."""
        host, guest = entropy
        return None if seed is None or host is None or guest is None else ServerDealer(game, ruleset, seed, host, guest)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns name and commitment."""
        return {"name": self.name, "seed_commit": self.seed_commit}


class DuplicateTerms(NamedTuple):
    """Terms of `duplicate/v1`: the same deals at every table with this deal id (32 hex digits) and seed."""

    deal: str
    seed_commit: str

    @staticmethod
    def bind(deal: str, seed: str) -> DuplicateTerms:
        """Makes terms bound to a seed of 64 hex digits, for all tables of the deal with that id."""
        return DuplicateTerms(deal, duplicate_seed_commit(deal, seed))

    @property
    def name(self) -> str:
        """`duplicate/v1`."""
        return DUPLICATE_V1

    @property
    def publishes(self) -> Publishes:
        """Late: the same cards may still be in play at other tables."""
        return Publishes.LATE

    def fits(self, game: str, seed: str | None) -> bool:  # noqa: ARG002
        """Whether this seed has the commitment, which binds it to the deal's id and not to the game's."""
        return seed is not None and duplicate_seed_commit(self.deal, seed) == self.seed_commit

    def dealer(self, game: str, ruleset: Ruleset, seed: str | None, entropy: Entropy) -> Dealer | None:  # noqa: ARG002
        """Returns the dealer once the seed is known. It does not depend on the table."""
        return None if seed is None else DuplicateDealer(self.deal, ruleset, seed)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns name, deal and commitment."""
        return {"deal": self.deal, "name": self.name, "seed_commit": self.seed_commit}


class SealedTerms(NamedTuple("SealedTerms", [])):
    """Terms of `sealed/v1`: none. The players deal."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`sealed/v1`."""
        return SEALED_V1

    @property
    def publishes(self) -> Publishes:
        """Never: there is no seed."""
        return Publishes.NEVER

    def fits(self, game: str, seed: str | None) -> bool:  # noqa: ARG002
        """Whether there is no seed."""
        return seed is None

    def dealer(self, game: str, ruleset: Ruleset, seed: str | None, entropy: Entropy) -> Dealer | None:  # noqa: ARG002
        """Returns the dealer once both players' entropy is known, else None."""
        host, guest = entropy
        return None if host is None or guest is None else SealedDealer(game, ruleset, host, guest)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the name."""
        return {"name": self.name}


def parse_terms(value: JsonValue) -> Terms:
    """Reads the `dealer` object of an offer. Raises `MalformedError`, or `NotUnderstoodError` for a later dealer."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise MalformedError(tell("dealer"), tell("it is not an object with a name"))
    name = value["name"]
    if name == SERVER_V1:
        dealer = exactly(value, "dealer", ("name", "seed_commit"))
        return ServerTerms(read_hex(dealer["seed_commit"], "seed_commit"))
    if name == DUPLICATE_V1:
        dealer = exactly(value, "dealer", ("deal", "name", "seed_commit"))
        return DuplicateTerms(read_hex(dealer["deal"], "deal", 32), read_hex(dealer["seed_commit"], "seed_commit"))
    if name == SEALED_V1:
        exactly(value, "dealer", ("name",))
        return SealedTerms()
    raise NotUnderstoodError(tell("dealer"), str(name))


def verify_seed(terms: Terms, game: str, seq: int, seed: str | None) -> None:
    """Checks the seed that entry `seq` of a game publishes or stands for. Raises `CommitmentError`."""
    if not terms.fits(game, seed):
        raise CommitmentError(tell("the seed does not match its commitment"), seq=seq, part=0)


def verify_end(terms: Terms, game: str, seq: int, seed: str | None) -> None:
    """Checks the seed of the `end` at entry `seq` (None: it publishes none). Raises `CommitmentError`."""
    if seed is None:
        if terms.publishes is Publishes.AT_END:
            raise CommitmentError(tell("the end does not publish the seed"), seq=seq, part=0)
        return
    if terms.publishes is Publishes.LATE:
        raise CommitmentError(tell("the end publishes a seed that stays unopened until the unseal"), seq=seq, part=0)
    verify_seed(terms, game, seq, seed)
