"""Forms: the patterns agree with their descriptions, and fast and slow reading agree."""

from __future__ import annotations

import re
from calendar import isleap
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import (
    LIST,
    MAX_INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    TIME,
    JsonValue,
    TextForm,
    decode,
    encode,
    is_name,
    is_time,
    name_fault,
)
from tests.log.samples import attempt, edits, node_id, reason, values

YEARS = range(2000, 9000)
"""docs/spec/log.md, "Canonical text": times are of the years 2000 to 8999."""
FORM = TextForm("thing", 200, {"at": TIME, "n": NUMBER, "of": OBJECT, "x": TEXT})
WHOLE: dict[str, JsonValue] = {"at": "2026-11-20T12:00:00Z", "n": 7, "of": {"a": [1]}, "v": 1, "x": "a,b"}


def test_every_day_of_the_calendar_is_a_time() -> None:
    """Compared with datetime: years around a leap rule, the first and last year of a log, and those beside them."""
    for year in (1, 4, 99, 100, 400, 1900, 1996, 1999, 2000, 2024, 2026, 2100, 2400, 8996, 8999, 9000, 9996, 9999):
        days = {f"{year:04}-{month:02}-{day:02}" for month in range(14) for day in range(33)}
        real = set()
        day = datetime(year, 1, 1, tzinfo=UTC)
        for _ in range(366):
            real.add(f"{day.year:04}-{day.month:02}-{day.day:02}")
            if (day.month, day.day) == (12, 31):
                break
            day += timedelta(days=1)
        assert {day for day in days if is_time(f"{day}T00:00:00Z")} == (real if year in YEARS else set())


def test_every_second_of_the_day_is_a_time() -> None:
    for part, end in ((0, 24), (1, 60), (2, 60)):
        for number in range(100):
            clock = ["12", "34", "56"]
            clock[part] = f"{number:02}"
            assert is_time(f"2026-11-20T{':'.join(clock)}Z") == (number < end)


def test_leap_years() -> None:
    for year in range(1, 10_000):
        assert is_time(f"{year:04}-02-29T00:00:00Z") == (isleap(year) and year in YEARS)


@given(st.datetimes(timezones=st.just(UTC)))
def test_any_moment_is_a_time(moment: datetime) -> None:
    text = moment.strftime("%Y").zfill(4) + moment.strftime("-%m-%dT%H:%M:%SZ")
    assert is_time(text) == (moment.year in YEARS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0000-01-01T00:00:00Z",
        "0000-02-29T00:00:00Z",
        "1999-12-31T23:59:59Z",
        "9000-01-01T00:00:00Z",
        "2026-11-20",
        "2026-11-20T12:00:00",
        "2026-11-20T12:00:00+00:00",
        "2026-11-20T12:00:00.0Z",
        "2026-11-20T12:00Z",
        "2026-11-20 12:00:00Z",
        "2026-11-20t12:00:00z",
        "2026-11-20T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "20261120T120000Z",
        "12026-11-20T12:00:00Z",
        " 2026-11-20T12:00:00Z",
        "2026-11-20T12:00:00Z\n",
        "2026-1-20T12:00:00Z",
        "-026-11-20T12:00:00Z",
        "2026-11-2\u0660T12:00:00Z",
    ],
    ids=node_id,
)
def test_a_text_that_is_no_time(text: str) -> None:
    assert not is_time(text)


def test_names() -> None:
    for name in ("al", "0a", "a-", "a_", "alice", "server", "a" * 32, "9" * 32):
        assert is_name(name)
    for name in ("", "a", "A1", "alicE", "-a", "_a", "a" * 33, "a b", "a.b", "al\n", "\u00e4l", "a\u0661", "al\x00"):
        assert not is_name(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Dan", "'Dan' cannot be a name: use 2 to 32 of a-z, 0-9, _ and - (try: dan)"),
        ("Anna Maria", "'Anna Maria' cannot be a name: use 2 to 32 of a-z, 0-9, _ and - (try: anna-maria)"),
        ("_Jos\u00e9!", "'_Jos?!' cannot be a name: use 2 to 32 of a-z, 0-9, _ and - (try: jose)"),
        ("a", "'a' cannot be a name: use 2 to 32 of a-z, 0-9, _ and -"),
        ("\u4e2d\u6587", "'??' cannot be a name: use 2 to 32 of a-z, 0-9, _ and -"),
        ("server", "'server' cannot be a name: it is that of the service itself"),
    ],
)
def test_a_text_that_cannot_be_a_name_is_told_with_one_that_can(name: str, said: str) -> None:
    assert name_fault(name) == said


