"""The failures of a store on PostgreSQL: each call of psycopg that speaks to the server, in each of these ways.

The failures are real where possible: a connection is closed under the driver, or ended by the server; or the server
itself refuses a statement, because it gets another one that raises the wanted error. So transactions and pipelines are
left in the state in which such a failure leaves them.

Fetching is not among these calls: the answer is already in the driver's memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import psycopg
from hkoji_server.service.time.service_time import now
from hkoji_server.settings import load
from hkoji_server.store.postgres import hints

from tests.lab.faults.fault import SERVICE_KINDS, Fault
from tests.support.ledger import Dump, connected, dumped
from tests.support.service import UNLIMITED

_LOST: Final = "lost"  # the connection is gone before the call
_AFTER: Final = "lost, after"  # the call has happened, and the connection is gone before its result is seen
_ENDED: Final = "ended"  # the server ends the connection before the call: 57P01
_REFUSED: Final = {
    "no space": "53100",
    "too many clients": "53300",
    "serialization": "40001",
    "deadlock": "40P01",
    "read-only": "25006",
    "timeout": "57014",
}
_AT_CONNECT: Final = {
    "no space": "could not write init file: No space left on device",
    "too many clients": "sorry, too many clients already",
    "read-only": "session is read-only",
}
"""The server's message to a new connection. psycopg gives no SQLSTATE then."""
_OF_THE_POOL: Final = ", in the pool"
_BY_REQUESTS: Final = (_LOST, _AFTER, _ENDED, *_REFUSED)
_KINDS: Final = (*_BY_REQUESTS, *(f"{kind}{_OF_THE_POOL}" for kind in _BY_REQUESTS))
"""The pool connects beside the requests, at varying times; so its calls are counted apart."""
KINDS: Final = (*_KINDS, *SERVICE_KINDS)

_Around = Any  # a driver's function with any arguments and result


class OnPostgres:
    """A store in an empty database."""

    kinds = _KINDS

    def __init__(self, url: str) -> None:
        self.clock = now
        self.settings = load(database=url, log_level="error", **UNLIMITED)
        self._url = url

    @contextmanager
    def watched(self, fault: Fault) -> Iterator[None]:
        """Lets `fault` choose the call that fails."""
        driver = _Driver(fault, self._url)
        with ExitStack() as stack:
            stack.enter_context(patch.object(hints, "_PACE", 0))
            for patched in driver.patches():
                stack.enter_context(patched)
            yield

    async def settle(self) -> None:
        """Waits until appends have been announced to other processes."""
        own = asyncio.current_task()
        telling = [each for each in asyncio.all_tasks() if each is not own and _name(each).endswith("Hints._send")]
        await asyncio.gather(*telling, return_exceptions=True)

    def dumped(self) -> Dump | None:
        """All rows of all tables; None before there are tables."""
        try:
            return dumped(self._url)
        except psycopg.errors.UndefinedTable:
            return None


def _name(task: asyncio.Task[Any]) -> str:
    return str(getattr(task.get_coro(), "__qualname__", ""))


