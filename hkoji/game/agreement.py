"""The agreement: what both players of a game agree on beside the rules. docs/spec/log.md, "Agreement".

The offer contains it, and both players sign it through the chain of hashes. This module knows its form only: whether a
service allows so short a clock, and whether the guest came in time, others decide.

A time control says how much time the players have. One formula with four numbers covers days per turn, a reserve,
increments and a fixed total; `hkoji.game.clock` computes it. Days of the week may be excluded. Here are also the one
parser and the one formatter for what people type: durations like `1d12h` and controls like `3d/14d`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, UsageError
from hkoji.log.canonical import JsonValue, exactly, is_time, read_hex
from hkoji.messages.text import all_of, shorten, tell
from hkoji.rules.protocol import Ruleset

DAY: Final = 86400
"""The seconds of a day; days in UTC all have as many."""

MAX_MOVE: Final = 60 * DAY
MAX_RESERVE: Final = 366 * DAY
"""The limit of `bank` and `cap`."""
MAX_ADD: Final = 30 * DAY

NO_CLOCK: Final = "none"
"""The word that people type and read for a game without a clock."""

UTC_ZONE: Final = "+00:00"
"""The zone of a control without rest days."""
_NUMBERS: Final = ("add", "bank", "cap", "move")
_KEYS: Final = (*_NUMBERS, "rest", "zone")
_REST = re.compile(r"1?2?3?4?5?6?7?")
_WEEK: Final = "1234567"
_WEEKDAYS: Final = (
    tell("Monday"),
    tell("Tuesday"),
    tell("Wednesday"),
    tell("Thursday"),
    tell("Friday"),
    tell("Saturday"),
    tell("Sunday"),
)
_ZONE = re.compile(r"(?!-00:00)[+-](?:0[0-9]|1[0-4]):(?:00|15|30|45)")

_UNITS: Final = (("w", 7 * DAY), ("d", DAY), ("h", 3600), ("m", 60), ("s", 1))
# Nine digits of seconds are more than any limit here, and int() of thousands of digits raises an error of its own.
_NUMBER: Final = r"([1-9][0-9]{0,8})"
_DURATION = re.compile("".join(rf"(?:{_NUMBER}{unit})?" for unit, _ in _UNITS))
_CONTROL = re.compile(r"([^/+^]*)(?:/([^/+^]+))?(?:\+([^/+^]+)(?:\^([^/+^]+))?)?")


class TimeControl(NamedTuple):
    """How much time the players have. `move`, `bank`, `add` and `cap` are in seconds.

    `move` is free in each turn. `bank` is each player's reserve at the start; `add` is added to it when a turn begins,
    up to `cap`. `rest` has the ISO weekdays that do not count, sorted; `zone` is the offset from UTC of their midnight.
    Values come from `read_time_control` and `parse_time_control`, which check the limits.
    """

    move: int
    bank: int
    add: int
    cap: int
    rest: str = ""
    zone: str = UTC_ZONE

    @property
    def text(self) -> str:
        """The canonical text without rest days and zone, like `3d/14d`."""
        parts = [format_duration(self.move)] if self.move else []
        if self.bank:
            parts.append(f"/{format_duration(self.bank)}")
        if self.add:
            parts.append(f"+{format_duration(self.add)}")
            if self.cap != 2 * self.bank:
                parts.append(f"^{format_duration(self.cap)}")
        return "".join(parts)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the control as it stands in an agreement."""
        return dict(sorted(self._asdict().items()))


def read_time_control(value: JsonValue) -> TimeControl:
    """Reads the control of an agreement. Raises `MalformedError`, or `NotUnderstoodError` for another key."""
    what = tell("clock")
    fields = exactly(value, what, _KEYS)
    numbers = {}
    for key in _NUMBERS:
        number = fields[key]
        if type(number) is not int or number < 0:  # isinstance would take true, which equals 1
            raise MalformedError(what, tell("{key} is not a number of seconds", key=key))
        numbers[key] = number
    rest, zone = fields["rest"], fields["zone"]
    if not isinstance(rest, str) or not isinstance(zone, str):
        raise MalformedError(what, tell("rest or zone is not text"))
    control = TimeControl(**numbers, rest=rest, zone=zone)
    fault = _find_length_fault(control) or _find_rest_fault(control)
    if fault is not None:
        raise MalformedError(what, fault)
    return control


