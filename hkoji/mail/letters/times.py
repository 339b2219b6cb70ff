"""Times and lengths of time in letters: `Wed 25 Nov 10:00 UTC (11:00 at UTC+1)`, `3 days`."""

from __future__ import annotations

from typing import Final

from hkoji.game.clock import add_seconds, parse_time
from hkoji.game.time_control import DAY, zone_offset
from hkoji.mail.letters.page import TIE, tied
from hkoji.messages.language import Speaker
from hkoji.messages.text import plural, tell

_WEEKDAYS: Final = (
    tell("Mon"),
    tell("Tue"),
    tell("Wed"),
    tell("Thu"),
    tell("Fri"),
    tell("Sat"),
    tell("Sun"),
)
_MONTHS: Final = (
    tell("Jan"),
    tell("Feb"),
    tell("Mar"),
    tell("Apr"),
    tell("May"),
    tell("Jun"),
    tell("Jul"),
    tell("Aug"),
    tell("Sep"),
    tell("Oct"),
    tell("Nov"),
    tell("Dec"),
)
_HOUR: Final = 3600
_FAR: Final = 180 * DAY


def moment(time: str, now: str, say: Speaker, zone: str = "") -> str:
    """Returns a time of the log for people: `Wed 25 Nov 10:00 UTC`; with its year if that is not plain.

    Behind it stands the time in the reader's `zone`, if it is known: `(11:00 at UTC+1)`, with the day if that differs.
    Seconds are left out, so a deadline is said to be earlier than it is, unless it is less than an hour from now.
    """
    near = abs(parse_time(time) - parse_time(now)) < _HOUR and time[17:19] != "00"
    end = 19 if near else 16
    shown = tied(f"{_date(time, now, say)} {time[11:end]} UTC")
    if not zone or not zone_offset(zone):
        return shown
    there = add_seconds(time, zone_offset(zone))
    clock = there[11:end]
    if there[:10] != time[:10]:
        clock = f"{say(_WEEKDAYS[parse_time(there) // DAY % 7])} {clock}"
    return f"{shown} {tied(say(tell('({time} at {zone})', time=clock, zone=zone_name(zone))))}"


def hours_of_day(hours: str, say: Speaker, zone: str = "") -> str:
    """Returns hours of each day in UTC, `22-7`, for people: `22-7 UTC (23-8 at UTC+1)`."""
    shown = f"{hours} UTC"
    if not zone or not zone_offset(zone):
        return tied(shown)
    minutes = (int(each) * 60 + zone_offset(zone) // 60 for each in hours.split("-"))
    there = "-".join(f"{each // 60 % 24}" + (f":{each % 60}" if each % 60 else "") for each in minutes)
    return f"{tied(shown)} {tied(say(tell('({time} at {zone})', time=there, zone=zone_name(zone))))}"


def zone_name(zone: str) -> str:
    """Returns the name of a zone for people: `UTC+1`, `UTC-3:30`."""
    hours, minutes = int(zone[1:3]), zone[4:6]
    return f"UTC{zone[0]}{hours}" + (f":{minutes}" if minutes != "00" else "")


def day(time: str, now: str, say: Speaker) -> str:
    """Returns the day of a time of the log: `3 Dec`."""
    return tied(_day_and_month(time, now, say))


def _date(time: str, now: str, say: Speaker) -> str:
    weekday = say(_WEEKDAYS[parse_time(time) // DAY % 7])
    return f"{weekday} {_day_and_month(time, now, say)}"


def _day_and_month(time: str, now: str, say: Speaker) -> str:
    shown = f"{int(time[8:10])} {say(_MONTHS[int(time[5:7]) - 1])}"
    return f"{shown} {time[:4]}" if abs(parse_time(time) - parse_time(now)) > _FAR else shown


def length(seconds: int, say: Speaker) -> str:
    """Returns a length of time in at most two units: `3 days`, `1 day 6 hours`; rounded up to what people would say."""
    step = _HOUR if seconds >= DAY else 60 if seconds >= _HOUR // 2 else 1
    seconds = -(-seconds // step) * step
    days, rest = divmod(seconds, DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, 60)
    parts = (
        say(plural("{n} day", "{n} days", days)) if days else "",
        say(plural("{n} hour", "{n} hours", hours)) if hours else "",
        say(plural("{n} minute", "{n} minutes", minutes)) if minutes else "",
        say(plural("{n} second", "{n} seconds", rest)) if rest else "",
    )
    found = [each for each in parts if each][:2]
    return tied(TIE.join(found) or say(plural("{n} second", "{n} seconds", 0)))
