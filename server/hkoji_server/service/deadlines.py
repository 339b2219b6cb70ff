"""Until when who waits: for many at once, and one clock that lets them go a tick at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class Dated(Protocol):
    """What has a deadline; `due` is its tick."""

    due: int


D = TypeVar("D", bound=Dated)


class Deadlines(Generic[D]):
    """By ticks of so many seconds. A timer of the loop for each would cost more than the waiting itself."""

    def __init__(self, tick: float) -> None:
        self._tick = tick
        self._next = 0
        self._them: dict[int, set[D]] = {}

    def begin(self, now: float) -> None:
        """The clock starts, or starts again."""
        self._next = min([math.floor(now / self._tick), *self._them])

    def add(self, one: D, until: float) -> None:
        """Keeps one until the time `until`, or the next tick if that is past."""
        one.due = max(math.ceil(until / self._tick), self._next)
        self._them.setdefault(one.due, set()).add(one)

    def drop(self, one: D) -> None:
        """Forgets one, if it is still kept."""
        them = self._them.get(one.due)
        if them is not None:
            them.discard(one)
            if not them:
                del self._them[one.due]

    def pass_by(self, now: float) -> Iterator[D]:
        """Those whose time is over, which are kept no more."""
        last = math.floor(now / self._tick)
        while self._next <= last:
            yield from self._them.pop(self._next, ())
            self._next += 1
