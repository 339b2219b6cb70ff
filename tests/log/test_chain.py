"""The chain: any change, loss, insertion or exchange of entries is detected."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hkoji.errors import MalformedError
from hkoji.log.canonical import encode
from hkoji.log.line import GENESIS, Entry, make_entry, verify_link, verify_start
from tests.log.samples import AT, LOG, node_id

ENTRIES = [line.entry for line in LOG]


def verify_chain(entries: Sequence[Entry]) -> None:
    """Checks all entries of a log, as an audit does."""
    for number, entry in enumerate(entries):
        if number:
            verify_link(entry, entries[number - 1].seq, entries[number - 1].head, entries[number - 1].game)
        else:
            verify_start(entry)


def _with(entry: Entry, *, seq: int | None = None, prev: str | None = None, game: str | None = None) -> Entry:
    return make_entry(
        at=AT,
        body=entry.body,
        by=entry.by,
        game=entry.game if game is None else game,
        kind=entry.kind,
        prev=entry.prev if prev is None else prev,
        seen=AT if (entry.seq if seq is None else seq) else None,
        seq=entry.seq if seq is None else seq,
    )


def test_a_chain() -> None:
    verify_chain(ENTRIES)
    verify_chain(ENTRIES[:1])
    verify_chain([])
    verify_start(ENTRIES[0])
    verify_link(ENTRIES[1], 0, ENTRIES[0].head, ENTRIES[0].game)


def test_the_head_of_genesis_is_64_zeros() -> None:
    assert GENESIS == "0" * 64
    assert ENTRIES[0].prev == GENESIS


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (ENTRIES[1:], "begins with entry 1"),
        (ENTRIES[:1] + ENTRIES[2:], "entry 2 does not follow entry 0"),
        ([ENTRIES[0], *ENTRIES], "entry 0 does not follow entry 0"),
        ([ENTRIES[0], ENTRIES[2], ENTRIES[1]], "entry 2 does not follow entry 0"),
        ([_with(ENTRIES[0], prev="1" * 64)], "64 zeros"),
        ([_with(ENTRIES[0], seq=5)], "begins with entry 5"),
        ([ENTRIES[0], _with(ENTRIES[1], prev=GENESIS)], "prev of entry 1 is not the hash of entry 0"),
        ([ENTRIES[0], _with(ENTRIES[1], seq=2)], "entry 2 does not follow entry 0"),
        ([ENTRIES[0], _with(ENTRIES[1], game="0" * 32)], "another game"),
    ],
    ids=node_id,
)
def test_a_broken_chain(entries: list[Entry], why: str) -> None:
    with pytest.raises(MalformedError, match=why) as error:
        verify_chain(entries)
    assert error.value.what == "chain"


def test_changing_an_entry_breaks_the_chain_after_it() -> None:
    for place, entry in enumerate(ENTRIES[:-1]):
        other = make_entry(
            at="2026-11-20T12:00:01Z",
            body=entry.body,
            by=entry.by,
            game=entry.game,
            kind=entry.kind,
            prev=entry.prev,
            seen=entry.seen,
            seq=entry.seq,
        )
        assert encode(other.body) == encode(entry.body)
        with pytest.raises(MalformedError, match=f"prev of entry {place + 1}"):
            verify_chain([*ENTRIES[:place], other, *ENTRIES[place + 1 :]])
