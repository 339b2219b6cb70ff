"""The chain: each entry names its game, its place and the head before it.

docs/spec/log.md, "Chain". Signatures are not in the chain, since a signer can make many for one text.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import MalformedError
from hkoji.log.entry import Entry

GENESIS: Final = "0" * 64


def verify_start(entry: Entry) -> None:
    """Checks that `entry` can be a log's first. Raises `MalformedError`."""
    if entry.seq != 0 or entry.prev != GENESIS:
        raise MalformedError("chain", "the log does not begin with entry 0 after 64 zeros")


def verify_link(entry: Entry, seq: int, head: str, game: str) -> None:
    """Checks that `entry` follows the entry numbered `seq` of `game` with that head. Raises `MalformedError`."""
    if entry.game != game:
        raise MalformedError("chain", f"entry {entry.seq} belongs to another game")
    if entry.seq != seq + 1:
        raise MalformedError("chain", f"entry {entry.seq} does not follow entry {seq}")
    if entry.prev != head:
        raise MalformedError("chain", f"entry {entry.seq} does not follow the head {head[:16]}")
