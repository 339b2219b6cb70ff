"""The parts of entries of a sealed game: locks, shares, shown and hidden cards, closes, deposits.

docs/spec/sealed.md, "Entries". Here they have their form: which lengths are possible. `hkoji.game.sealing` says which
parts an entry needs, and `hkoji.game.proving` whether its proofs hold. Points and numbers are bytes here.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import JsonValue, decode_base64, encode_base64, exactly
from hkoji.messages.text import tell

POINT: Final = 32
SALT: Final = 32
BRANCH: Final = 48
"""The bytes of a short challenge with its response."""
CLOSE: Final = 112
DECK_SIZES: Final = (20, 21)
MOST_POSITION: Final = 19
"""The highest position that is ever given."""
_TOKENS: Final = range(7, 11)
"""How many cards a seat can have got in a round when it acts."""
_MOST_GIVEN: Final = 7
_COPY: Final = re.compile(r"[A-Z][1-9]")


class LockPart(NamedTuple):
    """A locked deck, the key of the lock, the proof, and random bytes that go into the number of the lock.

    So no two locks of a player have the same number, also if two machines lock at the same place.
    """

    deck: tuple[bytes, ...]
    key: bytes
    proof: bytes
    salt: bytes

    def to_json(self) -> JsonValue:
        """Returns the object in a body."""
        deck = encode_base64(b"".join(self.deck))
        key, proof, salt = map(encode_base64, self[1:])
        return {"deck": deck, "key": key, "proof": proof, "salt": salt}


class GivePart(NamedTuple):
    """Shares of positions `at` in a round: the tokens, and their proof."""

    at: tuple[int, ...]
    round: int
    shares: bytes

    def to_json(self) -> JsonValue:
        """Returns the object in a body."""
        return {"at": list(self.at), "round": self.round, "shares": encode_base64(self.shares)}

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The tokens, in the order of the positions."""
        return points(self.shares[:-BRANCH])

    @property
    def digest(self) -> str:
        """The SHA-256 of the shares, in hex, by which an entry names them as a deposit."""
        return sha256(self.shares).hexdigest()


class ShowPart(NamedTuple):
    """The cards that an action shows, and the proofs that they are held."""

    copies: tuple[str, ...]
    proof: bytes

    def to_json(self) -> JsonValue:
        """Returns the object in a body."""
        return {"copies": list(self.copies), "proof": encode_base64(self.proof)}


class HidePart(NamedTuple):
    """The points that hide the cards of an action, each with the proof that it hides one that is held."""

    hidden: tuple[bytes, ...]

    def to_json(self) -> JsonValue:
        """Returns the list in a body."""
        return [encode_base64(each) for each in self.hidden]

    @property
    def points(self) -> tuple[bytes, ...]:
        """The points, in order."""
        return tuple(each[:POINT] for each in self.hidden)


class ClosePart(NamedTuple):
    """The hidden card that a seat turns up, and the proof about all its cards of the round."""

    card: str
    proof: bytes

    def to_json(self) -> JsonValue:
        """Returns the object in a body."""
        return {"card": self.card, "proof": encode_base64(self.proof)}


def points(raw: bytes) -> tuple[bytes, ...]:
    """Cuts bytes into points."""
    return tuple(raw[begin : begin + POINT] for begin in range(0, len(raw), POINT))


def read_lock(value: JsonValue) -> LockPart:
    """Reads a lock. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = exactly(value, "lock", ("deck", "key", "proof", "salt"))
    deck = points(_bytes(fields["deck"], "lock", *(POINT * size for size in DECK_SIZES)))
    proof = _bytes(fields["proof"], "lock", POINT * (4 * len(deck) + 5))
    return LockPart(deck, _bytes(fields["key"], "lock", POINT), proof, _bytes(fields["salt"], "lock", SALT))


def read_give(value: JsonValue) -> GivePart:
    """Reads shares. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = exactly(value, "give", ("at", "round", "shares"))
    at, number = fields["at"], fields["round"]
    if not isinstance(at, list) or not 0 < len(at) <= _MOST_GIVEN:
        raise MalformedError(tell("give"), tell("at is not a list of positions"))
    positions = [each for each in at if type(each) is int and 0 <= each <= MOST_POSITION]
    if positions != at or positions != sorted(set(positions)):
        raise MalformedError(tell("give"), tell("at is not a list of positions, ascending"))
    if type(number) is not int or number < 1:
        raise MalformedError(tell("give"), tell("round is not the number of a round"))
    return GivePart(tuple(positions), number, _bytes(fields["shares"], "give", POINT * len(at) + BRANCH))


def read_show(value: JsonValue) -> ShowPart:
    """Reads shown cards. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = exactly(value, "show", ("copies", "proof"))
    copies = fields["copies"]
    if not isinstance(copies, list) or not 0 < len(copies) <= 4:
        raise MalformedError(tell("show"), tell("copies are not a list of cards"))
    names = tuple(_card(copy, "show") for copy in copies)
    lengths = (BRANCH * tokens * len(names) for tokens in _TOKENS)
    return ShowPart(names, _bytes(fields["proof"], "show", *lengths))


def read_hide(value: JsonValue) -> HidePart:
    """Reads hidden cards. Raises `MalformedError` or `NotUnderstoodError`."""
    if not isinstance(value, list) or not 0 < len(value) <= 2:
        raise MalformedError(tell("hide"), tell("it is not a list of one or two texts"))
    hidden = tuple(_bytes(each, "hide", *(POINT + BRANCH * tokens for tokens in _TOKENS)) for each in value)
    if len(set(map(len, hidden))) != 1:
        raise MalformedError(tell("hide"), tell("its texts differ in length"))
    return HidePart(hidden)


def read_close(value: JsonValue) -> ClosePart:
    """Reads a close. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = exactly(value, "close", ("card", "proof"))
    return ClosePart(_card(fields["card"], "close"), _bytes(fields["proof"], "close", CLOSE))


def _card(value: JsonValue, what: str) -> str:
    if not isinstance(value, str) or not _COPY.fullmatch(value):
        raise MalformedError(what, tell("a card is a letter and a digit, as in B2"))
    return value


def _bytes(value: JsonValue, what: str, *lengths: int) -> bytes:
    """Reads base64 of one of these numbers of bytes."""
    if not isinstance(value, str):
        raise MalformedError(what, tell("a point or a proof is not text"))
    raw = decode_base64(value, what)
    if len(raw) not in lengths:
        raise MalformedError(what, tell("the length of a point or a proof is {count}", count=len(raw)))
    return raw
