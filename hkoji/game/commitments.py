"""Commitments of players, and their openings. docs/spec/log.md, "Commitments".

Committed to are the players' entropy, and cards played face down; the seed is in `hkoji.game.dealer`. A commitment is
SHA-256 over domain-separated lines. A salt is 32 fresh random bytes, drawn by the committing player; it is never
derived, and never used twice in a game. Without it, the few possible cards could be guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.errors import CommitmentError, MalformedError, NotUnderstoodError
from hkoji.log.canonical import MAX_INTEGER, JsonValue, encode, message
from hkoji.log.sshsig import ENTROPY, parse
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.log.private_key import PrivateKey

ENTROPY_BYTES: Final = 32
SALT_BYTES: Final = 32
_KEYS: Final = frozenset({"cards", "part", "salt", "seq"})


def entropy_commit(game: str, seat: int, entropy: str) -> str:
    """Returns a player's commitment to `entropy` (64 hex digits)."""
    return commit_to("hkoji.entropy.v1", game, seat, entropy)


def entropy_of_key(key: PrivateKey, game: str, offer: str) -> str:
    """Returns the entropy (64 hex digits) of a player's key for a game whose offer, entry 0, has the head `offer`.

    Every device with the key has it, so it is not lost with a folder of a game. It is the hash of a signature that no
    program sends. Ed25519 gives the same signature each time, but a signer outside of this program need not.
    """
    statement: dict[str, JsonValue] = {"game": game, "head": offer, "v": 1}
    return sha256(parse(key.sign(ENTROPY, message(encode(statement)))).signature).hexdigest()


def hidden_commit(game: str, seq: int, part: int, cards: str, salt: str) -> str:
    """Returns the commitment to group `part` of the face-down cards of the move at `seq`; `salt` is 64 hex digits."""
    return commit_to("hkoji.hidden.v1", game, seq, part, cards, salt)


def commit_to(domain: str, *lines: str | int) -> str:
    """Returns the SHA-256 of the lines, the first of which says what the commitment is about, in hex."""
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
