"""How much each has asked for lately, counted for all processes together: a limit that none of them holds alone.

The generic cell rate algorithm: for each name one number, the time until which what it has asked for so far is paid.
One statement asks and pays. Nothing of this has to survive anything: on SQLite it is a file of its own beside the
database, written without syncing; on PostgreSQL an unlogged table. What has been paid is forgotten within a minute.

If it cannot be counted nobody is held up: a limit protects the service, and must not be what stops it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep, time
from typing import Final, Protocol

import structlog

from hkoji_server.store.batch_thread import BatchThread, Job

log = structlog.get_logger("hkoji")

MICRO: Final = 1_000_000
FORGET_EVERY: Final = 60.0
_BUSY_SECONDS: Final = 2
_PAUSE: Final = 0.01
_MOST_JOBS: Final = 256

TABLE: Final = "CREATE {unlogged}TABLE IF NOT EXISTS rate (name TEXT PRIMARY KEY, due BIGINT NOT NULL)"
# A time further ahead than a rate allows was written before the clock went back: it does not count.
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
    """So many in so many seconds: all at once, or spread; then one by one as time pays for them."""

    count: int
    seconds: int

    @property
    def step(self) -> int:
        """What one costs, in microseconds."""
        return max(1, self.seconds * MICRO // self.count)

    @property
    def most(self) -> int:
        """How far ahead may be asked for, in microseconds."""
        return self.step * self.count


class Rates(Protocol):
    """Counts for all processes."""

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts one for `name`: 0 if that is within the rate; else it is not counted, and in so many seconds it is."""

    def close(self) -> None:
        """Lets the storage go."""


@dataclass(frozen=True, slots=True)
class RateRequest:
    """One who asks at a time, in microseconds."""

    name: str
    rate: Rate
    now: int


class SqliteRates:
    """`Rates` in the file at `path`. `clock` tells seconds."""

    def __init__(self, path: Path, clock: Callable[[], float] = time) -> None:
        self._path = path
        self._clock = clock
        self._database: sqlite3.Connection | None = None
        self._forgotten = monotonic()
        self._complained = float("-inf")
        self._worker: BatchThread[RateRequest] = BatchThread("hkoji-rates", self._handle, self._drop, most=_MOST_JOBS)

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts one for `name`: 0 if that is within the rate; else it is not counted, and in so many seconds it is."""
        waits: float = await self._worker.run(RateRequest(name, rate, int(self._clock() * MICRO)))
        return waits

    def close(self) -> None:
        """Lets the file go."""
        self._worker.close()

    def _handle(self, batch: list[Job[RateRequest]]) -> None:
        try:
            database = self._database = self._database or self._open()
            database.execute("BEGIN IMMEDIATE")
            for job in batch:
                job.result = _admit(database, job.work)
            if monotonic() - self._forgotten > FORGET_EVERY:
                self._forgotten = monotonic()
                database.execute(FORGET, {"now": batch[0].work.now})
            database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._drop()
            for job in batch:
                job.result = 0.0
            if monotonic() - self._complained > FORGET_EVERY:
                self._complained = monotonic()
                log.error("rates are not counted", cause=type(error).__name__)

    def _open(self) -> sqlite3.Connection:
        try:
            return _prepared_in_time(self._path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # torn by a power cut, which it is not guarded against
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            return _prepared(self._path)

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()


def _prepared_in_time(path: Path) -> sqlite3.Connection:
    """The database, also where others make it at the same time: SQLite does not wait for who changes a file's mode."""
    end = monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _prepared(path)
        except sqlite3.OperationalError:
            if monotonic() > end:
                raise
            sleep(_PAUSE)


def _prepared(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it tells who plays from where
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("PRAGMA synchronous = off")
        database.execute(TABLE.format(unlogged=""))
    except sqlite3.Error:
        database.close()
        raise
    return database


def _admit(database: sqlite3.Connection, asked: RateRequest) -> float:
    step, most = asked.rate.step, asked.rate.most
    values = {"name": asked.name, "now": asked.now, "step": step, "most": most}
    if database.execute(ADMIT, values).fetchall():
        return 0.0
    due = int(database.execute(DUE, values).fetchone()[0])
    return max(1, due + step - most - asked.now) / MICRO
