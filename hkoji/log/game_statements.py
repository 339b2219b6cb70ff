"""Signed statements about an entry of one game: a gift of time, a wish to call the game off, and a signed head.

docs/spec/log.md, "Statements". They stand beside the log, and each names the head that it is about: when the head
moves, a gift or a wish is void, so nobody can use it again. Each has its own namespace, so none can be taken for
another or for an entry. This module does not know whether the entry is there, who may make the statement, and what
follows from it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import GAME, HASH, NAME, NUMBER, TIME, VERSION, TextForm, encode, message
from hkoji.log.line import read_signed
from hkoji.messages.text import tell

MAX_GAME_STATEMENT_BYTES: Final = 1024
MAX_GIFT_SECONDS: Final = 30 * 86_400
"""The longest time that one gift may give: 30 days."""

_GIFT: Final = TextForm(
    "gift of time", MAX_GAME_STATEMENT_BYTES, {"game": GAME, "head": HASH, "name": NAME, "seconds": NUMBER}
)
_ANNUL: Final = TextForm("calling off", MAX_GAME_STATEMENT_BYTES, {"game": GAME, "head": HASH, "name": NAME})
_HEAD: Final = TextForm(
    "signed head", MAX_GAME_STATEMENT_BYTES, {"at": TIME, "game": GAME, "head": HASH, "seq": NUMBER}
)


class GiftStatement(NamedTuple):
    """Player `name` gives `seconds` to the opponent for the entry that is due after the entry with that `head`."""

    game: str
    head: str
    name: str
    seconds: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.give.v1`."""
        return message(self.text)


class AnnulStatement(NamedTuple):
    """Player `name` wishes to call the game off, as long as the entry with that `head` is the last."""

    game: str
    head: str
    name: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.annul.v1`."""
        return message(self.text)


class HeadStatement(NamedTuple):
    """The service says that entry `seq`, with that `head`, was the last of `game`.

    No later entry has a time of record more than 120 seconds before `at`.
    """

    at: str
    game: str
    head: str
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.head.v1`."""
        return message(self.text)


class SignedHead(NamedTuple):
    """A head with the service's SSHSIG blob; on the wire `{"sig": base64, "text": …}`."""

    statement: HeadStatement
    sig: bytes


def parse_gift(text: str) -> GiftStatement:
    """Reads the exact text. Raises `MalformedError`, also for no time or over 30 days, or `NotUnderstoodError`."""
    game, head, name, digits = _GIFT.read(text)
    seconds = _GIFT.number(digits)
    if not 1 <= seconds <= MAX_GIFT_SECONDS:
        raise MalformedError("gift of time", tell("seconds is not a number from 1 to {most}", most=MAX_GIFT_SECONDS))
    return GiftStatement(game, head, name, seconds, text)


def make_gift(*, game: str, head: str, name: str, seconds: int) -> GiftStatement:
    """A gift from its fields; `seconds` is 1 second to 30 days. Raises what `parse_gift` raises."""
    return parse_gift(encode({"game": game, "head": head, "name": name, "seconds": seconds, "v": VERSION}))


def parse_annul(text: str) -> AnnulStatement:
    """Reads the exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    game, head, name = _ANNUL.read(text)
    return AnnulStatement(game, head, name, text)


def make_annul(*, game: str, head: str, name: str) -> AnnulStatement:
    """A wish from its fields. Raises what `parse_annul` raises."""
    return parse_annul(encode({"game": game, "head": head, "name": name, "v": VERSION}))


def parse_head(text: str) -> HeadStatement:
    """Reads the exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    at, game, head, seq = _HEAD.read(text)
    return HeadStatement(at, game, head, _HEAD.number(seq), text)


def make_head(*, at: str, game: str, head: str, seq: int) -> HeadStatement:
    """A head from its fields. Raises what `parse_head` raises."""
    return parse_head(encode({"at": at, "game": game, "head": head, "seq": seq, "v": VERSION}))


def read_signed_head(value: object) -> SignedHead:
    """Reads a decoded `{"sig", "text"}` with a head. Raises `MalformedError` or `NotUnderstoodError`."""
    signed = read_signed(value, "signed head")
    return SignedHead(parse_head(signed.text), signed.sig)
