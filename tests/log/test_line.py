"""Lines and logs: what is written can be read again, and no other text can be read."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import InvalidError, MalformedError, NotUnderstoodError
from hkoji.log import sshsig
from hkoji.log.canonical import MAX_DEPTH, JsonValue, encode_base64
from hkoji.log.entry import MAX_ENTRY_BYTES, make_entry
from hkoji.log.line import (
    MAX_LINE_BYTES,
    MAX_RECEIPT_BYTES,
    Line,
    SignedEntry,
    entry_namespace,
    format_line,
    format_log,
    line_to_json,
    parse_line,
    parse_lines,
    parse_log,
    read_line,
    read_signed,
    read_signed_receipt,
)
from tests.log.samples import AT, GAME, LOG, MOVE, attempt, edits, make_line, node_id, reason, texts, values
from tests.support.docs import DOCS

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


MALFORMED: list[tuple[str, str]] = [
    ("", "it is empty"),
    (" ", "not JSON"),
    ("{}", "entry is missing"),
    ("[]", "not an object"),
    ("null", "not an object"),
    ("1" * 10_000, "not JSON"),
    ("[" * 100_000, "not JSON"),
    ('{"entry":' * 100_000, "not JSON"),
    ("[" * 500 + "]" * 500, "not an object"),
    ('{"entry":"x"}', "sig is missing"),
    (TEXT + "\n", "U+000A"),
    (TEXT + "\r", "U+000D"),
    (TEXT + " ", "canonically"),
    ("\ufeff" + TEXT, "column 1 is U+FEFF"),
    (TEXT[:-1], "not JSON"),
    (TEXT.replace('"sig":', '"sig": '), "canonically"),
    (TEXT.replace('"entry":', '"entry":"","entry":'), "canonically"),
    (TEXT.replace('"sig":', '"more":1,"sig":'), "more does not belong"),
    (TEXT.replace('"sig":', '"opening":[],"sig":'), "opening does not belong"),
    (TEXT.replace('"text":', '"at":1,"text":'), "at does not belong"),
    (BARE.replace('"sig":', '"receipt":null,"sig":'), "not an object"),
    (BARE.replace('"sig":', '"receipt":{},"sig":'), "sig is missing"),
    (BARE.replace('"sig":"', '"sig":7,"x":"'), "x does not belong"),
    ('{"entry":7,"sig":"AAAA"}', "entry is not text"),
    ('{"entry":"x","sig":["AAAA"]}', "not JSON"),
    (json.dumps({"sig": encode_base64(LINE.sig), "entry": MOVE.text}, separators=(",", ":")), "canonically"),
    (BARE.replace('\\"at\\"', '\\u0022at\\"'), "canonically"),
    (BARE.replace("2XX", "2\\u0058X"), "canonically"),
    (BARE.replace("2XX", "2XX\\n"), "U+000A"),
    (BARE.replace("2XX", "2\\\\X"), "U+005C"),
    (BARE.replace("2XX", "2\u00d7X"), "U+00D7"),
    (BARE.replace("2XX", "2\tX"), "U+0009"),
    (BARE.replace("alice", "Alice"), "by is not a name"),
    (BARE.replace('"sig":"', '"sig":"\\n'), "base64"),
    (BARE.replace('"sig":"U', '"sig":"-'), "base64"),
    (BARE[:-2] + '="}', "base64"),
    ('{"entry":' + json.dumps(MOVE.text) + ',"sig":""}', "canonically"),
]


@pytest.mark.parametrize(("text", "why"), MALFORMED, ids=lambda value: node_id(value)[:40])
def test_malformed_lines(text: str, why: str) -> None:
    with pytest.raises(MalformedError) as error:
        parse_line(text)
    assert why in reason(error.value)
    for log in (f"{WHOLE}{text}\n", f"{WHOLE}{text}\n".encode("utf-8", "surrogatepass")):
        if "\n" not in text:
            with pytest.raises(MalformedError) as found:
                parse_log(log)
            assert found.value.what == f"line {len(LOG) + 1}"
            assert reason(found.value)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "line"),
        ({}, "line"),
        ({"entry": 7, "sig": ""}, "line"),
        ({"entry": MOVE.text, "sig": 7}, "line"),
        ({"entry": "{}", "sig": ""}, "entry"),
        ({"entry": MOVE.text, "sig": "A"}, "signature"),
        ({"entry": MOVE.text, "receipt": {}, "sig": ""}, "receipt"),
        ({"entry": MOVE.text, "receipt": {"sig": "A", "text": ""}, "sig": ""}, "signature"),
        ({"entry": MOVE.text, "receipt": {"sig": "", "text": "{}"}, "sig": ""}, "receipt"),
    ],
    ids=node_id,
)
def test_it_is_said_which_part_is_malformed(value: object, what: str) -> None:
    with pytest.raises(MalformedError) as error:
        read_line(value)
    assert error.value.what == what


@pytest.mark.parametrize("text", [TEXT, BARE])
def test_a_signature_that_is_not_base64_is_named(text: str) -> None:
    start, sig = text.rsplit('"sig":"', 1)
    with pytest.raises(MalformedError) as error:
        parse_line(f'{start}"sig":"A{sig}')
    assert error.value.what == "signature"


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


@pytest.mark.parametrize(
    ("log", "number", "why"),
    [
        (WHOLE[:-1], 5, "does not end in LF"),
        (WHOLE[: WHOLE.index("\n") + 10], 2, "does not end in LF"),
        ("\n" + WHOLE, 1, "it is empty"),
        (WHOLE + "\n", 6, "it is empty"),
        (WHOLE.replace("\n", "\r\n"), 1, r"U\+000D"),
        (WHOLE.replace("\n", "\n\n", 1), 2, "it is empty"),
        (WHOLE.replace("\n", "\u2028", 1), 1, r"U\+2028"),
        ("\ufeff" + WHOLE, 1, r"column 1 is U\+FEFF"),
        (WHOLE.replace("2XX", "2X X\\"), 4, "not JSON"),
        (WHOLE.replace("bob", "bOb", 1), 3, "its entry: by is not a name"),
        (WHOLE.replace('"text":"{\\"at\\":\\"2', '"text":"{\\"at\\":\\"x', 1), 1, "its receipt: at is not a time"),
    ],
    ids=lambda value: node_id(value)[-30:],
)
def test_a_bad_line_is_counted(log: str, number: int, why: str) -> None:
    for given_log in (log, log.encode()):
        with pytest.raises(MalformedError) as error:
            parse_log(given_log)
        assert error.value.what == f"line {number}"
        assert not error.value.reason.startswith("its line")
    with pytest.raises(MalformedError, match=why):
        parse_log(log)


def test_a_line_of_a_later_version_is_counted() -> None:
    with pytest.raises(NotUnderstoodError) as error:
        parse_log(WHOLE.replace('\\"seq\\":3,\\"v\\":1}","receipt', '\\"seq\\":3,\\"v\\":2}","receipt'))
    assert (error.value.what, error.value.value) == ("line 4: entry version", "2")


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
    wrong: list[object] = [None, [], "", 7, {}, {"sig": "AAAA"}, {"text": ""}, {"sig": "AAAA", "text": 7}]
    wrong += [{"sig": None, "text": ""}, {"sig": "A", "text": ""}, {"sig": "AAAA", "text": "", "x": 1}]
    wrong += [{"sig": "\ud800", "text": ""}]
    for value in wrong:
        with pytest.raises(MalformedError) as error:
            read_signed(value, "thing")
        assert reason(error.value)


@pytest.mark.parametrize(
    "value", [None, 7, [], "", {}, {"entry": "", "sig": ""}, {"entry": None, "sig": "AAAA"}], ids=repr
)
def test_decoded_values_that_are_no_line(value: object) -> None:
    with pytest.raises(InvalidError):
        read_line(value)


def test_a_line_keeps_what_it_was_given() -> None:
    line = Line(MOVE, b"no signature at all")
    assert parse_line(format_line(line)) == line
