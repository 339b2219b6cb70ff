"""Rate limits that are counted for all processes together: how much each name has requested lately.

This is the generic cell rate algorithm. It keeps one time for each name. A request moves this time forward by the
cost of a request, and is refused if the time would then be too far ahead of now. One statement checks and moves it. The
times need not survive a crash: on SQLite they are in a file of their own beside the database, which is written without
syncing, and on PostgreSQL in an unlogged table. While requests come, names whose time has passed are deleted about once
a minute.

A statement for each request would cost as much as the request. So a process pays for a *block* of requests of a name at
once, at most a fiftieth of the rate, and then admits so many without asking. It pays before it admits: all processes
together never admit more than has been paid for. But a request may be admitted later than it was paid for, by any
process. So in any span of time the number of requests may exceed the rate by a block for each process, and a client may
be refused that many requests early, because other processes hold them. A rate below a hundred has blocks of one
request, and is exact. A refusal is remembered until it ends, because the time of a name never moves back.

If requests cannot be counted, all of them are admitted. A limit protects the service, and must not stop it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol, TypeAlias

from hkoji_server.log import log
from hkoji_server.store.batch_thread import BatchThread, Job

MICRO: Final = 1_000_000
_MINUTE: Final = 60.0
_BLOCKS: Final = 50
"""The smallest number of blocks in a rate."""

TABLE: Final = "CREATE {unlogged}TABLE IF NOT EXISTS rate (name TEXT PRIMARY KEY, due BIGINT NOT NULL)"
# A time that is further ahead than the rate allows was written before the clock was set back, and is ignored.
ADMIT: Final = """
INSERT INTO rate AS kept (name, due) VALUES (:name, :now + :cost)
ON CONFLICT (name) DO UPDATE SET due = :cost + CASE
    WHEN kept.due BETWEEN :now AND :now + :most THEN kept.due ELSE :now END
WHERE kept.due <= :now + :most - :cost OR kept.due > :now + :most
RETURNING due"""
DUE: Final = "SELECT due FROM rate WHERE name = :name"
FORGET: Final = "DELETE FROM rate WHERE due < :now"


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of `count` requests in so many `seconds`.

    The requests may come all at once or spread out; after that, one more is admitted each time its share of the
    seconds has passed.
    """

    count: int
    seconds: int

    @property
    def step(self) -> int:
        """The cost of a request, in microseconds."""
        return max(1, self.seconds * MICRO // self.count)

    @property
    def most(self) -> int:
        """How far ahead of now the time of a name may be, in microseconds."""
        return self.step * self.count

    @property
    def block(self) -> int:
        """How many requests a process pays for at once."""
        return max(1, self.count // _BLOCKS)


class Rates(Protocol):
    """Counts requests for all processes."""

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts a request of `name` and returns 0 if it is within the rate.

        Otherwise it is not counted, and the result is the number of seconds after which it will be within the rate.
        """

    def close(self) -> None:
        """Closes the storage."""


@dataclass(frozen=True, slots=True)
class RateRequest:
    """A request of `name` at the time `now`, in microseconds."""

    name: str
    rate: Rate
    now: int

    def values(self, requests: int) -> dict[str, str | int]:
        """The parameters of `ADMIT` and `DUE` for so many requests at once."""
        return {"name": self.name, "now": self.now, "cost": self.rate.step * requests, "most": self.rate.most}


Execute: TypeAlias = Callable[[str, Mapping[str, str | int]], Sequence[Any] | None]  # Any: values of a row
"""Runs `ADMIT` or `DUE` and returns its row, if there is one."""


@dataclass(slots=True)
class _Allowance:
    """What a process knows of a name from `since` until `until`: `left` requests are paid for, and no other is allowed
    if that is 0."""

    since: int
    until: int
    left: int


class _Allowances:
    """The allowances of a process. The event loop and the thread that asks the database both use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, _Allowance] = {}

    def take(self, name: str, now: int) -> float | None:
        """Returns 0 for a request that is paid for, the seconds to wait for a refused one, None if nothing is known."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is None:
                return None
            if not kept.since <= now < kept.until:
                del self._kept[name]
                return None
            if not kept.left:
                return (kept.until - now) / MICRO
            kept.left -= 1
            if not kept.left:
                del self._kept[name]
            return 0.0

    def put(self, name: str, since: int, until: int, left: int) -> None:
        """Keeps an allowance."""
        with self._lock:
            self._kept[name] = _Allowance(since, until, left)

    def forget(self, now: int) -> None:
        """Forgets what has ended."""
        with self._lock:
            self._kept = {name: kept for name, kept in self._kept.items() if kept.since <= now < kept.until}


class SqlRates(ABC):
    """Implements `Rates` on a database, in a thread. A backend counts a batch of requests in `_handle`.

    `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float], *, most: int) -> None:
        self._clock = clock
        self._cleaned = monotonic()
        self._logged = float("-inf")
        self._allowances = _Allowances()
        self._thread: BatchThread[RateRequest] = BatchThread("hkoji-rates", self._handle, self._drop, most=most)

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts a request: see `Rates`."""
        now = int(self._clock() * MICRO)
        wait: float | None = self._allowances.take(name, now)
        if wait is None:
            wait = await self._thread.run(RateRequest(name, rate, now))
        return wait

    def _admit(self, execute: Execute, request: RateRequest) -> float:
        """Returns what `admit` returns, and pays for a block, or for what is left of the rate, if that is needed."""
        name, rate, now = request.name, request.rate, request.now
        wait = self._allowances.take(name, now)  # an earlier request of the batch may have paid
        if wait is not None:
            return wait
        paid = rate.block
        if not execute(ADMIT, request.values(paid)):
            row = execute(DUE, request.values(1))
            if row is None:  # the name has just been deleted: its time has passed
                return 0.0
            due = int(row[0])
            paid = min(paid - 1, (now + rate.most - due) // rate.step)
            if paid < 1 or not execute(ADMIT, request.values(paid)):
                until = max(now + 1, due + rate.step - rate.most)
                self._allowances.put(name, now, until, 0)
                return (until - now) / MICRO
        if paid > 1:
            # After this time the rate is whole again, whether the rest was used or not.
            self._allowances.put(name, now, now + rate.most, paid - 1)
        return 0.0

    def close(self) -> None:
        """Finishes the requests that wait, and closes the storage."""
        self._thread.close()

    @abstractmethod
    def _handle(self, batch: list[Job[RateRequest]]) -> None:
        """Gives each job its result; 0 if the requests cannot be counted."""

    @abstractmethod
    def _drop(self) -> None:
        """Closes the connection if there is one."""

    def _is_time_to_clean(self, now: int) -> bool:
        """Returns whether names whose time has passed should be deleted now: once a minute."""
        due = monotonic() - self._cleaned > _MINUTE
        if due:
            self._cleaned = monotonic()
            self._allowances.forget(now)
        return due

    def _log_failure(self, error: Exception) -> None:
        """Logs that requests are not counted, at most once a minute: a database that fails does so for each request."""
        if monotonic() - self._logged > _MINUTE:
            self._logged = monotonic()
            log.error("rates are not counted", cause=type(error).__name__)
