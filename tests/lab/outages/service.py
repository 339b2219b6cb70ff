"""Processes of the service in simulated time, which can wait, stop or end at chosen points of their work.

Only "before a transaction" may be one that appends nothing.

A wait on SQLite is in the thread that writes, and on PostgreSQL in the task that appends. So the process goes on with
everything else: it notes the time, and answers other requests.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server import app
from hkoji_server.service.games.keeper import keep_at_intervals
from hkoji_server.service.time.service_time import ClockAndEntropy, beat_at_intervals
from hkoji_server.store.sqlite import store

from tests.lab.outages.planted import PLANTED
from tests.lab.outages.simulated_time import ACTIONS, POINTS, SPEED, SimulatedTime
from tests.support.driver_calls import driver_watched
from tests.support.forked_service import ForkedService

_BEFORE, _APPEND, _IN, _COMMIT, _AFTER, _RECORD, _RECORDING = range(len(POINTS))
_WAIT, _STOP, _KILL = range(len(ACTIONS))
_WATCHED: Final = ExitStack()
"""Until the process ends."""


class OrderedProcess:
    """Carries out the orders for process `number`."""

    def __init__(self, simulated: SimulatedTime, number: int) -> None:
        self._simulated = simulated
        self._number = number
        self._appends = False
        self._writes = False

    @property
    def ordered(self) -> bool:
        """Whether there is an order to be carried out."""
        return self._simulated.has_order(self._number)

    def _reach(self, point: int) -> float:
        """Stops or ends at a point if that is ordered. Returns how many real seconds to wait there."""
        order = self._simulated.take_order(self._number, point)
        if order is None:
            return 0
        action, seconds = order
        if action != _WAIT:
            os.kill(os.getpid(), signal.SIGKILL if action == _KILL else signal.SIGSTOP)
            return 0
        return seconds / SPEED

    def reach(self, point: int) -> None:
        """Carries out an order in a thread."""
        time.sleep(self._reach(point))

    async def reach_in_task(self, point: int) -> None:
        """Carries out an order in a task."""
        await asyncio.sleep(self._reach(point))

    # --- calls of a driver in a thread ------------------------------------------------------------------------------

    def note_append(self) -> None:
        """Notes that the next transaction of the thread that writes will append."""
        self._appends = True

    def before_call(self, what: str, sql: str) -> None:
        if what != "execute":
            return
        if sql.startswith("BEGIN IMMEDIATE"):
            self._writes = False
            self.reach(_BEFORE)
            if self._appends:
                self._appends = False
                self.reach(_APPEND)
        elif sql == "COMMIT" and self._writes:
            self.reach(_COMMIT)
        elif sql.startswith("INSERT INTO outage"):
            self.reach(_RECORD)

    def after_call(self, what: str, sql: str) -> None:
        if what != "execute":
            return
        if sql.startswith("UPDATE game"):
            self._writes = True
            self.reach(_IN)
        elif sql == "COMMIT" and self._writes:
            self.reach(_AFTER)
        elif sql.startswith("INSERT INTO outage"):
            self.reach(_RECORDING)


def watch_sqlite(process: OrderedProcess) -> None:
    """Carries out the orders at the calls to SQLite from now on."""
    write_of = store.write_of

    def noted(*given: Any) -> Any:
        process.note_append()
        return write_of(*given)

    patch.object(store, "write_of", noted).start()
    _WATCHED.enter_context(driver_watched(process))


def watch_postgres(process: OrderedProcess) -> None:
    """Carries out the orders at the calls to psycopg from now on."""
    import psycopg
    from hkoji_server.store.postgres import statements

    pipeline, execute = psycopg.AsyncConnection.pipeline, psycopg.AsyncConnection.execute
    execute_in_thread, append_statement = psycopg.Cursor.execute, statements.append_statement
    to_append = ContextVar("to_append", default=False)
    write: set[Any] = set()

    @asynccontextmanager
    async def slow(connection: Any) -> AsyncIterator[None]:
        """A pipeline whose statements are sent one by one: then the transaction is open while it waits."""
        await process.reach_in_task(_BEFORE)
        if to_append.get():
            to_append.set(False)
            await process.reach_in_task(_APPEND)
        write.discard(connection)
        async with connection.transaction():
            yield
            if connection in write:
                await process.reach_in_task(_COMMIT)
        if connection in write:
            await process.reach_in_task(_AFTER)

    def opened(connection: Any) -> Any:
        return slow(connection) if process.ordered else pipeline(connection)

    def noted(append: Any) -> str:
        to_append.set(True)
        return append_statement(append)

    async def executed(connection: Any, sql: Any, *given: Any, **named: Any) -> Any:
        done = await execute(connection, sql, *given, **named)
        if sql in (statements.HOLD, statements.ADD_GAME):
            write.add(connection)
        if sql == statements.HOLD:
            await process.reach_in_task(_IN)
        return done

    def executed_in_thread(cursor: Any, sql: Any, *given: Any, **named: Any) -> Any:
        process.before_call("execute", str(sql))
        done = execute_in_thread(cursor, sql, *given, **named)
        process.after_call("execute", str(sql))
        return done

    patch.object(statements, "append_statement", noted).start()
    patch.object(psycopg.AsyncConnection, "pipeline", opened).start()
    patch.object(psycopg.AsyncConnection, "execute", executed).start()
    patch.object(psycopg.Cursor, "execute", executed_in_thread).start()


OUTAGE_AFTER: Final = 180
_FOREVER: Final = 10**7
_SETTINGS: Final[dict[str, Any]] = {  # Any: settings by name
    "outage_after": OUTAGE_AFTER,
    "token_lifetime": _FOREVER,
    "challenge_lifetime": _FOREVER,
    "offer_lifetime": _FOREVER,
    "keep_alive": 3600,
    "log_level": "warning",
}


class TimedProcess(ForkedService):
    """Process `number` of the service on `data` or a PostgreSQL database, with the time in the file `shared`."""

    def __init__(self, number: int, data: Path, database: str | None, shared: Path, fault: str | None) -> None:
        self.number = number
        prepare = partial(_prepare, number, shared, fault, database is not None)
        super().__init__(data, database, data.parent / f"process{number}.log", prepare, _SETTINGS)
        self.start()


def _prepare(number: int, shared: Path, fault: str | None, on_postgres: bool) -> None:
    simulated = SimulatedTime(shared)
    process = OrderedProcess(simulated, number)
    if fault:
        PLANTED[fault].plant()
    sources = partial(ClockAndEntropy, clock=partial(simulated.clock_of, number), boot=simulated.seconds)
    patch.object(app, "ClockAndEntropy", sources).start()
    patch.object(app, "beat_at_intervals", partial(beat_at_intervals, pause=_sleep)).start()
    patch.object(app, "keep_at_intervals", partial(keep_at_intervals, pause=_sleep)).start()
    if on_postgres:
        watch_postgres(process)
    else:
        watch_sqlite(process)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / SPEED)
