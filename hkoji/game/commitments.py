"""Commitments and their openings, and the dealers, which deal from the seed and the entropy that are committed to.

docs/spec/log.md, "Commitments" and "Deal". Committed to are the seed, the players' entropy, and cards played face down.
A commitment is SHA-256 over domain-separated lines. A salt is 32 fresh random bytes, drawn by the committing player; it
is never derived, and never used twice in a game. Without it, the few possible cards could be guessed.

A dealer computes a deck key for each round from its inputs, and the cards of the round from that key. In `server/v1`
the server's seed and both players' entropy make the deck. Each is committed to before any of them is revealed, so one
honest party is enough for a fair deck. In `duplicate/v1` only the seed and the deal id make it, so that several tables
get the same deals; the person who chose the seed could have chosen the deck.

A dealer decides a game's decks and public chance. It knows no rules except how the ruleset cuts a deck. Its terms are
the public part of an offer that names it and binds it to a seed before play begins. To add a dealer, add a class for
the dealer, a class for its terms, and a case in `parse_terms`.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from hkoji.errors import CommitmentError, MalformedError, NotUnderstoodError
from hkoji.log.canonical import MAX_INTEGER, JsonValue, encode, exactly, message, read_hex
from hkoji.log.sshsig import ENTROPY, parse
from hkoji.messages.text import tell
from hkoji.rules.cards import Pack
from hkoji.rules.events import Chance, Deal
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.log.private_key import PrivateKey

ENTROPY_BYTES: Final = 32
SALT_BYTES: Final = 32
_KEYS: Final = frozenset({"cards", "part", "salt", "seq"})


def seed_commit(game: str, seed: str) -> str:
    """Returns the server's commitment to `seed` (64 hex digits)."""
    return _commit("hkoji.seed.v1", game, seed)


def duplicate_seed_commit(deal: str, seed: str) -> str:
    """Returns the commitment of dealer `duplicate/v1` to `seed` (64 hex digits): the same at all tables of the deal."""
    return _commit("hkoji.duplicate.seed.v1", deal, seed)


def entropy_commit(game: str, seat: int, entropy: str) -> str:
    """Returns a player's commitment to `entropy` (64 hex digits)."""
    return _commit("hkoji.entropy.v1", game, seat, entropy)


def entropy_of_key(key: PrivateKey, game: str, offer: str) -> str:
    """Returns the entropy (64 hex digits) of a player's key for a game whose offer, entry 0, has the head `offer`.

    Every device with the key has it, so it is not lost with a folder of a game. It is the hash of a signature that no
    program sends. Ed25519 gives the same signature each time, but a signer outside of this program need not.
    """
    statement: dict[str, JsonValue] = {"game": game, "head": offer, "v": 1}
    return sha256(parse(key.sign(ENTROPY, message(encode(statement)))).signature).hexdigest()


def hidden_commit(game: str, seq: int, part: int, cards: str, salt: str) -> str:
    """Returns the commitment to group `part` of the face-down cards of the move at `seq`; `salt` is 64 hex digits."""
    return _commit("hkoji.hidden.v1", game, seq, part, cards, salt)


def _commit(domain: str, *lines: str | int) -> str:
    text = "".join(f"{line}\n" for line in (domain, *lines))
    return sha256(text.encode()).hexdigest()


