"""Lines and logs: what is written can be read again, and no other text can be read."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import InvalidError, MalformedError
from hkoji.log import sshsig
from hkoji.log.canonical import MAX_DEPTH, JsonValue
from hkoji.log.line import (
    MAX_ENTRY_BYTES,
    MAX_LINE_BYTES,
    MAX_RECEIPT_BYTES,
    Line,
    SignedEntry,
    entry_namespace,
    format_line,
    format_log,
    line_to_json,
    make_entry,
    parse_line,
    parse_lines,
    parse_log,
    read_line,
    read_signed,
    read_signed_receipt,
)
from tests.log.samples import AT, GAME, LOG, MOVE, attempt, edits, make_line, texts, values
from tests.support.docs import DOCS
from tests.support.refusals import cases
from tests.support.refusals import given as given_in

LINE = LOG[3]
TEXT = format_line(LINE)
BARE = format_line(LINE, receipts=False)
WHOLE = format_log(LOG)


def test_a_line_is_json_with_sorted_keys() -> None:
    for text, line in ((TEXT, LINE), (BARE, LINE._replace(receipt=None))):
        value = json.loads(text)
        assert json.dumps(value, sort_keys=True, separators=(",", ":")) == text
        assert line_to_json(line) == value
        assert value["entry"] == MOVE.text
        assert parse_line(text) == line
        assert read_line(value) == line
    assert json.loads(BARE).keys() == {"entry", "sig"}
    assert json.loads(TEXT).keys() == {"entry", "receipt", "sig"}


@given(st.dictionaries(texts, values, max_size=3), st.binary(min_size=1, max_size=200), st.booleans())
def test_formatting_is_undone(body: dict[str, JsonValue], sig: bytes, receipts: bool) -> None:
    entry = make_entry(at=AT, body=body, by="alice", game=GAME, kind="move", prev="0" * 64, seen=None, seq=0)
    line = make_line(entry)._replace(sig=sig)
    text = format_line(line, receipts=receipts)
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
    assert parse_line(text) == (line if receipts else line._replace(receipt=None))


def test_every_edit_of_a_line_is_refused_or_another_line() -> None:
    read = 0
    for text in edits(TEXT)[::3]:
        line = attempt(partial(parse_line, text))
        if line is not None:
            assert format_line(line) == text
            assert line != LINE
            read += 1
    assert read > 200


def test_the_limits_are_those_of_the_page() -> None:
    page = " ".join((DOCS / "spec" / "log.md").read_text().split())
    assert (
        f"objects and lists nested at most {MAX_DEPTH} deep; an entry has at most 2^20 bytes, "
        f"a receipt {MAX_RECEIPT_BYTES}, a line 2^21 + 2^13." in page
    )
    assert (MAX_ENTRY_BYTES, MAX_LINE_BYTES) == (2**20, 2**21 + 2**13)


def test_the_longest_line() -> None:
    texts = (BARE.replace("2XX", "2XX" + "X" * more) for more in range(4))
    text = next(each for each in texts if (MAX_LINE_BYTES - len(each)) % 4 == 0)
    longest = text.replace('"sig":"', '"sig":"' + "A" * (MAX_LINE_BYTES - len(text)))
    assert len(longest) == MAX_LINE_BYTES
    assert format_line(parse_line(longest), receipts=False) == longest
    for line, why in ((" " * MAX_LINE_BYTES, "it is not JSON"), (" " * (MAX_LINE_BYTES + 1), "longer than")):
        with pytest.raises(MalformedError, match=why):
            parse_line(line)


def test_length_is_bounded() -> None:
    entry = make_entry(
        at=AT, body={"a": [""] * 300_000}, by="alice", game=GAME, kind="move", prev="0" * 64, seen=None, seq=0
    )
    assert MAX_ENTRY_BYTES - 200_000 < len(entry.text) <= MAX_ENTRY_BYTES
    line = make_line(entry)
    assert parse_line(format_line(line)) == line
    for text in (TEXT.replace("2XX", "2" * MAX_LINE_BYTES), TEXT + " " * MAX_LINE_BYTES):
        with pytest.raises(MalformedError, match="longer than"):
            parse_line(text)


def test_a_line_that_is_refused_is_counted_in_a_log() -> None:
    for case in cases("log")["a line"]:
        if "\n" not in given_in(case):
            for log in (f"{WHOLE}{given_in(case)}\n", f"{WHOLE}{given_in(case)}\n".encode("utf-8", "surrogatepass")):
                with pytest.raises(MalformedError) as error:
                    parse_log(log)
                assert error.value.what == f"line {len(LOG) + 1}"
    for case in cases("log")["a log"]:
        with pytest.raises(InvalidError) as found:
            parse_log(given_in(case).encode())
        assert found.value.what in case["message"]  # type: ignore[attr-defined] # both errors have it


@given(st.text(max_size=60) | st.text(alphabet='{}[]",:\\entrysig01-', max_size=60))
def test_any_text_is_no_line(text: str) -> None:
    assert attempt(partial(parse_line, text)) is None
    assert attempt(partial(parse_line, BARE.replace("2XX", "\\" + text))) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    lines = attempt(partial(parse_log, data))
    assert lines is None or (lines == () and data == b"")
    assert attempt(partial(parse_log, data.decode("latin-1"))) == lines
    assert attempt(partial(parse_log, WHOLE.encode() + data)) in (None, LOG)


def test_a_log_is_read_as_text_and_as_bytes() -> None:
    assert parse_log(WHOLE) == parse_log(WHOLE.encode()) == LOG
    assert format_log(parse_log(WHOLE)) == WHOLE
    without = format_log(LOG, receipts=False)
    assert [line.receipt for line in parse_log(without)] == [None] * len(LOG)
    assert parse_log("") == parse_log(b"") == ()


def test_a_log_is_read_line_by_line() -> None:
    lines = parse_lines(WHOLE + "no line\n")
    assert [next(lines) for _ in LOG] == list(LOG)
    with pytest.raises(MalformedError) as error:
        next(lines)
    assert error.value.what == f"line {len(LOG) + 1}"


def test_the_service_signs_its_entries_in_a_namespace_of_its_own() -> None:
    assert [entry_namespace(line.entry) for line in LOG] == [
        sshsig.SERVER if line.entry.by == "server" else sshsig.ENTRY for line in LOG
    ]
    assert sshsig.parse(LOG[0].sig).namespace == "hkoji.server.v1"
    assert sshsig.parse(LOG[1].sig).namespace == "hkoji.entry.v1"


def test_signed_texts_on_the_wire() -> None:
    assert read_signed({"sig": "AAAA", "text": "anything"}, "thing") == SignedEntry("anything", b"\0\0\0")
    assert LINE.receipt
    assert read_signed_receipt(line_to_json(LINE)["receipt"]) == LINE.receipt


def test_a_line_keeps_what_it_was_given() -> None:
    line = Line(MOVE, b"no signature at all")
    assert parse_line(format_line(line)) == line
