"""`Rates` on PostgreSQL: an unlogged table, which is not synced and is empty after a crash. Made at the first request.

Each statement is a transaction of its own: several names in one would be locked in whatever order they came.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, time
from typing import Final

import psycopg
import structlog
from sqlalchemy import URL

from hkoji_server.store import rates
from hkoji_server.store.batch_thread import BatchThread, Job
from hkoji_server.store.postgres.connections import arguments
from hkoji_server.store.rates import FORGET_EVERY, MICRO, Rate, RateRequest

log = structlog.get_logger("hkoji")

_MOST_JOBS: Final = 64


def _named(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s::bigint", statement).replace("%(name)s::bigint", "%(name)s")


_ADMIT, _DUE, _FORGET = map(_named, (rates.ADMIT, rates.DUE, rates.FORGET))


class PostgresRates:
    """`Rates` in the database at `url`. `clock` tells seconds."""

    def __init__(self, url: URL, clock: Callable[[], float] = time) -> None:
        self._arguments = arguments(url)
        self._clock = clock
        self._connection: psycopg.Connection | None = None
        self._forgotten = monotonic()
        self._complained = float("-inf")
        self._worker: BatchThread[RateRequest] = BatchThread("hkoji-rates", self._handle, self._drop, most=_MOST_JOBS)

    async def admit(self, name: str, rate: Rate) -> float:
        """Counts one for `name`: 0 if that is within the rate; else it is not counted, and in so many seconds it is."""
        waits: float = await self._worker.run(RateRequest(name, rate, int(self._clock() * MICRO)))
        return waits

    def close(self) -> None:
        """Lets the connection go."""
        self._worker.close()

    def _handle(self, batch: list[Job[RateRequest]]) -> None:
        for job in batch:
            job.result = 0.0
        try:
            connection = self._connection = self._connection or self._open()
            for job in batch:
                job.result = _admit(connection, job.work)
            if monotonic() - self._forgotten > FORGET_EVERY:
                self._forgotten = monotonic()
                connection.execute(_FORGET.encode(), {"now": batch[0].work.now})
        except psycopg.Error as error:
            self._drop()
            if monotonic() - self._complained > FORGET_EVERY:
                self._complained = monotonic()
                log.error("rates are not counted", cause=type(error).__name__)

    def _open(self) -> psycopg.Connection:
        connection = psycopg.connect(**self._arguments, autocommit=True)  # type: ignore[arg-type] # texts by name
        with suppress(psycopg.Error):  # another is making it, which PostgreSQL says in several ways; what follows sees
            connection.execute(rates.TABLE.format(unlogged="UNLOGGED ").encode())
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


def _admit(connection: psycopg.Connection, asked: RateRequest) -> float:
    values = {"name": asked.name, "now": asked.now, "step": asked.rate.step, "most": asked.rate.most}
    if connection.execute(_ADMIT.encode(), values).fetchone():
        return 0.0
    row = connection.execute(_DUE.encode(), values).fetchone()
    return max(1, int(row[0]) + asked.rate.step - asked.rate.most - asked.now) / MICRO if row else 0.0
