"""Agreements in offers: every limit, kept and broken once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scripts.build.vectors.formulas import AT, DEAL, FIRST_TIME, LAST_TIME, UNTIMED, Vector
from scripts.build.vectors.log_builder import offered

DAY: Final = 86400
CLOCK: Final[Vector] = {"add": 0, "bank": 14 * DAY, "cap": 14 * DAY, "move": 3 * DAY, "rest": "", "zone": "+00:00"}
TIMED: Final[Vector] = {**UNTIMED, "clock": CLOCK, "expires": "2026-12-05T12:00:00Z", "rated": True}
SERIES: Final[Vector] = {"games": 3, "id": DEAL, "number": 2}

_GOOD_CLOCKS: Final[tuple[tuple[str, Vector], ...]] = (
    ("60 days for a turn", {"move": 60 * DAY, "bank": 0, "cap": 0}),
    ("366 days in reserve", {"move": 0, "bank": 366 * DAY, "cap": 366 * DAY}),
    ("30 days are added, no reserve at the start", {"bank": 0, "add": 30 * DAY, "cap": 30 * DAY}),
    ("one second for a turn, no reserve", {"move": 1, "bank": 0, "cap": 0}),
    ("one second in reserve", {"move": 0, "bank": 1, "cap": 1}),
    ("a limit of 366 days", {"add": 1, "cap": 366 * DAY}),
    ("six rest days", {"rest": "123467", "zone": "-14:45"}),
    ("one rest day, in UTC", {"rest": "7"}),
    ("the easternmost zone", {"rest": "67", "zone": "+14:45"}),
)
_BAD_CLOCKS: Final[tuple[tuple[str, Vector], ...]] = (
    ("over 60 days for a turn", {"move": 60 * DAY + 1}),
    ("over 366 days in reserve", {"bank": 366 * DAY + 1, "cap": 366 * DAY + 1}),
    ("a limit over 366 days", {"add": 1, "cap": 366 * DAY + 1}),
    ("over 30 days are added", {"add": 30 * DAY + 1, "cap": 40 * DAY}),
    ("no time at all", {"move": 0, "bank": 0, "cap": 0}),
    ("no time but what is added", {"move": 0, "bank": 0, "add": 60, "cap": 120}),
    ("the limit is less than the reserve", {"add": 1, "cap": 14 * DAY - 1}),
    ("the limit is less than what is added", {"bank": 0, "add": 60, "cap": 59}),
    ("nothing is added, and the limit is not the reserve", {"cap": 14 * DAY + 1}),
    ("move is negative", {"move": -1}),
    ("move is a boolean", {"move": True}),
    ("move is a string", {"move": "259200"}),
    ("bank is null", {"bank": None}),
    ("seven rest days", {"rest": "1234567"}),
    ("rest days are not sorted", {"rest": "76"}),
    ("a rest day twice", {"rest": "66"}),
    ("a rest day 0", {"rest": "06"}),
    ("a rest day 8", {"rest": "78"}),
    ("rest is a list", {"rest": [6, 7]}),
    ("a zone without rest days", {"zone": "+01:00"}),
    ("the zone -00:00", {"rest": "67", "zone": "-00:00"}),
    ("a zone of 15 hours", {"rest": "67", "zone": "+15:00"}),
    ("a zone that is not in quarter hours", {"rest": "67", "zone": "+01:10"}),
    ("a zone of 60 minutes", {"rest": "67", "zone": "+01:60"}),
    ("a zone without sign", {"rest": "67", "zone": "01:00"}),
    ("a zone by name", {"rest": "67", "zone": "Europe/Rome"}),
    ("zone is null", {"zone": None}),
)
_GOOD: Final[tuple[tuple[str, Vector], ...]] = (
    ("no clock", UNTIMED),
    ("a clock, and rated", TIMED),
    ("a clock, and not rated", {**TIMED, "rated": False}),
    ("no clock, and it expires", {**UNTIMED, "expires": AT}),
    ("the first time", {**TIMED, "expires": FIRST_TIME}),
    ("the last time", {**TIMED, "expires": LAST_TIME}),
    ("a rematch", {**TIMED, "rematch": DEAL}),
    ("a series", {**TIMED, "series": SERIES}),
    ("the last game of nine", {**UNTIMED, "series": {**SERIES, "games": 9, "number": 9}}),
)
_BAD: Final[tuple[tuple[str, Vector], ...]] = (
    ("no clock, and rated", {**UNTIMED, "rated": True}),
    ("rated is a number", {**TIMED, "rated": 1}),
    ("expires is in the year 1999", {**TIMED, "expires": "1999-12-31T23:59:59Z"}),
    ("expires is in the year 9000", {**TIMED, "expires": "9000-01-01T00:00:00Z"}),
    ("expires is a number", {**TIMED, "expires": 14 * DAY}),
    ("expires is no day of the calendar", {**TIMED, "expires": "2027-02-29T00:00:00Z"}),
    ("rematch is too short", {**TIMED, "rematch": DEAL[1:]}),
    ("rematch has capitals", {**TIMED, "rematch": DEAL.upper()}),
    ("a series of one game", {**TIMED, "series": {**SERIES, "games": 1, "number": 1}}),
    ("a series of four games", {**TIMED, "series": {**SERIES, "games": 4}}),
    ("a series of eleven games", {**TIMED, "series": {**SERIES, "games": 11}}),
    ("game 0 of a series", {**TIMED, "series": {**SERIES, "number": 0}}),
    ("game 4 of a series of three", {**TIMED, "series": {**SERIES, "number": 4}}),
    ("number of a series is a boolean", {**TIMED, "series": {**SERIES, "number": True}}),
    ("id of a series is too long", {**TIMED, "series": {**SERIES, "id": DEAL + "0"}}),
    ("the clock is a text", {**TIMED, "clock": "3d/14d"}),
    ("the clock is a list", {**TIMED, "clock": [CLOCK]}),
)
_LATER: Final[tuple[tuple[str, Vector], ...]] = (
    ("another key", {**TIMED, "stake": 1}),
    ("another key of a clock", {**TIMED, "clock": {**CLOCK, "kind": "live"}}),
    ("another key of a series", {**TIMED, "series": {**SERIES, "prize": "tea"}}),
    ("ext", {**TIMED, "ext": {}}),
)


def agreements() -> Iterator[Vector]:
    """Logs of one offer each, some of which are refused."""
    good = [*_GOOD, *((what, {**TIMED, "clock": {**CLOCK, **change}}) for what, change in _GOOD_CLOCKS)]
    bad = [*_BAD, *((what, {**TIMED, "clock": {**CLOCK, **change}}) for what, change in _BAD_CLOCKS)]
    bad += [(f"{key} is missing", _without(TIMED, key)) for key in TIMED]
    bad += [(f"{key} of the clock is missing", {**TIMED, "clock": _without(CLOCK, key)}) for key in CLOCK]
    bad += [(f"{key} of a series is missing", {**TIMED, "series": _without(SERIES, key)}) for key in SERIES]
    for error, cases in ((None, good), ("malformed", bad), ("not-understood", _LATER)):
        for what, agreement in cases:
            finding = {"step": 1, "entry": 0, "error": error, "names": None} if error else None
            text = offered(agreement).text
            yield {"what": f"agreement: {what}", "log": text, "holds": 0 if error else 1, "finding": finding}


def _without(value: Vector, key: str) -> Vector:
    return {name: value[name] for name in value if name != key}
