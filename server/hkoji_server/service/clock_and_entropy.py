"""The service's sources of time and randomness, which tests replace by their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Returns the time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ClockAndEntropy:
    """`clock` returns the time in UTC; `entropy(n)` returns n fresh random bytes."""

    clock: Callable[[], datetime] = now
    entropy: Callable[[int], bytes] = secrets.token_bytes

    def at(self, seconds: int = 0) -> str:
        """Returns the time `seconds` from now, in the form of the log."""
        moment = self.clock()
        if seconds:
            moment += timedelta(seconds=seconds)
        return f"{moment.isoformat(timespec='seconds')[:19]}Z"
