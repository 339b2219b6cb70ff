"""Entries and receipts: one text, one value, one head. Any change of their chain is detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError
from hkoji.log.canonical import MAX_DEPTH, MAX_INTEGER, JsonValue, encode, is_name, is_time
from hkoji.log.line import (
    GENESIS,
    MAX_ENTRY_BYTES,
    Entry,
    make_entry,
    make_receipt,
    parse_entry,
    parse_receipt,
    verify_link,
    verify_start,
)
from tests.log.samples import AT, GAME, LOG, MOVE, attempt, changed, edits, node_id, texts, values

RECEIPT = LOG[3].receipt.receipt if LOG[3].receipt else make_receipt(at=AT, game=GAME, head=MOVE.head, seq=3)
moments = st.datetimes(datetime(2000, 1, 1), datetime(8999, 12, 31, 23, 59, 59)).map(
    lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")
)
names = st.from_regex(r"[a-z0-9][a-z0-9_-]{1,31}", fullmatch=True)
kinds = st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True)
numbers = st.integers(0, MAX_INTEGER)


def digits(count: int) -> st.SearchStrategy[str]:
    """Hex of `count` digits."""
    return st.text(alphabet="0123456789abcdef", min_size=count, max_size=count)


@given(st.data())
def test_an_entry_is_its_text(data: st.DataObject) -> None:
    fields: dict[str, Any] = {
        "at": data.draw(moments),
        "body": data.draw(st.dictionaries(texts, values, max_size=3)),
        "by": data.draw(names),
        "game": data.draw(digits(32)),
        "kind": data.draw(kinds),
        "prev": data.draw(digits(64)),
        "seen": None,
        "seq": data.draw(st.just(0) | numbers),
    }
    if fields["seq"]:
        fields["seen"] = data.draw(moments)
    entry = make_entry(**fields)
    assert {name: getattr(entry, name) for name in fields} == fields
    assert json.loads(entry.text) == {**fields, "v": 1}
    assert entry.message == entry.text.encode() + b"\n"
    assert entry.head == hashlib.sha256(entry.text.encode() + b"\n").hexdigest()
    assert parse_entry(entry.text) == entry


@given(moments, digits(32), digits(64), numbers)
def test_a_receipt_is_its_text(at: str, game: str, head: str, seq: int) -> None:
    receipt = make_receipt(at=at, game=game, head=head, seq=seq)
    assert (receipt.at, receipt.game, receipt.head, receipt.seq) == (at, game, head, seq)
    assert json.loads(receipt.text) == {"at": at, "game": game, "head": head, "seq": seq, "v": 1}
    assert receipt.message == receipt.text.encode() + b"\n"
    assert parse_receipt(receipt.text) == receipt


def test_every_edit_of_an_entry_is_refused_or_another_entry() -> None:
    heads = {MOVE.head}
    for text in edits(MOVE.text):
        entry = attempt(partial(parse_entry, text))
        if entry is not None:
            assert entry.text == text
            assert _says(entry) != _says(MOVE)
            assert entry.head not in heads
            heads.add(entry.head)
    assert len(heads) > 500


@given(st.integers(0, len(MOVE.text)), st.integers(0, 1), st.text(max_size=1))
def test_any_edit_of_an_entry_is_refused_or_another_entry(at: int, removed: int, added: str) -> None:
    text = MOVE.text[:at] + added + MOVE.text[at + removed :]
    entry = attempt(partial(parse_entry, text))
    assert entry is None or (entry.text == text and (entry == MOVE) == (entry.head == MOVE.head) == (text == MOVE.text))


def _says(entry: Entry) -> tuple[str, ...]:
    # repr, because True == 1
    return (entry.at, repr(entry.body), entry.by, entry.game, entry.kind, entry.prev, str(entry.seen), str(entry.seq))


def test_every_edit_of_a_receipt_is_refused_or_another_receipt() -> None:
    for text in edits(RECEIPT.text):
        receipt = attempt(partial(parse_receipt, text))
        assert receipt is None or (receipt.text == text and receipt != RECEIPT)


@given(st.text(max_size=40) | st.text(alphabet='{}[]",:abknpsv01e.-', max_size=40))
def test_any_text_is_refused(text: str) -> None:
    assert attempt(partial(parse_entry, text)) is None
    assert attempt(partial(parse_receipt, text)) is None
    inside = MOVE.text.replace('{"action":"2XX"', "{" + text)
    entry = attempt(partial(parse_entry, inside))
    assert entry is None or encode(entry.body) in inside


def test_every_entry_but_the_first_states_a_time_before_it() -> None:
    """docs/spec/log.md, "Entries": null in the entry with `seq` 0, a time in every other."""
    assert LOG[0].entry.seen is None
    for time in ("2000-01-01T00:00:00Z", "8999-12-31T23:59:59Z"):
        assert parse_entry(changed(MOVE.text, seen=time)).seen == time
    assert parse_entry(changed(MOVE.text, seen=None, seq=0)).seen is None


def test_unknown_kinds_are_read() -> None:
    assert parse_entry(changed(MOVE.text, kind="rekey", body={"anything": [{}]})).kind == "rekey"


def test_nesting_is_bounded_in_an_entry_as_a_whole() -> None:
    body: JsonValue = {}
    for _ in range(MAX_DEPTH - 2):
        body = {"a": body}
    assert parse_entry(changed(MOVE.text, body=body)).body == body
    with pytest.raises(MalformedError, match="nested"):
        make_entry(at=AT, body={"a": body}, by="alice", game=GAME, kind="move", prev=GENESIS, seen=None, seq=0)
    text = MOVE.text.replace(encode(MOVE.body), encode({"a": body}))
    with pytest.raises(MalformedError, match="nested"):
        parse_entry(text)


def test_length_is_bounded() -> None:
    room = MAX_ENTRY_BYTES - len(changed(MOVE.text, body={"a": ""}))
    longest = changed(MOVE.text, body={"a": "a" * room})
    assert len(parse_entry(longest).text) == MAX_ENTRY_BYTES == 2**20
    with pytest.raises(MalformedError, match="longer than 1048576 bytes"):
        parse_entry(changed(MOVE.text, body={"a": "a" * (room + 1)}))


def test_making_refuses_what_reading_refuses() -> None:
    good: dict[str, Any] = {
        "at": AT,
        "body": {},
        "by": "alice",
        "game": GAME,
        "kind": "move",
        "prev": GENESIS,
        "seen": None,
        "seq": 0,
    }
    assert make_entry(**good)
    wrong: list[dict[str, Any]] = [
        {"seq": -1},
        {"seq": 1.0},
        {"seq": True},
        {"seq": 2**53},
        {"body": {"a": 0.5}},
        {"body": {"a": "\n"}},
        {"body": {1: 2}},
        {"body": []},
        {"by": "Al"},
        {"at": "now"},
        {"seen": "now"},
        {"seen": AT},
        {"seq": 1},
        {"kind": ""},
    ]
    for change in wrong:
        with pytest.raises(MalformedError):
            make_entry(**{**good, **change})


def test_names_and_times_are_known_here_too() -> None:
    assert is_name("alice")
    assert is_time(AT)


# --- the chain --------------------------------------------------------------------------------------------------------


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
