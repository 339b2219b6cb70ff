"""The chain: each entry names its game, its place and the head before it.

docs/spec/log.md, "Entries". Signatures are not part of the chain, because a signer can make many for one text.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import MalformedError
from hkoji.log.entry import Entry
from hkoji.messages.text import tell

GENESIS: Final = "0" * 64


def verify_start(entry: Entry) -> None:
    """Checks that `entry` can be a log's first. Raises `MalformedError`."""
    if entry.seq != 0:
        raise MalformedError(tell("chain"), tell("it begins with entry {seq}, not with entry 0", seq=entry.seq))
    if entry.prev != GENESIS:
        raise MalformedError(tell("chain"), tell("prev of entry 0 is not 64 zeros"))


def verify_link(entry: Entry, seq: int, head: str, game: str) -> None:
    """Checks that `entry` comes right after entry `seq` of `game`, which has that `head`. Raises `MalformedError`."""
    if entry.game != game:
        raise MalformedError(
            tell("chain"), tell("entry {seq} after entry {before} belongs to another game", seq=entry.seq, before=seq)
        )
    if entry.seq != seq + 1:
        raise MalformedError(
            tell("chain"), tell("entry {seq} does not follow entry {before}", seq=entry.seq, before=seq)
        )
    if entry.prev != head:
        raise MalformedError(
            tell("chain"), tell("prev of entry {seq} is not the hash of entry {before}", seq=entry.seq, before=seq)
        )