class Opening(NamedTuple):
    """The cards and the salt of one commitment. Openings are ordered by (seq, part), as in the log."""

    seq: int
    part: int
    cards: str
    salt: str

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object of the log format."""
        return {"cards": self.cards, "part": self.part, "salt": self.salt, "seq": self.seq}

    def commitment(self, game: str) -> str:
        """Returns the commitment that this opens."""
        return hidden_commit(game, self.seq, self.part, self.cards, self.salt)


def parse_opening(value: JsonValue) -> Opening:
    """Reads one opening. Raises `MalformedError`, or `NotUnderstoodError` for a key of a later version."""
    if not isinstance(value, dict):
        raise MalformedError(tell("opening"), tell("it is not an object"))
    for key in value:
        if key not in _KEYS:
            raise NotUnderstoodError(tell("opening key"), key)
    cards, part, salt, seq = (value.get(key) for key in ("cards", "part", "salt", "seq"))
    if not isinstance(cards, str) or not cards.isalnum() or len(cards) > 16:
        raise MalformedError(tell("opening"), tell("cards are not 1 to 16 letters and digits"))
    if type(part) is not int or not 0 <= part <= 1:
        raise MalformedError(tell("opening"), tell("part is not 0 or 1"))
    if type(seq) is not int or not 0 <= seq <= MAX_INTEGER:
        raise MalformedError(tell("opening"), tell("seq is not the number of an entry"))
    if not isinstance(salt, str) or len(salt) != 2 * SALT_BYTES or salt.strip("0123456789abcdef"):
        raise MalformedError(tell("opening"), tell("salt is not 64 lower case hex digits"))
    return Opening(seq, part, cards, salt)


def parse_openings(value: JsonValue) -> tuple[Opening, ...]:
    """Reads a list of openings, sorted by (seq, part) without repeats. Raises the errors of `parse_opening`."""
    if not isinstance(value, list):
        raise MalformedError(tell("openings"), tell("they are not a list"))
    openings = tuple(parse_opening(item) for item in value)
    places = [(opening.seq, opening.part) for opening in openings]
    if places != sorted(set(places)):
        raise MalformedError(tell("openings"), tell("they are not sorted by seq and part, each once"))
    return openings


def verify_entropy(game: str, seat: int, entropy: str, commit: str | None, seq: int) -> None:
    """Checks the entropy (64 hex digits) that a seat reveals at entry `seq`. Raises `CommitmentError`."""
    if entropy_commit(game, seat, entropy) != commit:
        raise CommitmentError(tell("the entropy does not match its commitment"), seq=seq, part=0)


def verify_opening(game: str, opening: Opening, commit: str | None) -> None:
    """Checks that an opening matches its commitment (None: the log has none there). Raises `CommitmentError`."""
    if opening.commitment(game) != commit:
        raise CommitmentError(tell("it does not match its commitment"), seq=opening.seq, part=opening.part)


def verify_openings(game: str, openings: Iterable[Opening], commits: Iterable[str]) -> None:
    """Checks openings against the same number of commitments, in the same order. Raises `CommitmentError`."""
    for opening, commit in zip(openings, commits, strict=True):
        verify_opening(game, opening, commit)


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

Entropy: TypeAlias = tuple[str | None, str | None]
"""The entropy that host and guest have revealed, 64 hex digits each; None before that."""


# --- terms ------------------------------------------------------------------------------------------------------------


class Terms(Protocol):
    """The interface of a dealer's terms."""

    @property
    def name(self) -> str:
        """The dealer's name."""

    @property
    def seed_commit(self) -> str:
        """The commitment to the seed, 64 hex digits."""

    @property
    def opens_late(self) -> bool:
        """Whether the seed stays unopened until an `unseal`; if not, the `end` publishes it."""

    def commitment(self, game: str, seed: str) -> str:
        """Returns the value that `seed_commit` must have for that seed."""

    def dealer(self, game: str, ruleset: Ruleset, seed: str, entropy: Entropy) -> Dealer | None:
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
    def opens_late(self) -> bool:
        """False."""
        return False

    def commitment(self, game: str, seed: str) -> str:
        """Returns the commitment, which binds the seed to the game's id."""
        return seed_commit(game, seed)

    def dealer(self, game: str, ruleset: Ruleset, seed: str, entropy: Entropy) -> Dealer | None:
        """Returns the dealer once both players' entropy is known, else None."""
        host, guest = entropy
        return None if host is None or guest is None else ServerDealer(game, ruleset, seed, host, guest)

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
    def opens_late(self) -> bool:
        """True: the same cards may still be in play at other tables."""
        return True

    def commitment(self, game: str, seed: str) -> str:  # noqa: ARG002
        """Returns the commitment, which binds the seed to the deal's id and not to the game's."""
        return duplicate_seed_commit(self.deal, seed)

    def dealer(self, game: str, ruleset: Ruleset, seed: str, entropy: Entropy) -> Dealer | None:  # noqa: ARG002
        """Returns the dealer, which does not depend on the table."""
        return DuplicateDealer(self.deal, ruleset, seed)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns name, deal and commitment."""
        return {"deal": self.deal, "name": self.name, "seed_commit": self.seed_commit}


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
    raise NotUnderstoodError(tell("dealer"), str(name))


def seed_fits(terms: Terms, game: str, seed: str) -> bool:
    """Reports whether `seed` is the seed to which the terms of a game commit."""
    return terms.commitment(game, seed) == terms.seed_commit


def verify_seed(terms: Terms, game: str, seq: int, seed: str) -> None:
    """Checks the seed that entry `seq` of a game publishes. Raises `CommitmentError`."""
    if not seed_fits(terms, game, seed):
        raise CommitmentError(tell("the seed does not match its commitment"), seq=seq, part=0)


def verify_end(terms: Terms, game: str, seq: int, seed: str | None) -> None:
    """Checks the seed of the `end` at entry `seq` (None: it stays unopened). Raises `CommitmentError`."""
    if seed is None:
        if not terms.opens_late:
            raise CommitmentError(tell("the end does not publish the seed"), seq=seq, part=0)
        return
    if terms.opens_late:
        raise CommitmentError(tell("the end publishes a seed that stays unopened until the unseal"), seq=seq, part=0)
    verify_seed(terms, game, seq, seed)
