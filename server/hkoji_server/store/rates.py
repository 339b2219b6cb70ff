"""Rate limits that are counted for all processes together: how much each name has requested lately.

This is the generic cell rate algorithm. It keeps one time for each name. A request moves this time forward by the
cost of a request, and is refused if the time would then be too far ahead of now. One statement checks and moves it. The
times need not survive a crash: on SQLite they are in a file of their own beside the database, which is written without
syncing, and on PostgreSQL in an unlogged table. While requests come, names whose time has passed are deleted about once
a minute.

If requests cannot be counted, all of them are admitted. A limit protects the service, and must not stop it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol

import structlog

from hkoji_server.store.batch_thread import BatchThread, Job

log = structlog.get_logger("hkoji")

MICRO: Final = 1_000_000
_MINUTE: Final = 60.0

TABLE: Final = "CREATE {unlogged}TABLE IF NOT EXISTS rate (name TEXT PRIMARY KEY, due BIGINT NOT NULL)"
# A time that is further ahead than the rate allows was written before the clock was set back, and is ignored.
ADMIT: Final = """
INSERT INTO rate AS kept (name, due) VALUES (:name, :now + :step)
ON CONFLICT (name) DO UPDATE SET due = :step + CASE
    WHEN kept.due BETWEEN :now AND :now + :most THEN kept.due ELSE :now END
WHERE kept.due <= :now + :most - :step OR kept.due > :now + :most
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

    @property
    def values(self) -> dict[str, str | int]:
        """The parameters of `ADMIT` and `DUE`."""
        return {"name": self.name, "now": self.now, "step": self.rate.step, "most": self.rate.most}

    def wait(self, due: int) -> float:
        """Returns the seconds to wait if the time of the name is `due`."""
        return max(1, due + self.rate.step - self.rate.most - self.now) / MICRO


class SqlRates(ABC):
    """Implements `Rates` on a database, in a thread. A backend counts a batch of requests in `_handle`.

    `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float], *, most: int) -> None:
        self._clock = clock
        self._cleaned = monotonic()
        self._logged = float("-inf")
        self._thread: BatchThread[RateRequest] = BatchThread("hkoji-rates", self._handle, self._drop, most=most)

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts a request: see `Rates`."""
        wait: float = await self._thread.run(RateRequest(name, rate, int(self._clock() * MICRO)))
        return wait

    def close(self) -> None:
        """Finishes the requests that wait, and closes the storage."""
        self._thread.close()

    @abstractmethod
    def _handle(self, batch: list[Job[RateRequest]]) -> None:
        """Gives each job its result; 0 if the requests cannot be counted."""

    @abstractmethod
    def _drop(self) -> None:
        """Closes the connection if there is one."""

    def _is_time_to_clean(self) -> bool:
        """Returns whether names whose time has passed should be deleted now: once a minute."""
        due = monotonic() - self._cleaned > _MINUTE
        if due:
            self._cleaned = monotonic()
        return due

    def _log_failure(self, error: Exception) -> None:
        """Logs that requests are not counted, at most once a minute: a database that fails does so for each request."""
        if monotonic() - self._logged > _MINUTE:
            self._logged = monotonic()
            log.error("rates are not counted", cause=type(error).__name__)
