"""Runs the real service in processes that end at a chosen point as `kill -9` ends them.

A pipeline is one transaction. Its beginning and end are reported under the names that the other driver uses.

The service is that of `hkoji serve`, observed from outside at the driver, SQLite's files, and the answers.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import psycopg

from tests.support.driver_calls import DriverObserver, driver_watched
from tests.support.forked import ForkedCall
from tests.support.service import UNLIMITED
from tests.support.sqlite_files import Call, watched


@contextmanager
def psycopg_watched(observer: DriverObserver) -> Iterator[None]:
    """Lets `observer` see all calls on connections during the block."""

    def told(owner: type, name: str, say: Any) -> Any:  # Any: how to describe the arguments, and a patch
        real = getattr(owner, name)

        async def watched(self: Any, *given: Any, **named: Any) -> Any:
            sql = say(given)
            observer.before_call("execute", sql)
            result = await real(self, *given, **named)
            observer.after_call("execute", sql)
            return result

        return patch.object(owner, name, watched)

    execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit

    def execute_watched(self: Any, *given: Any, **named: Any) -> Any:
        observer.before_call("execute", str(given[0]))
        result = execute(self, *given, **named)
        observer.after_call("execute", str(given[0]))
        return result

    def commit_watched(self: Any) -> None:
        observer.before_call("execute", "COMMIT")
        commit(self)
        observer.after_call("execute", "COMMIT")

    with ExitStack() as stack:
        stack.enter_context(told(psycopg.AsyncConnection, "execute", lambda given: str(given[0])))
        stack.enter_context(told(psycopg.AsyncPipeline, "__aenter__", lambda _: "BEGIN IMMEDIATE"))
        stack.enter_context(told(psycopg.AsyncPipeline, "__aexit__", lambda _: "COMMIT"))
        stack.enter_context(patch.object(psycopg.Cursor, "execute", execute_watched))
        stack.enter_context(patch.object(psycopg.Connection, "commit", commit_watched))
        yield


POINTS: Final = (
    "before a transaction",
    "after a statement",
    "before the commit",
    "at a write to the log",
    "before the log's sync",
    "after the log's sync",
    "after the commit",
    "before the answer",
    "amid the answer",
    "at a write of a checkpoint",
    "before a checkpoint's sync",
    "amid the start",
    "amid a clean stop",
)
POSTGRES_POINTS: Final = (
    "before a transaction",
    "after a statement",
    "before the commit",
    "after the commit",
    "before the answer",
    "amid the answer",
    "amid the start",
)
ARM: Final = "/-/arm"
"""The address of the request that starts the count."""


class Doom:
    """Ends this process when `point` is reached for the `count`th time after arming."""

    def __init__(self, point: str, count: int) -> None:
        self._point = point
        self._left = count
        self._lock = threading.Lock()
        self.armed = point == "amid the start"

    def reach(self, *points: str) -> None:
        """Notes that one of these points has been reached."""
        if self._point in points and self.armed:
            with self._lock:
                self._left -= 1
                if self._left <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        """Starts the count."""
        self.armed = self._point != "amid the start"

    def born(self) -> None:
        """Marks the end of the start-up.

        A point of the start does not kill the process after that, under a client's request.
        """
        if self._point == "amid the start":
            self.armed = False

    def before_call(self, what: str, sql: str) -> None:
        self.reach("amid the start", "amid a clean stop")
        if what == "execute" and sql.startswith("BEGIN IMMEDIATE"):
            self.reach("before a transaction")
        elif what == "execute" and sql == "COMMIT":
            self.reach("before the commit")

    def after_call(self, what: str, sql: str) -> None:
        if what != "execute":
            return
        if sql == "COMMIT":
            self.reach("after the commit")
        elif sql.startswith(("INSERT", "UPDATE", "DELETE", "WITH")):
            self.reach("after a statement")

    def before(self, call: Call) -> int:
        self.reach("amid the start", "amid a clean stop")
        log = call.name.endswith("-wal")
        if call.what == "write":
            self.reach("at a write to the log" if log else "at a write of a checkpoint")
        elif call.what == "sync":
            self.reach("before the log's sync" if log else "before a checkpoint's sync")
        return 0

    def after(self, call: Call) -> None:
        if call.what == "sync" and call.name.endswith("-wal"):
            self.reach("after the log's sync")


class KillingMiddleware:
    """ASGI middleware: arms, and ends the process before or during the answer to a POST."""

    def __init__(self, app: Any, doom: Doom) -> None:  # Any: ASGI, here and below
        self._app = app
        self._doom = doom

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == ARM:
            self._doom.arm()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})
            return

        async def started(message: Any) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._doom.born()
            await send(message)

        if scope["type"] == "lifespan":
            await self._app(scope, receive, started)
            return

        async def doomed(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._doom.reach("before the answer")
            body = message.get("body", b"")
            if message["type"] == "http.response.body" and len(body) > 1 and self._doom._point == "amid the answer":
                import asyncio

                await send({**message, "body": body[: len(body) // 2], "more_body": True})
                await asyncio.sleep(0.002)
                self._doom.reach("amid the answer")
                message = {**message, "body": body[len(body) // 2 :]}
            await send(message)

        await self._app(scope, receive, doomed if scope["type"] == "http" and scope["method"] == "POST" else send)


def serve_doomed(data: Path, point: str, count: int, database: str | None) -> None:
    """Serves as `hkoji serve` does, until the point."""
    if database is not None:
        _serve_doomed_on_postgres(database, point, count)
        return
    from hkoji_server import app as module
    from hkoji_server.store.sqlite import durable
    from hkoji_server.store.sqlite.store import SqliteStore

    doom = Doom(point, count)
    if "checkpoint" in point:
        durable.PRAGMAS["wal_autocheckpoint"] = 60  # by default they would be too rare for a short life
    create, close = module.Application, SqliteStore.close
    closes = 0

    def created(*given: Any, **named: Any) -> Any:
        return KillingMiddleware(create(*given, **named), doom)

    def closed(store: SqliteStore) -> None:
        nonlocal closes
        closes += 1
        if closes > 1 and point == "amid a clean stop":  # the first store was only opened to look at it
            doom.armed = True
        close(store)

    patched = patch.object(module, "Application", created), patch.object(SqliteStore, "close", closed)
    with watched(doom), driver_watched(doom), patched[0], patched[1]:
        module.serve(data, "127.0.0.1", 0, **UNLIMITED)


def _serve_doomed_on_postgres(database: str, point: str, count: int) -> None:
    from hkoji_server import app as module

    doom = Doom(point, count)
    create = module.Application

    def created(*given: Any, **named: Any) -> Any:
        return KillingMiddleware(create(*given, **named), doom)

    with psycopg_watched(doom), patch.object(module, "Application", created):
        module.serve(None, "127.0.0.1", 0, database=database, **UNLIMITED)


class Forked:
    """A forked service. `port` is None if it ended before it was ready."""

    def __init__(self, data: Path, point: str = "", count: int = 1, database: str | None = None) -> None:
        """Starts it on `data` or a PostgreSQL database, and waits until it is ready or has ended."""
        self.log = data.parent / f"{data.name}.log"
        self.log.unlink(missing_ok=True)
        self._process = ForkedCall(_serve_and_log, self.log, data, point, count, database)
        self.pid = self._process.pid
        self.port = _port(self.log, lambda: self._process.poll() is None)

    def kill(self) -> int:
        """Kills it (SIGKILL) if it still runs. Returns its exit code."""
        self._process.kill()
        return self.wait()

    def terminate(self) -> None:
        """Asks it to stop."""
        self._process.terminate()

    def wait(self) -> int:
        """Waits for its end. The exit code, negative for a signal."""
        return self._process.wait(300)


def _serve_and_log(log: Path, data: Path, point: str, count: int, database: str | None) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    serve_doomed(data, point, count, database)


def _port(log: Path, lives: Callable[[], bool]) -> int | None:
    """The port that a starting service prints."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for line in log.read_text().splitlines() if log.exists() else ():
            if line.startswith("hkoji is serving on "):
                return int(line.split()[4].rstrip(",").rpartition(":")[2])
        if not lives():
            return None
        time.sleep(0.003)
    raise AssertionError(f"the service did not start: {log.read_text()}")