class _Driver:
    """psycopg's functions that speak to the server, each wrapped with a fault."""

    def __init__(self, fault: Fault, url: str) -> None:
        self._fault = fault
        self._url = url
        self._connect = psycopg.connect

    def patches(self) -> Iterator[Any]:  # Any: patches of `unittest.mock`
        """All of the patches."""
        yield patch.object(psycopg.AsyncConnection, "connect", self._connects_async(psycopg.AsyncConnection.connect))
        yield patch.object(psycopg, "connect", self._connects(psycopg.connect))
        yield patch.object(psycopg.AsyncConnection, "execute", self._executes_async(psycopg.AsyncConnection.execute))
        yield patch.object(psycopg.Cursor, "execute", self._executes(psycopg.Cursor.execute))
        yield patch.object(psycopg.AsyncPipeline, "__aexit__", self._ends_async(psycopg.AsyncPipeline.__aexit__))
        yield patch.object(psycopg.Connection, "commit", self._ends(psycopg.Connection.commit, "commit"))
        yield patch.object(psycopg.Connection, "rollback", self._ends(psycopg.Connection.rollback, "rollback"))

    def _due(self, shown: str) -> str:
        """How this call fails: a kind, or an empty string."""
        where = _OF_THE_POOL if _in_pool() else ""
        due = ""
        for kind in _BY_REQUESTS:
            if shown == "connect" and kind in _REFUSED and kind not in _AT_CONNECT:
                continue
            if self._fault.due(kind + where, " ".join(shown.split())[:60]):
                due = kind
        return due

    # --- connecting -----------------------------------------------------------------------------------------------

    def _connects_async(self, real: _Around) -> _Around:
        async def connect(*given: Any, **named: Any) -> Any:
            due = self._due("connect")
            _refuse_to_connect(due)
            connection = await real(*given, **named)
            self._spoil(due, connection)
            return connection

        return connect

    def _connects(self, real: _Around) -> _Around:
        def connect(*given: Any, **named: Any) -> Any:
            due = self._due("connect")
            _refuse_to_connect(due)
            connection = real(*given, **named)
            self._spoil(due, connection)
            return connection

        return connect

    # --- statements -----------------------------------------------------------------------------------------------

    def _executes_async(self, real: _Around) -> _Around:
        async def execute(connection: Any, *given: Any, **named: Any) -> Any:
            due = self._due(str(given[0]))
            if due in _REFUSED:
                return await real(connection, _raising(due))
            self._before(due, connection)
            result = await real(connection, *given, **named)
            _after(due, connection)
            return result

        return execute

    def _executes(self, real: _Around) -> _Around:
        def execute(cursor: Any, *given: Any, **named: Any) -> Any:
            due = self._due(str(given[0]))
            if due in _REFUSED:
                return real(cursor, _raising(due))
            self._before(due, cursor.connection)
            result = real(cursor, *given, **named)
            _after(due, cursor.connection)
            return result

        return execute

    # --- transactions ---------------------------------------------------------------------------------------------

    def _ends_async(self, real: _Around) -> _Around:
        async def leave(pipeline: Any, *raised: Any) -> Any:
            if raised[0] is not None:
                return await real(pipeline, *raised)
            connection = pipeline._conn
            due = self._due("the end of a pipeline")
            if due in _REFUSED:
                await connection.cursor().execute(_raising(due))
            self._before(due, connection)
            result = await real(pipeline, *raised)
            _after(due, connection)
            return result

        return leave

    def _ends(self, real: _Around, shown: str) -> _Around:
        def end(connection: Any) -> None:
            due = self._due(shown)
            if due in _REFUSED:
                self._refuse_to_end(connection, due)
            self._before(due, connection)
            real(connection)
            _after(due, connection)

        return end

    def _refuse_to_end(self, connection: Any, due: str) -> None:
        """Rolls back what could not be committed."""
        with self._unseen():
            try:
                connection.execute(_raising(due))
            except psycopg.Error:
                connection.rollback()
                raise

    # --- failing --------------------------------------------------------------------------------------------------

    def _before(self, due: str, connection: Any) -> None:
        if due == _LOST:
            connection.pgconn.finish()
        elif due == _ENDED:
            self._end(connection)

    def _spoil(self, due: str, connection: Any) -> None:
        """Applies the fault to a new connection."""
        if due == _AFTER:
            connection.pgconn.finish()
        elif due == _ENDED:
            self._end(connection)

    def _end(self, connection: Any) -> None:
        pid = connection.info.backend_pid
        with self._unseen(), connected(self._url) as witness:
            witness.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        before, self._fault.paused = self._fault.paused, True
        try:
            yield
        finally:
            self._fault.paused = before


def _in_pool() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # in a separate thread
        return False
    return task is not None and "worker" in task.get_name()


def _raising(due: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION '{due}' USING ERRCODE = '{_REFUSED[due]}'; END $$"


def _refuse_to_connect(due: str) -> None:
    if due == _LOST:
        raise psycopg.OperationalError("connection failed: Connection refused")
    if due in _REFUSED:
        raise psycopg.OperationalError(f"connection failed: FATAL:  {_AT_CONNECT[due]}")


def _after(due: str, connection: Any) -> None:
    if due == _AFTER:
        connection.pgconn.finish()
        raise psycopg.OperationalError("consuming input failed: server closed the connection unexpectedly")


@contextmanager
def fresh_database(server: str, name: str) -> Iterator[str]:
    """Creates an empty database `name` on the server of the URL `server`, yields its URL, and drops it."""
    with connected(server) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield _renamed(server, name)
    finally:
        with connected(server) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _renamed(url: str, name: str) -> str:
    before, _, after = url.partition("?")
    return f"{before.rpartition('/')[0]}/{name}?{after}"
