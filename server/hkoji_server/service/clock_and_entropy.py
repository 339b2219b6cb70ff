"""The service's sources of time and randomness, which tests replace by their own."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Returns the time in UTC."""
    return datetime.now(UTC)


def _since_boot() -> float:
    """Returns the seconds since the machine was started. Nobody sets this clock, and it goes on while it sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)  # it goes on there too, while `time.monotonic` stands still
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class ClockAndEntropy:
    """`clock` returns the time in UTC; `entropy(n)` returns n fresh random bytes.

    `boot` returns seconds of a clock that nobody sets. Without one, it is that of the machine; for another `clock` than
    the machine's it is that clock, which then never jumps.
    """

    clock: Callable[[], datetime] = now
    entropy: Callable[[int], bytes] = secrets.token_bytes
    boot: Callable[[], float] | None = None

    def at(self, seconds: int = 0) -> str:
        """Returns the time `seconds` from now, in the form of the log."""
        moment = self.clock()
        if seconds:
            moment += timedelta(seconds=seconds)
        return log_time(moment)

    def elapsed(self) -> float:
        """Returns the seconds of the clock that nobody sets, from any beginning."""
        if self.boot is not None:
            return self.boot()
        return _since_boot() if self.clock is now else self.clock().timestamp()


def log_time(moment: datetime) -> str:
    """Returns a time in UTC in the form of the log."""
    return f"{moment.isoformat(timespec='seconds')[:19]}Z"