def parse_time_control(text: str, rest: str = "", zone: str = UTC_ZONE) -> TimeControl | None:
    """Parses what people type for `--clock`, `--rest` and `--zone`; `none` gives None. Raises `UsageError`.

    The text is `MOVE/BANK+ADD^CAP`, and what is zero is left out. Without `^CAP` the limit is twice the reserve.
    """
    if text == NO_CLOCK:
        if rest or zone != UTC_ZONE:
            raise UsageError(
                tell("a game without a clock has no rest days and no zone"), hint=tell("leave out --rest and --zone")
            )
        return None
    parts = _CONTROL.fullmatch(text)
    if "^" in text and "+" not in text:
        raise _refuse(text, tell("a limit (^) is for a reserve to which something is added (+)"))
    if not parts or not text:
        raise _refuse(text, tell("it is not like 3d, 3d/14d or /30d+1d^45d"))
    move, bank, add, cap = (parse_duration(part) if part else 0 for part in parts.groups())
    control = TimeControl(move, bank, add, (cap or 2 * bank) if add else bank, rest, zone)
    if add and not cap and control.cap < add:
        raise _refuse(text, tell("twice the reserve is less than what is added; name the limit, as in /30d+1d^45d"))
    if add and not cap and control.cap > MAX_RESERVE:
        raise _refuse(text, tell("twice the reserve is over 366 days; name the limit, as in /30d+1d^45d"))
    fault = _find_length_fault(control)
    if fault is not None:
        raise _refuse(text, fault)
    fault = _find_rest_fault(control)
    if fault is not None:
        raise UsageError(fault, hint=tell("as in --rest 67 --zone +01:00; only rest days need a zone"))
    return control


def format_time_control(control: TimeControl | None) -> str:
    """Formats a control without its rest days and zone; `none` for None."""
    return NO_CLOCK if control is None else control.text


def rest_days(control: TimeControl) -> str:
    """Returns the rest days of a control, which has some, as a message: `Saturday and Sunday`."""
    return all_of([_WEEKDAYS[int(day) - 1] for day in control.rest])


def parse_duration(text: str) -> int:
    """The seconds of a duration like `3d` or `1d12h`: units w d h m s, each at most once. Raises `UsageError`."""
    parts = _DURATION.fullmatch(text)
    if not parts or not text:
        raise UsageError(
            tell("{given!r} is not a duration", given=shorten(text)),
            hint=tell("give numbers with the units w, d, h, m and s, the longest first, as in 3d or 1d12h"),
        )
    return sum(int(part) * unit for part, (_, unit) in zip(parts.groups(), _UNITS, strict=True) if part)


def format_duration(seconds: int) -> str:
    """Formats a number of seconds with the units d, h, m and s; `0s` for none, which `parse_duration` refuses."""
    assert seconds >= 0
    parts = []
    for name, unit in _UNITS[1:]:
        number, seconds = divmod(seconds, unit)
        if number:
            parts.append(f"{number}{name}")
    return "".join(parts) or "0s"


def _find_length_fault(control: TimeControl) -> str | None:
    """The first limit that the numbers of a control break; None if they break none. They are not negative."""
    move, bank, add, cap, *_ = control
    if move > MAX_MOVE:
        return tell("the time for a turn is over 60 days")
    if bank > MAX_RESERVE or cap > MAX_RESERVE:
        return tell("the reserve or its limit is over 366 days")
    if add > MAX_ADD:
        return tell("the added time is over 30 days")
    if move + bank < 1:
        return tell("it has neither time for a turn nor a reserve")
    if bank > cap or add > cap:
        return tell("the limit of the reserve is less than the reserve or what is added")
    if not add and cap != bank:
        return tell("nothing is added, so the limit of the reserve is the reserve")
    return None


def is_zone(text: str) -> bool:
    """Whether a text is a time zone: a fixed offset from UTC in quarter hours, up to 14:45."""
    return _ZONE.fullmatch(text) is not None


def zone_offset(zone: str) -> int:
    """The seconds by which the clocks of a time zone are ahead of UTC."""
    sign = -1 if zone[0] == "-" else 1
    return sign * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)