def test_a_form_reads_its_values() -> None:
    assert FORM.read(encode(WHOLE)) == ("2026-11-20T12:00:00Z", "7", '{"a":[1]}', "a,b")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n": None}, "n is not a number"),
        ({"n": True}, "n is not a number"),
        ({"n": "7"}, "n is not a number"),
        ({"n": [7]}, "n is not a number"),
        ({"at": 7}, "at is not a time like"),
        ({"at": "today"}, "at is not a time like"),
        ({"of": []}, "of is not an object"),
        ({"of": "{}"}, "of is not an object"),
        ({"x": {}}, "x is not text"),
        ({"y": 1}, "y does not belong in it"),
        ({"": 1}, "does not belong in it"),
        ({"v": True}, "v is not a number"),
        ({"v": "1"}, "v is not a number"),
        ({"v": None}, "v is not a number"),
        ({"v": [1]}, "v is not a number"),
    ],
    ids=node_id,
)
def test_a_line_of_another_form_is_malformed(change: dict[str, JsonValue], why: str) -> None:
    with pytest.raises(MalformedError) as error:
        FORM.read(encode({**WHOLE, **change}))
    assert error.value.what == "thing"
    assert why in reason(error.value)


@pytest.mark.parametrize("key", WHOLE)
def test_no_key_may_be_missing(key: str) -> None:
    with pytest.raises(MalformedError, match=f"{key} is missing"):
        FORM.read(encode({other: value for other, value in WHOLE.items() if other != key}))


@pytest.mark.parametrize("text", ["[]", "null", "1", '""', "true"])
def test_a_line_that_is_no_object_is_malformed(text: str) -> None:
    with pytest.raises(MalformedError, match="not an object"):
        FORM.read(text)


@pytest.mark.parametrize("version", [0, 2, 10, MAX_INTEGER])
def test_another_version_is_not_understood_whatever_else_it_holds(version: int) -> None:
    texts: list[dict[str, JsonValue]] = [{**WHOLE, "v": version}, {"v": version}, {**WHOLE, "v": version, "new": []}]
    for value in texts:
        with pytest.raises(NotUnderstoodError) as error:
            FORM.read(encode(value))
        assert (error.value.what, error.value.value) == ("thing version", str(version))


def test_another_version_must_still_be_canonical() -> None:
    with pytest.raises(MalformedError):
        FORM.read('{"v": 2}')


def test_length_is_bounded() -> None:
    room = 200 - len(encode(WHOLE))
    assert FORM.read(encode({**WHOLE, "x": "a,b" + "c" * room}))
    with pytest.raises(MalformedError, match="longer than 200 bytes"):
        FORM.read(encode({**WHOLE, "x": "a,b" + "c" * (room + 1)}))


def test_numbers_are_bounded() -> None:
    assert FORM.number(str(MAX_INTEGER)) == MAX_INTEGER
    with pytest.raises(MalformedError, match="2\\^53"):
        FORM.number(str(MAX_INTEGER + 1))
    with pytest.raises(MalformedError, match="2\\^53"):
        FORM.read(encode(WHOLE).replace('"n":7', '"n":12345678901234567'))


def _is_whole(value: JsonValue) -> bool:
    """Whether a value has the form, decided from the value alone."""
    return (
        isinstance(value, dict)
        and value.keys() == WHOLE.keys()
        and isinstance(value["at"], str)
        and is_time(value["at"])
        and type(value["n"]) is int
        and isinstance(value["of"], dict)
        and isinstance(value["x"], str)
        and value["v"] == 1
        and value["v"] is not True
    )


@given(st.dictionaries(st.sampled_from([*WHOLE, "w"]), values, max_size=3))
def test_the_pattern_takes_exactly_the_values_that_have_the_form(change: dict[str, JsonValue]) -> None:
    value: JsonValue = {**WHOLE, **change}
    text = encode(value)
    read = attempt(partial(FORM.read, text))
    assert (read is not None) == (_is_whole(value) and len(text) <= 200)


def test_every_edit_has_the_form_or_is_refused() -> None:
    refused = 0
    for text in edits(encode(WHOLE)):
        read = attempt(partial(FORM.read, text))
        value = attempt(partial(decode, text, "thing"))
        # Text that is not canonical is refused, except inside objects, which the caller decodes.
        if value is not None:
            assert (read is not None) == _is_whole(value)
        elif read is not None:
            assert attempt(partial(decode, read[2], "object")) is None
        refused += read is None
    assert refused > 1000


@given(st.text(alphabet='{}[]",:ab1', max_size=20), st.text(alphabet='{}[]",:ab1', max_size=20))
def test_a_text_is_divided_in_one_way(one: str, other: str) -> None:
    """The parts after an object are found with any content of it."""
    form = TextForm("thing", 1000, {"b": OBJECT, "n": NUMBER, "x": TEXT})
    inside = one + '"n":1,"v":1,"x":"' + other
    text = '{"b":{' + inside + '},"n":2,"v":1,"x":"y"}'
    read = attempt(partial(form.read, text))
    assert read in (None, ("{" + inside + "}", "2", "y"))


def test_at_most_one_word_of_a_form_spans_commas() -> None:
    for word in (TIME, NUMBER, TEXT):
        assert not re.fullmatch(word.pattern, '"a","b"')
        assert not re.fullmatch(word.pattern, "1,2")
    for word in (OBJECT, LIST):
        assert re.compile(word.pattern).groups == 1
