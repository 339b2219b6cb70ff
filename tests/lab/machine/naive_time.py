"""The time of a service, from docs/spec/log.md, "Outages", and docs/spec/http.md: beats, outages, a clock not to trust.

There are two clocks: the one that shows the time, which somebody may set, and the one that nobody sets. A service that
has noted no time for `outage_after` seconds took no entries meanwhile, so it records that as an outage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.lab.machine.naive_clock import to_moment, to_number

JUMP: Final = 30
"""A clock that differs so many seconds from what it should be has been set."""
BACK: Final = 60
"""A clock may be so many seconds before the time that was noted."""


class NotTrustedError(Exception):
    """The clock cannot be trusted, so nothing is decided."""


@dataclass
class NaiveTime:
    """`outage_after` is in seconds. `beat` is the time that was noted last."""

    outage_after: int
    wall: datetime = datetime.min
    """The time that the clock shows."""
    elapsed: float = 0
    """The time that the clock shows that nobody sets."""
    beat: str | None = None
    outages: list[dict[str, str]] = field(default_factory=list)
    _set_to: float | None = None
    """The difference between the clocks when the time was last trusted; None in a process that has just started."""
    _noted: float | None = None
    """When this process noted the time, by the clock that nobody sets."""

    @property
    def shown(self) -> str:
        """The time that the clock shows, right or wrong."""
        return _text(self.wall)

    def restart(self) -> None:
        """A new process knows only what is stored."""
        self._set_to = self._noted = None

    def now(self, newest: str) -> str:
        """The time in which something can be decided; `newest` is the last time of record of a player's entry."""
        difference = to_number(self.shown) - self.elapsed
        if self._set_to is not None and abs(difference - self._set_to) >= JUMP:
            raise NotTrustedError
        if self.beat is not None and to_number(self.shown) < to_number(self.beat) - BACK:
            raise NotTrustedError
        self._set_to = difference
        if self._noted is None or self.elapsed - self._noted > self.outage_after:
            self._come_back(newest)
        return self.shown

    def note(self, newest: str) -> None:
        """The work of a service in every minute."""
        at = self.now(newest)
        self.beat = max(at, self.beat or at)
        self._noted = self.elapsed

    def _come_back(self, newest: str) -> None:
        """Nobody may have taken entries since the last beat."""
        at, before = self.shown, self.beat
        if before is not None and to_number(at) - to_number(before) > self.outage_after:
            last = max([before, newest, *(each["until"] for each in self.outages)])
            begin = _text(to_moment(to_number(last) + 1))
            if begin < at:
                self.outages.append({"from": begin, "until": at, "way": "http"})
        self.beat = max(at, before or at)
        self._noted = self.elapsed

    def before(self, seconds: int) -> str:
        """The time so many seconds before the one that the clock shows."""
        return _text(self.wall - timedelta(seconds=seconds))


def outside(at: str, outages: list[dict[str, str]]) -> str:
    """The first time from `at` on in which the service took entries."""
    for outage in outages:
        if outage["from"] <= at < outage["until"]:
            return outage["until"]
    return at


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
