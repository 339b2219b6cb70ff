"""Receipts: the service's signed word that an entry is on disk and in the chain.

docs/spec/log.md, "Receipts". A receipt's time is the time of record; an entry's own is a claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hkoji.errors import MalformedError
from hkoji.log.canonical import VERSION, decode_signed, encode, is_hex, message
from hkoji.log.entry import is_time

MAX_RECEIPT_BYTES: Final = 1024

_KEYS: Final = frozenset({"at", "game", "head", "seq", "v"})


@dataclass(frozen=True, slots=True)
class Receipt:
    """That entry `seq` with that `head` was taken into `game` at `at`. `text` is its exact line."""

    at: str = field(compare=False)
    game: str = field(compare=False)
    head: str = field(compare=False)
    seq: int = field(compare=False)
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.receipt.v1`."""
        return message(self.text)


def parse_receipt(text: str) -> Receipt:
    """Reads a receipt's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    if len(text) > MAX_RECEIPT_BYTES:
        raise MalformedError("receipt", f"it is longer than {MAX_RECEIPT_BYTES} bytes")
    value = decode_signed(text, "receipt", _KEYS)
    at, game, head, seq = value["at"], value["game"], value["head"], value["seq"]
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError("receipt", "at is not a time like 2026-11-20T12:00:00Z")
    if not isinstance(game, str) or not is_hex(game, 32):
        raise MalformedError("receipt", "game is not 32 lower case hex digits")
    if not isinstance(head, str) or not is_hex(head, 64):
        raise MalformedError("receipt", "head is not 64 lower case hex digits")
    if type(seq) is not int:  # isinstance would take true and false
        raise MalformedError("receipt", "seq is not a number")
    return Receipt(at, game, head, seq, text)


def make_receipt(*, at: str, game: str, head: str, seq: int) -> Receipt:
    """A receipt from its fields. Raises what `parse_receipt` raises."""
    return parse_receipt(encode({"at": at, "game": game, "head": head, "seq": seq, "v": VERSION}))
