"""The call that fails: which one it is, and the clock's behaviour meanwhile."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

SERVICE_KINDS: Final = (
    "send",  # the connection breaks while the answer goes out
    "receive",  # or while the request comes in
    "clock fails",
    "clock back",  # by a day, and stays there until the service refuses to decide by it, and its operator sets it
    "clock ahead",  # by two days
    "clock jumps",  # back and forth at every call from that one on
)
"""The kinds of faults that do not depend on the database."""
CLOCKS_SET: Final = SERVICE_KINDS[-3:]
"""Those after which the service may say that its clock is wrong."""
_DAY: Final = 24 * 3600
_NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)


class BrokenError(Exception):
    """A broken connection, or a broken clock."""


@dataclass
class Fault:
    """Counts calls, and makes the `at`th call of its kind fail; if `at` is 0, none fails. `hit` names that call."""

    kind: str = ""
    at: int = 0
    count: int = 0
    hit: str = ""
    paused: bool = False
    full: bool = False
    """Whether there is no space left."""
    starting: bool = False
    """Whether the service starts. Its clock is right then: beside a file it has none to compare it with."""
    healed: int = 0
    """How often the operator has seen to a failure; a clock is right again then."""
    begin: Callable[[], datetime] | None = None
    """A clock that goes by itself. Without one, each look at the time takes a second."""
    calls: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    """The calls of its kind, in order."""

    def due(self, kind: str, shown: str) -> bool:
        """Counts a call of this kind; whether it must fail."""
        if self.paused:
            return False
        self.calls[kind] += 1
        if kind != self.kind:
            return False
        self.count += 1
        self.names.append(shown)
        if self.count == self.at:
            self.hit = shown
            return True
        return False

    def heal(self) -> None:
        """Ends the lack of space, and sets the clock."""
        self.full = False
        self.healed += 1

    def clock(self) -> datetime:
        """The time now."""
        now = self.begin() if self.begin else _NOON + timedelta(seconds=self.calls["clock"])
        self.calls["clock"] += not self.paused
        if self.due("clock fails", "clock"):
            raise BrokenError("the clock is broken")
        for kind in CLOCKS_SET:
            self.due(kind, "clock")
        if not self.hit or self.healed or self.starting:
            return now
        if self.kind == "clock back":
            return now - timedelta(seconds=_DAY)
        if self.kind == "clock ahead":
            return now + timedelta(seconds=2 * _DAY)
        if self.kind == "clock jumps":
            return now + timedelta(seconds=random.choice((-_DAY, 0, 0, 0, 2 * _DAY)))
        return now

    def elapsed(self) -> float:
        """Seconds of a clock that nobody sets. The operator takes two of them."""
        return 2 * self.healed + (time.monotonic() if self.begin else self.calls["clock"])
