"""The settings of a channel: quiet hours, digest times, and the format of its notices.

The form is strict, as canonical text in `channel.settings`:

    {"digest":["08:00","18:00"],"format":"json","quiet":{"from":"22:00","until":"07:00"},"zone":"+01:00"}

Times of day are those of the zone, a fixed offset from UTC. `digest` is sorted and may be empty; `quiet` may be null.
This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from hkoji.errors import MalformedError
from hkoji.game.agreement import DAY, UTC_ZONE, is_zone, zone_offset
from hkoji.game.clock import format_time, parse_time
from hkoji.log.canonical import JsonValue, decode, encode, exactly
from hkoji.messages.text import tell

MOST_DIGESTS: Final = 6
"""How many digest times a day may have."""
LONGEST_QUIET: Final = 12 * 3600
"""How many seconds quiet hours may last."""
FORMATS: Final = ("json", "slack", "discord")
AHEAD: Final = 600
"""How many seconds before the quiet hours a reminder comes that would come during them."""

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


class Quiet(NamedTuple):
    """A span of each day: from the second `begin` of the day to before `until`, perhaps over midnight."""

    begin: int
    until: int

    @property
    def seconds(self) -> int:
        """How long it lasts."""
        return (self.until - self.begin) % DAY

    def since(self, second: int) -> int | None:
        """Returns how many seconds of the span have passed at that second of a day; None outside it."""
        passed = (second - self.begin) % DAY
        return passed if passed < self.seconds else None


class ChannelSettings(NamedTuple):
    """The settings of a channel. Values come from `read` and from `parse`, which check them."""

    digest: tuple[int, ...] = ()
    """Seconds of the day at which what waits is sent together; none if each notice is sent by itself."""
    format: str = FORMATS[0]
    quiet: Quiet | None = None
    zone: str = UTC_ZONE

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads stored settings. Raises `MalformedError`."""
        return cls.read(decode(text, tell("settings of a channel")))

    @classmethod
    def read(cls, value: JsonValue) -> Self:
        """Reads settings. Raises `MalformedError`, or `NotUnderstoodError` for another key."""
        what = tell("settings of a channel")
        fields = exactly(value, what, ("digest", "format", "quiet", "zone"))
        form, zone, listed = fields["format"], fields["zone"], fields["digest"]
        if form not in FORMATS or not isinstance(form, str):
            raise MalformedError(what, tell("format is none of {formats}", formats=", ".join(FORMATS)))
        if not isinstance(zone, str) or not is_zone(zone):
            raise MalformedError(what, tell("zone is not an offset such as +01:00"))
        if not isinstance(listed, list) or len(listed) > MOST_DIGESTS:
            raise MalformedError(what, tell("digest is not a list of at most {most} times of day", most=MOST_DIGESTS))
        digest = tuple(_time_of_day(each, what) for each in listed)
        if list(digest) != sorted(set(digest)):
            raise MalformedError(what, tell("digest is not in order, or has a time twice"))
        quiet = None if fields["quiet"] is None else _quiet(fields["quiet"])
        if quiet is not None and any(quiet.since(each) is not None for each in digest):
            raise MalformedError(what, tell("a digest time is in the quiet hours"))
        return cls(digest, form, quiet, zone)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the settings as they are stored and shown."""
        quiet: JsonValue = None
        if self.quiet is not None:
            quiet = {"from": _show(self.quiet.begin), "until": _show(self.quiet.until)}
        return {
            "digest": [_show(each) for each in self.digest],
            "format": self.format,
            "quiet": quiet,
            "zone": self.zone,
        }

    @property
    def text(self) -> str:
        """The settings as they are stored."""
        return encode(self.to_json())

    # --- when a notice is sent ------------------------------------------------------------------------------------

    def after_quiet(self, at: str) -> str:
        """Returns the time `at`, or the end of the quiet hours that it is in."""
        passed = self._quiet_since(at)
        if passed is None or self.quiet is None:
            return at
        return format_time(parse_time(at) - passed + self.quiet.seconds)

    def before_quiet(self, at: str) -> str:
        """Returns when a reminder comes that is for the time `at`: then, or before the quiet hours that it is in."""
        passed = self._quiet_since(at)
        return at if passed is None else format_time(parse_time(at) - passed - AHEAD)

    def next_digest(self, at: str) -> str:
        """Returns the first digest time that is not before `at`; without digest times `at` itself."""
        if not self.digest:
            return at
        seconds = parse_time(at)
        day = self._second_of_day(seconds)
        return format_time(seconds + min((each - day) % DAY for each in self.digest))

    def _quiet_since(self, at: str) -> int | None:
        return None if self.quiet is None else self.quiet.since(self._second_of_day(parse_time(at)))

    def _second_of_day(self, seconds: int) -> int:
        return (seconds + zone_offset(self.zone)) % DAY


def _quiet(value: JsonValue) -> Quiet:
    what = tell("quiet hours")
    fields = exactly(value, what, ("from", "until"))
    quiet = Quiet(_time_of_day(fields["from"], what), _time_of_day(fields["until"], what))
    if not 0 < quiet.seconds <= LONGEST_QUIET:
        raise MalformedError(what, tell("they last for less than a minute, or for over {hours} h", hours=12))
    return quiet


def _time_of_day(value: JsonValue, what: str) -> int:
    if not isinstance(value, str) or not (match := _TIME_OF_DAY.fullmatch(value)):
        raise MalformedError(what, tell("it has something that is no time of day such as 08:00"))
    return int(match[1]) * 3600 + int(match[2]) * 60


def _show(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}"
