"""Time controls: every limit on both sides, in agreements and as people type them; texts are parsed and formatted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.cli.exits import Exit, exit_code
from hkoji.errors import MalformedError, NotUnderstoodError, UsageError
from hkoji.game.time_control import (
    TimeControl,
    format_duration,
    format_time_control,
    parse_duration,
    parse_time_control,
    read_time_control,
)
from hkoji.log.canonical import encode
from tests.support.clock_games import controls

Json = Any  # wrong on purpose

DAY = 86400
GOOD: dict[str, Json] = {"add": 0, "bank": 1209600, "cap": 1209600, "move": 259200, "rest": "", "zone": "+00:00"}


def read(**changes: Json) -> TimeControl:
    return read_time_control(GOOD | changes)


def test_the_example_of_the_page() -> None:
    control = read()
    assert control == TimeControl(move=3 * DAY, bank=14 * DAY, add=0, cap=14 * DAY)
    assert (control.rest, control.zone, control.text) == ("", "+00:00", "3d/14d")
    text = '{"add":0,"bank":1209600,"cap":1209600,"move":259200,"rest":"","zone":"+00:00"}'
    assert encode(control.to_json()) == text


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ({"move": 60 * DAY}, {"move": 60 * DAY + 1}),
        ({"move": 0}, {"move": -1}),
        ({"move": 1, "bank": 0, "cap": 0}, {"move": 0, "bank": 0, "cap": 0}),
        ({"move": 0, "bank": 1, "cap": 1}, {"move": 0, "bank": 0, "add": 1, "cap": 1}),
        ({"bank": 366 * DAY, "cap": 366 * DAY}, {"bank": 366 * DAY + 1, "cap": 366 * DAY + 1}),
        ({"add": 1, "cap": 366 * DAY}, {"add": 1, "cap": 366 * DAY + 1}),
        ({"add": 30 * DAY, "cap": 30 * DAY}, {"add": 30 * DAY + 1, "cap": 31 * DAY}),
        ({"add": 1, "cap": 14 * DAY}, {"add": 1, "cap": 14 * DAY - 1}),
        ({"add": 15 * DAY, "cap": 15 * DAY}, {"add": 15 * DAY, "cap": 15 * DAY - 1}),
        ({"add": 1, "cap": 14 * DAY + 1}, {"add": 0, "cap": 14 * DAY + 1}),
        ({}, {"cap": 14 * DAY - 1}),
        ({"rest": "67"}, {"rest": "76"}),
        ({"rest": "6"}, {"rest": "66"}),
        ({"rest": "123456"}, {"rest": "1234567"}),
        ({"rest": "1"}, {"rest": "0"}),
        ({"rest": "7"}, {"rest": "8"}),
        ({"rest": "67"}, {"rest": "6,7"}),
        ({"rest": "67"}, {"rest": "67 "}),
        ({"rest": "67", "zone": "+14:45"}, {"rest": "67", "zone": "+15:00"}),
        ({"rest": "67", "zone": "-14:45"}, {"rest": "67", "zone": "-15:00"}),
        ({"rest": "67", "zone": "+00:00"}, {"rest": "67", "zone": "-00:00"}),
        ({"rest": "67", "zone": "-00:15"}, {"rest": "67", "zone": "-00:10"}),
        ({"rest": "67", "zone": "+05:45"}, {"rest": "67", "zone": "+05:60"}),
        ({"rest": "67", "zone": "+05:30"}, {"rest": "67", "zone": "05:30"}),
        ({"rest": "67", "zone": "+05:00"}, {"rest": "67", "zone": "+5:00"}),
        ({"rest": "67", "zone": "+05:00"}, {"rest": "67", "zone": "+0500"}),
        ({"rest": "67", "zone": "+05:00"}, {"rest": "67", "zone": "+05:00\n"}),
        ({"rest": "67", "zone": "+05:00"}, {"rest": "67", "zone": "+٠5:00"}),
        ({"rest": "67", "zone": "+05:00"}, {"rest": "", "zone": "+05:00"}),
    ],
)
def test_each_limit_on_both_sides(inside: dict[str, Json], outside: dict[str, Json]) -> None:
    control = read(**inside)
    assert control.to_json() == GOOD | inside
    value = GOOD | outside
    before = dict(value)
    with pytest.raises(MalformedError, match="malformed clock: "):
        read_time_control(value)
    assert value == before


@pytest.mark.parametrize("key", sorted(GOOD))
@pytest.mark.parametrize("value", [None, True, False, 1.0, "-1", [], {}])
def test_a_value_of_another_type_is_malformed(key: str, value: Json) -> None:
    with pytest.raises(MalformedError, match="malformed clock: "):
        read(**{key: value})


@pytest.mark.parametrize("key", sorted(GOOD))
def test_exactly_six_keys(key: str) -> None:
    with pytest.raises(MalformedError, match=f"{key} is missing"):
        read_time_control({name: value for name, value in GOOD.items() if name != key})
    with pytest.raises(NotUnderstoodError, match="'byoyomi'"):
        read(byoyomi=1)


@pytest.mark.parametrize("value", [1, "3d", [], True])
def test_a_clock_is_an_object(value: Json) -> None:
    with pytest.raises(MalformedError, match="it is not an object"):
        read_time_control(value)


# --- durations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds", "canonical"),
    [
        ("1s", 1, "1s"),
        ("90s", 90, "1m30s"),
        ("2h", 7200, "2h"),
        ("36h", 129600, "1d12h"),
        ("1d12h", 129600, "1d12h"),
        ("1w", 604800, "7d"),
        ("1w2d3h4m5s", 788645, "9d3h4m5s"),
        ("100d", 8640000, "100d"),
        ("366d", 31622400, "366d"),
        ("1d1s", 86401, "1d1s"),
    ],
)
def test_durations(text: str, seconds: int, canonical: str) -> None:
    assert parse_duration(text) == seconds
    assert format_duration(seconds) == canonical
    assert parse_duration(canonical) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "0",
            "0s",
            "0d",
            "1",
            "d",
            "01d",
            "1d01h",
            "1d0h",
            "+1d",
            "-1d",
            "1.5d",
            "1_0d",
            "1 d",
            " 1d",
            "1d ",
            "1d\n",
        ),
        *(
            "1h1d",
            "1d1d",
            "1d2d",
            "12h1d",
            "1D",
            "1y",
            "1day",
            "١d",
            "１d",
            "1d٢h",
            "none",
            "3d/14d",
            "1d^2d",
            "1" + "0" * 9 + "s",
        ),
        "9" * 10_000 + "d",
    ],
)
def test_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration") as caught:
        parse_duration(text)
    assert exit_code(caught.value) is Exit.USAGE


@given(st.integers(1, 10**9 * DAY - 1))
def test_a_formatted_duration_is_parsed_back(seconds: int) -> None:
    text = format_duration(seconds)
    assert parse_duration(text) == seconds
    assert "w" not in text


def test_no_time_is_written_and_never_asked_for() -> None:
    assert format_duration(0) == "0s"


# --- what people type -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("3d", TimeControl(3 * DAY, 0, 0, 0)),
        ("3d/14d", TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY)),
        ("/30d+1d^45d", TimeControl(0, 30 * DAY, DAY, 45 * DAY)),
        ("/30d", TimeControl(0, 30 * DAY, 0, 30 * DAY)),
        ("/30d+1d", TimeControl(0, 30 * DAY, DAY, 60 * DAY)),
        ("3d+1d^5d", TimeControl(3 * DAY, 0, DAY, 5 * DAY)),
        ("12h/1d12h+1h^2d", TimeControl(DAY // 2, 36 * 3600, 3600, 2 * DAY)),
        ("/183d+1d", TimeControl(0, 183 * DAY, DAY, 366 * DAY)),
        ("/1d+2d", TimeControl(0, DAY, 2 * DAY, 2 * DAY)),
        ("none", None),
    ],
)
def test_canonical_texts(text: str, control: TimeControl | None) -> None:
    assert parse_time_control(text) == control
    assert format_time_control(control) == text


@pytest.mark.parametrize(
    ("text", "canonical"), [("1w", "7d"), ("72h/2w", "3d/14d"), ("/30d+1d^60d", "/30d+1d"), ("/30d+24h", "/30d+1d")]
)
def test_other_texts_have_a_canonical_one(text: str, canonical: str) -> None:
    assert format_time_control(parse_time_control(text)) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not like"),
        ("0", "is not a duration"),
        ("3d+1d", "twice the reserve is less than what is added"),
        ("3d/14d^20d", "is for a reserve to which something is added"),
        ("/1d+49h", "twice the reserve is less than what is added"),
        ("/200d+1d", "twice the reserve is over 366 days"),
        ("/183d1s+1d", "twice the reserve is over 366 days"),
        ("3d^5d", "is for a reserve to which something is added"),
        ("3d/14d^14d", "is for a reserve to which something is added"),
        ("3d/", "it is not like"),
        ("/", "it is not like"),
        ("3d+", "it is not like"),
        ("3d/14d+1d^", "it is not like"),
        ("3d/14d/1d", "it is not like"),
        ("3d+1d^5d+1d", "it is not like"),
        ("/0s", "is not a duration"),
        ("3d/14d+0s", "is not a duration"),
        ("61d", "over 60 days"),
        ("60d1s", "over 60 days"),
        ("/367d", "over 366 days"),
        ("/1d+31d^40d", "over 30 days"),
        ("/30d+1d^20d", "less than the reserve"),
        ("3d+2d^1d", "less than the reserve or what is added"),
        ("/30d+1d^367d", "over 366 days"),
        ("NONE", "is not a duration"),
        ("none ", "is not a duration"),
        ("3d /14d", "is not a duration"),
        ("3d/14d\n", "is not a duration"),
        ("３d", "is not a duration"),
    ],
)
def test_what_is_not_a_control(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_time_control(text)
    assert exit_code(caught.value) is Exit.USAGE


def test_rest_days_and_zone_as_typed() -> None:
    control = parse_time_control("3d", "67", "+02:00")
    assert control == TimeControl(3 * DAY, 0, 0, 0, "67", "+02:00")
    assert format_time_control(control) == "3d"
    for rest, zone in (("76", "+00:00"), ("1234567", "+00:00"), ("67", "+15:00"), ("", "+02:00"), ("67", "-00:00")):
        with pytest.raises(UsageError, match=r"rest days|zone") as caught:
            parse_time_control("3d", rest, zone)
        assert "3d" not in caught.value.message
    for rest, zone in (("67", "+00:00"), ("", "+02:00")):
        with pytest.raises(UsageError, match="without a clock"):
            parse_time_control("none", rest, zone)


@given(controls())
def test_a_control_that_is_formatted_or_written_is_read_back(control: TimeControl) -> None:
    assert read_time_control(control.to_json()) == control
    text = format_time_control(control)
    assert parse_time_control(text, control.rest, control.zone) == control
    assert text.isascii()
    assert "w" not in text


@given(st.text(alphabet="0123456789wdhms/+^", max_size=14))
def test_what_is_taken_is_within_the_limits_and_formatted_to_the_same(text: str) -> None:
    try:
        control = parse_time_control(text)
    except UsageError:
        return
    assert control is not None
    assert read_time_control(control.to_json()) == control
    assert parse_time_control(control.text) == control
