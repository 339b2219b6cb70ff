"""The call that fails: which one it is, and the clock's behaviour meanwhile."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

SERVICE_KINDS: Final = (
    "send",  # the connection breaks while the answer goes out
    "receive",  # or while the request comes in
    "clock fails",
    "clock back",  # by a day, and stays there
    "clock ahead",  # by two days
    "clock jumps",  # back and forth at every call from that one on
)
"""The kinds of faults that do not depend on the database."""
_DAY: Final = 24 * 3600


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
        """Ends the lack of space."""
        self.full = False

    def clock(self) -> datetime:
        """The time now."""
        now = datetime(2026, 11, 20, 12, tzinfo=UTC) + timedelta(seconds=self.calls["clock"])
        self.calls["clock"] += not self.paused
        if self.due("clock fails", "clock"):
            raise BrokenError("the clock is broken")
        for kind in ("clock back", "clock ahead", "clock jumps"):
            self.due(kind, "clock")
        if not self.hit:
            return now
        if self.kind == "clock back":
            return now - timedelta(seconds=_DAY)
        if self.kind == "clock ahead":
            return now + timedelta(seconds=2 * _DAY)
        if self.kind == "clock jumps":
            return now + timedelta(seconds=random.choice((-_DAY, 0, 0, 0, 2 * _DAY)))
        return now
