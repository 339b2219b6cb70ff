"""Rate limits that hold for all processes together: how much each name has requested lately.

This is the generic cell rate algorithm. It keeps one time for each name. A request moves this time forward by the
cost of a request, and is refused if the time would then be too far ahead of now. The times of all processes are in a
table. They need not survive a crash: on SQLite they are in a file of their own beside the database, which is written
without syncing, and on PostgreSQL in an unlogged table. While requests come, names whose time has passed are deleted
about once a minute.

A statement for each request would cost as much as the request. So a process counts in memory, and tells the table now
and then: of each name it admits a few requests, fewer than a fiftieth of the rate, before it adds them to the table
together with the next one. Then it learns how much the name has requested from all processes. So in the seconds of a
rate each process may admit these few too many, and as many are lost when a process ends. Requests that were not told
are forgotten if the name then requests nothing for the seconds of the rate. A rate below a hundred is told at once, and
is exact.

If requests cannot be counted, all of them are admitted. A limit protects the service, and must not stop it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any, ClassVar, Final, TypeAlias

from hkoji_server.log import log
from hkoji_server.store.batch_thread import BatchThread, Job

MICRO: Final = 1_000_000
_MINUTE: Final = 60.0
_FEW: Final = 1000
"""Up to this many names, it is not worth looking for some to forget."""
_SHARE: Final = 50
"""A process keeps fewer requests of a name to itself than this part of a rate."""

TABLE: Final = "CREATE {unlogged}TABLE IF NOT EXISTS rate (name TEXT PRIMARY KEY, due BIGINT NOT NULL)"
# Requests that are told late may move a time further ahead than the rate allows; then the name waits longer. A time
# beyond twice that was written before the clock was set back, and is ignored.
TELL: Final = """
INSERT INTO rate AS kept (name, due) VALUES (:name, :now + :cost)
ON CONFLICT (name) DO UPDATE SET due = :cost + CASE
    WHEN kept.due BETWEEN :now AND :now + 2 * :most THEN kept.due ELSE :now END"""
ADMIT: Final = (
    TELL
    + """
WHERE kept.due <= :now + :most - :cost OR kept.due > :now + 2 * :most
RETURNING due"""
)
DUE: Final = "SELECT due FROM rate WHERE name = :name"
FORGET: Final = "DELETE FROM rate WHERE due < :now"


@dataclass(frozen=True)
class Rate:
    """A limit of `count` requests in so many `seconds`.

    The requests may come all at once or spread out; after that, one more is admitted each time its share of the
    seconds has passed.
    """

    count: int
    seconds: int

    @cached_property
    def step(self) -> int:
        """The cost of a request, in microseconds."""
        return max(1, self.seconds * MICRO // self.count)

    @cached_property
    def most(self) -> int:
        """How far ahead of now the time of a name may be, in microseconds."""
        return self.step * self.count

    @cached_property
    def untold(self) -> int:
        """How many requests of a name a process may admit before it tells the table."""
        return max(0, self.count // _SHARE - 1)


@dataclass(frozen=True, slots=True)
class RateRequest:
    """A request of `name` at the time `now`, in microseconds, that counts as so many `requests`."""

    name: str
    rate: Rate
    now: int
    requests: int = 1

    def values(self, requests: int) -> dict[str, str | int]:
        """The parameters of the statements for so many requests."""
        return {"name": self.name, "now": self.now, "cost": self.rate.step * requests, "most": self.rate.most}


Execute: TypeAlias = Callable[[str, Mapping[str, str | int]], Sequence[Any] | None]  # Any: values of a row
"""Runs `TELL`, `ADMIT`, `DUE` or `FORGET` and returns its row, if there is one."""


@dataclass(slots=True)
class _NameCount:
    """A name as a process knows it from `since` until `until`: its time, and how many requests are `untold`."""

    since: int
    until: int
    due: int
    untold: int = 0


class _ProcessCounts:
    """The counts of a process. Event loops, and threads that decide or ask the database, use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, _NameCount] = {}
        self._most = _FEW

    def take(self, name: str, rate: Rate, now: int, requests: int = 1) -> float | None:
        """Returns 0 for requests that are admitted, the seconds to wait for refused ones, None to ask the table."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or not kept.since <= now < kept.until:
                if not rate.untold:
                    return None
                self._forget(now)
                kept = self._kept[name] = _NameCount(now, now + rate.most, now)
            due = kept.due if now <= kept.due <= now + 2 * rate.most else now
            late = due + rate.step * requests - rate.most - now
            if late > 0:
                return late / MICRO
            if kept.untold + requests > rate.untold:
                return None
            kept.until = now + rate.most
            kept.due = due + rate.step * requests
            kept.untold += requests
            return 0.0

    def charge(self, name: str, rate: Rate, now: int, requests: int) -> None:
        """Counts requests of a name even if the rate does not allow them. The table is told with the next one."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or not kept.since <= now < kept.until:
                kept = self._kept[name] = _NameCount(now, now, now)
            latest = now + 2 * rate.most
            due = kept.due if now <= kept.due <= latest else now
            kept.until = now + rate.most
            kept.due = min(due + rate.step * requests, latest)
            kept.untold += requests

    def give_back(self, name: str, rate: Rate, requests: int) -> None:
        """Counts so many requests less, unless the table has been told of them."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and kept.untold >= requests:
                kept.due -= rate.step * requests
                kept.untold -= requests

    def told(self, name: str) -> int:
        """Returns how many requests the table has to be told now."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is None:
                return 0
            untold, kept.untold = kept.untold, 0
            return untold

    def learn(self, request: RateRequest, due: int) -> None:
        """Keeps the time that a name has in the table, moved forward by what has not been told yet."""
        with self._lock:
            kept = self._kept.get(request.name)
            untold = 0 if kept is None else kept.untold
            now, rate = request.now, request.rate
            self._kept[request.name] = _NameCount(now, now + rate.most, due + untold * rate.step, untold)

    def _forget(self, now: int) -> None:
        """Forgets names that have requested nothing for long, when there are twice as many names as were left before"""
        if len(self._kept) >= self._most:
            self._kept = {name: kept for name, kept in self._kept.items() if kept.since <= now < kept.until}
            self._most = max(_FEW, 2 * len(self._kept))


