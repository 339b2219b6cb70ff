"""Time controls: every limit on both sides, in agreements and as people type them; texts are parsed and formatted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import UsageError
from hkoji.game.agreement import (
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


# --- durations --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**9 * DAY - 1))
def test_a_formatted_duration_is_parsed_back(seconds: int) -> None:
    text = format_duration(seconds)
    assert parse_duration(text) == seconds
    assert "w" not in text


def test_no_time_is_written_and_never_asked_for() -> None:
    assert format_duration(0) == "0s"


# --- what people type -------------------------------------------------------------------------------------------------


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
def test_an_accepted_text_is_within_the_limits_and_formatted_to_the_same(text: str) -> None:
    try:
        control = parse_time_control(text)
    except UsageError:
        return
    assert control is not None
    assert read_time_control(control.to_json()) == control
    assert parse_time_control(control.text) == control