def _find_rest_fault(control: TimeControl) -> str | None:
    """The fault in the rest days of a control, or in their zone; None if there is none."""
    rest, zone = control.rest, control.zone
    if not _REST.fullmatch(rest) or rest == _WEEK:
        return tell("rest days are digits 1 (Monday) to 7 (Sunday), sorted, and not all seven")
    if not is_zone(zone):
        return tell("a zone is like +02:00 or -05:30, up to 14:45 in quarter hours")
    if not rest and zone != UTC_ZONE:
        return tell("without rest days the zone is +00:00")
    return None


def _refuse(text: str, reason: str) -> UsageError:
    return UsageError(
        tell("{given!r} is not a time control: {reason}", given=shorten(text), reason=reason),
        hint=tell("give the time for a turn and a reserve, as in 3d/14d, or none"),
    )


_ID_DIGITS: Final = 32
SERIES_LENGTHS: Final = (3, 5, 7, 9)
"""How many games a series may have at most."""


class Series(NamedTuple):
    """The place of a game in a series: it is game `number`, from 1, of at most `games`. `id` has 32 hex digits."""

    games: int
    id: str
    number: int

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the place as it stands in an agreement."""
        return {"games": self.games, "id": self.id, "number": self.number}


class Agreement(NamedTuple):
    """The agreement of both. `expires` is the time after which nobody can join; `rematch` the game before this."""

    clock: TimeControl | None = None
    expires: str | None = None
    rated: bool = False
    rematch: str | None = None
    series: Series | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the agreement as it stands in an offer."""
        return {
            "clock": None if self.clock is None else self.clock.to_json(),
            "expires": self.expires,
            "rated": self.rated,
            "rematch": self.rematch,
            "series": None if self.series is None else self.series.to_json(),
        }


UNTIMED: Final = Agreement()
"""The agreement of arena and local play: no clock, no expiry, not rated."""


def read_agreement(value: JsonValue) -> Agreement:
    """Reads an agreement as it stands in an offer. Raises `MalformedError`, or `NotUnderstoodError` for another key."""
    what = tell("agreement")
    fields = exactly(value, what, ("clock", "expires", "rated", "rematch", "series"))
    clock = None if fields["clock"] is None else read_time_control(fields["clock"])
    expires, rated, rematch = fields["expires"], fields["rated"], fields["rematch"]
    if expires is not None and not (isinstance(expires, str) and is_time(expires)):
        raise MalformedError(what, tell("{key} is neither a time nor null", key="expires"))
    if not isinstance(rated, bool):
        raise MalformedError(what, tell("{key} is neither true nor false", key="rated"))
    if rated and clock is None:
        raise MalformedError(what, tell("a game without a clock is not rated"))
    return Agreement(
        clock,
        expires,
        rated,
        None if rematch is None else read_hex(rematch, tell("game id"), _ID_DIGITS),
        None if fields["series"] is None else _read_series(fields["series"]),
    )


def _read_series(value: JsonValue) -> Series:
    what = tell("series")
    fields = exactly(value, what, ("games", "id", "number"))
    games, number = fields["games"], fields["number"]
    if type(games) is not int or games not in SERIES_LENGTHS:
        raise MalformedError(what, tell("{key} is not 3, 5, 7 or 9", key="games"))
    if type(number) is not int or not 1 <= number <= games:  # isinstance would take true, which equals 1
        raise MalformedError(what, tell("{key} is not from 1 to {games}", key="number", games=games))
    return Series(games, read_hex(fields["id"], tell("series id"), _ID_DIGITS), number)


# --- how long a game may take -----------------------------------------------------------------------------------------

_SEED_TURNS: Final = 2
"""Before the first round each player reveals entropy, which is a turn."""


def longest_round(ruleset: Ruleset, control: TimeControl) -> int:
    """The most counted seconds of one round. No reserve is above its limit when the round begins.

    A turn takes at most `move` and what is in reserve. Rest days, gifts and outages come on top.
    """
    return ruleset.most_turns * (control.move + control.add) + 2 * control.cap


def longest_game(ruleset: Ruleset, control: TimeControl) -> int | None:
    """The most counted seconds of a game, from the join to its end; None if nothing limits them."""
    if control.move == control.add == 0:
        return 2 * control.bank
    if ruleset.most_rounds is None:
        return None
    turns = _SEED_TURNS + ruleset.most_rounds * ruleset.most_turns
    return turns * (control.move + control.add) + 2 * control.bank