class Rates(ABC):
    """Counts requests for all processes, in the thread of a backend. `clock` returns seconds."""

    failures: ClassVar[tuple[type[Exception], ...]]
    """The errors that the driver of the database raises."""

    def __init__(self, clock: Callable[[], float], *, most: int) -> None:
        self._clock = clock
        self._cleaned = monotonic()
        self._logged = float("-inf")
        self._counts = _ProcessCounts()
        self._connection: Any = None  # Any: a connection of the driver, once it is needed
        self._thread: BatchThread[RateRequest] = BatchThread("hkoji-rates", self._handle, self._drop, most=most)

    def take(self, name: str, rate: Rate, requests: int = 1) -> float | None:
        """Does what `admit` does if this process can tell, in any thread; else returns None, and counts nothing."""
        return self._counts.take(name, rate, int(self._clock() * MICRO), min(requests, rate.count))

    def give_back(self, name: str, rate: Rate, requests: int = 1) -> None:
        """Takes back the count of what `take` has admitted."""
        self._counts.give_back(name, rate, min(requests, rate.count))

    def charge(self, name: str, rate: Rate, requests: int) -> None:
        """Counts so many requests more for `name`, which then waits longer. It refuses nothing."""
        self._counts.charge(name, rate, int(self._clock() * MICRO), min(requests, rate.count))

    async def admit(self, name: str, rate: Rate, requests: int = 1) -> float:
        """Counts a request of `name` and returns 0 if it is within the rate. It may count as several `requests`.

        Otherwise it is not counted, and the result is the number of seconds after which it will be within the rate.
        """
        now, requests = int(self._clock() * MICRO), min(requests, rate.count)
        wait: float | None = self._counts.take(name, rate, now, requests)
        if wait is None:
            wait = await self._thread.run(RateRequest(name, rate, now, requests))
        return wait

    def _admit(self, execute: Execute, request: RateRequest) -> float:
        """Returns what `admit` returns, after telling the table what it has not been told."""
        name, rate, now, requests = request.name, request.rate, request.now, request.requests
        wait = self._counts.take(name, rate, now, requests)  # an earlier request of the batch may have asked
        if wait is not None:
            return wait
        if untold := self._counts.told(name):
            execute(TELL, request.values(untold))
        values = request.values(requests)
        admitted = execute(ADMIT, values)
        row = admitted or execute(DUE, values)
        if row is None:  # the name has just been deleted: its time has passed
            return 0.0
        due = int(row[0])
        self._counts.learn(request, due)
        return 0.0 if admitted else max(1, due + rate.step * requests - rate.most - now) / MICRO

    def close(self) -> None:
        """Finishes the requests that wait, and closes the storage."""
        self._thread.close()

    @abstractmethod
    def _begin(self) -> Execute:
        """Connects unless that is done, and begins a batch. Returns what runs its statements."""

    @abstractmethod
    def _commit(self) -> None:
        """Ends a batch."""

    def _handle(self, batch: list[Job[RateRequest]]) -> None:
        """Gives each job its result; 0 if the requests cannot be counted."""
        try:
            execute = self._begin()
            for job in batch:
                job.result = self._admit(execute, job.work)
            if monotonic() - self._cleaned > _MINUTE:
                self._cleaned = monotonic()
                execute(FORGET, {"now": batch[0].work.now})
            self._commit()
        except self.failures as error:
            self._drop()
            for job in batch:
                job.result = 0.0
            # At most once a minute: a database that fails does so for each request.
            if monotonic() - self._logged > _MINUTE:
                self._logged = monotonic()
                log.error("rates are not counted", cause=type(error).__name__)

    def _drop(self) -> None:
        """Closes the connection if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self.failures):
                connection.close()
