"""Receipts: the service's signed statements that an entry is on disk and in the chain.

docs/spec/log.md, "Receipts". A receipt's time is the time of record; an entry's own is a claim.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.log.canonical import GAME, HASH, NUMBER, TIME, VERSION, TextForm, message

MAX_RECEIPT_BYTES: Final = 1024

_FORM: Final = TextForm("receipt", MAX_RECEIPT_BYTES, {"at": TIME, "game": GAME, "head": HASH, "seq": NUMBER})


class Receipt(NamedTuple):
    """The statement that entry `seq`, with that `head`, was stored in `game` at `at`. `text` is its exact line."""

    at: str
    game: str
    head: str
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.receipt.v1`."""
        return message(self.text)


def parse_receipt(text: str) -> Receipt:
    """Reads a receipt's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    at, game, head, seq = _FORM.read(text)
    return Receipt(at, game, head, _FORM.number(seq), text)


def make_receipt(*, at: str, game: str, head: str, seq: int) -> Receipt:
    """A receipt from its fields. Raises what `parse_receipt` raises."""
    # The text needs no encoder: parsing refuses anything but the canonical text of a receipt.
    return parse_receipt(f'{{"at":"{at}","game":"{game}","head":"{head}","seq":{seq},"v":{VERSION}}}')
