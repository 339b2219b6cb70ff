"""A dealer's terms: the part of an offer that names the dealer and binds it to a seed before play begins.

docs/spec/log.md, "Deal". Terms are public. They say how the seed is committed to and whether the end publishes it.
Terms and seed together determine the dealer. A new dealer is one more class here and a line in `parse_terms`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.errors import CommitmentError, MalformedError, NotUnderstoodError
from hkoji.game.body_fields import exactly, read_hex
from hkoji.game.dealer import Dealer, DuplicateDealer, ServerDealer
from hkoji.game.openings import duplicate_seed_commit, seed_commit
from hkoji.log.canonical import JsonValue
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

SERVER_V1: Final = "server/v1"
DUPLICATE_V1: Final = "duplicate/v1"

Entropy: TypeAlias = tuple[str | None, str | None]
"""The entropy that host and guest have revealed, 64 hex digits each; None before that."""


class Terms(Protocol):
    """The interface of a dealer's terms."""

    @property
    def name(self) -> str:
        """The dealer's name."""

    @property
    def seed_commit(self) -> str:
        """The commitment to the seed, 64 hex digits."""

    @property
    def seals(self) -> bool:
        """Whether the seed stays sealed until an `unseal`; if not, the `end` publishes it."""

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
    def seals(self) -> bool:
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
    def seals(self) -> bool:
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


def verify_seed(terms: Terms, game: str, seq: int, seed: str) -> None:
    """Checks the seed that entry `seq` of a game publishes. Raises `CommitmentError`."""
    if terms.commitment(game, seed) != terms.seed_commit:
        raise CommitmentError(tell("the seed does not match its commitment"), seq=seq, part=0)


def verify_end(terms: Terms, game: str, seq: int, seed: str | None) -> None:
    """Checks the seed of the `end` at entry `seq` (None: it stays sealed). Raises `CommitmentError`."""
    if seed is None:
        if not terms.seals:
            raise CommitmentError(tell("the end does not publish the seed"), seq=seq, part=0)
        return
    if terms.seals:
        raise CommitmentError(tell("the end publishes a seed that stays sealed until the unseal"), seq=seq, part=0)
    verify_seed(terms, game, seq, seed)
