"""What the service is given from outside: the time, and randomness. Tests give their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ClockAndEntropy:
    """`clock` tells the time in UTC; `entropy` draws that many fresh random bytes."""

    clock: Callable[[], datetime] = now
    entropy: Callable[[int], bytes] = secrets.token_bytes

    def at(self, seconds: int = 0) -> str:
        """The log's text of the time `seconds` from now."""
        return (self.clock() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
