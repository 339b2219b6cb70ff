"""Receipts: the service's signed word that an entry is on disk and in the chain.

docs/spec/log.md, "Receipts". A receipt's time is the time of record; an entry's own is a claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import decode_object, encode, is_hex
from hkoji.log.entry import VERSION, is_time

_KEYS: Final = frozenset({"at", "game", "head", "seq", "v"})


@dataclass(frozen=True, slots=True)
class Receipt:
    """That entry `seq` with that `head` was taken into `game` at `at`. `text` is its exact line."""

    at: str
    game: str
    head: str
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes."""
        return self.text.encode() + b"\n"


def parse_receipt(text: str) -> Receipt:
    """Reads a receipt's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    fields = decode_object(text, "receipt", _KEYS)
    at, game, head, seq = fields["at"], fields["game"], fields["head"], fields["seq"]
    if type(fields["v"]) is not int:
        raise MalformedError("receipt", "v is not a number")
    if fields["v"] != VERSION:
        raise NotUnderstoodError("receipt version", str(fields["v"]))
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError("receipt", "at is not a time")
    if not isinstance(game, str) or not is_hex(game, 32) or not isinstance(head, str) or not is_hex(head, 64):
        raise MalformedError("receipt", "game and head are 32 and 64 hex digits")
    if type(seq) is not int:
        raise MalformedError("receipt", "seq is not a number")
    return Receipt(at, game, head, seq, text)


def make_receipt(*, at: str, game: str, head: str, seq: int) -> Receipt:
    """A receipt from its fields. Raises what `parse_receipt` raises."""
    return parse_receipt(encode({"at": at, "game": game, "head": head, "seq": seq, "v": VERSION}))
