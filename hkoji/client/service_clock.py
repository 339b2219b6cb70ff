"""The clock of a service, as its answers tell it: time is counted by it, and not by the clock of the player's machine.

Every answer has the header `Hkoji-Time`. `Date` (RFC 9110) counts only for a service that does not send it, because a
proxy may write that one by its own clock. How far the two clocks are apart is kept with the pins, so that a command
that asks nobody does not count by a clock that is known to be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hkoji.client.pins import Pins
from hkoji.client.transport import HeardTime
from hkoji.game.clock import parse_time
from hkoji.game.time_control import format_duration
from hkoji.log.canonical import is_time
from hkoji.messages.text import tell

FAR_APART: Final = 120
"""More seconds than that between the two clocks are worth a warning."""
_ALIKE: Final = 5
"""Up to so many seconds are no difference: the header has whole seconds, and an answer needs time to arrive."""
_DATE: Final = re.compile(r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) (20[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) GMT")
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_EPOCH: Final = parse_time("1970-01-01T00:00:00Z")


class ServiceClock:
    """How far the clock of a service is ahead of this machine's. `say` gets a warning, once for each of `warned`."""

    def __init__(self, pins: Pins, say: Callable[[str], None], warned: set[str]) -> None:
        self._pins: Final = pins
        self._say = say
        self._warned = warned
        self._heard: HeardTime | None = None
        self._ahead: int | None = None

    def ahead(self, heard: HeardTime | None) -> int:
        """Returns the seconds, by the time that was `heard` last; if there is none, by what is kept."""
        if self._ahead is None or heard != self._heard:
            self._heard, found = heard, None if heard is None else seconds_ahead(heard)
            kept = self._pins.clock_ahead
            self._ahead = kept if found is None else found if abs(found) > _ALIKE else 0
            far = self._ahead if abs(self._ahead) > FAR_APART else 0
            if found is not None and abs(far - kept) > _ALIKE:
                self._pins.keep_clock_ahead(far)
            if far and found is not None:
                self._warn(far)
        return self._ahead

    def _warn(self, ahead: int) -> None:
        if self._pins.url in self._warned:
            return
        self._warned.add(self._pins.url)
        time = format_duration(abs(ahead))
        if ahead > 0:
            said = tell("warning: the clock of this machine is {time} behind the service's", time=time)
        else:
            said = tell("warning: the clock of this machine is {time} ahead of the service's", time=time)
        self._say(said)
        self._say(tell("time is counted by the service's clock; tell its operator if yours is right"))


def seconds_ahead(heard: HeardTime) -> int | None:
    """Returns by how many seconds a time is ahead of that at which it was heard; None for what is no time."""
    stated = _time_of_date(heard.text) or heard.text
    return parse_time(stated) - _EPOCH - int(heard.at) if is_time(stated) else None


def _time_of_date(date: str) -> str | None:
    """Returns the header Date in the form of the log; None for what has another form."""
    found = _DATE.fullmatch(date)
    if found is None or found[2] not in _MONTHS:
        return None
    return f"{found[3]}-{_MONTHS.index(found[2]) + 1:02}-{found[1]}T{found[4]}Z"
