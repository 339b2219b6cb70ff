"""What a store asks of Python's `sqlite3`, seen and prevented: each connection, statement, fetch, commit and close.

For another database an observer of its driver takes this place; whoever observes is told the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from unittest.mock import patch


class DriverObserver(Protocol):
    """Whoever watches. `what` is connect, execute, fetch, commit, rollback or close; `sql` is empty but for execute."""

    def before_call(self, what: str, sql: str) -> None:
        """About to be called; what this raises is what the caller gets."""

    def after_call(self, what: str, sql: str) -> None:
        """It has happened."""


_observer: DriverObserver | None = None


def _told(what: str, sql: str = "") -> Any:  # Any: a context manager
    return _call(what, sql)


@contextmanager
def _call(what: str, sql: str) -> Iterator[None]:
    observer = _observer
    if observer is not None:
        observer.before_call(what, sql)
    yield
    if observer is not None:
        observer.after_call(what, sql)


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, parameters: Any = (), /) -> _Cursor:
        with self._told(sql):
            super().execute(sql, parameters)
        return self

    def executemany(self, sql: str, parameters: Any, /) -> _Cursor:
        with self._told(sql):
            super().executemany(sql, parameters)
        return self

    @contextmanager
    def _told(self, sql: str) -> Iterator[None]:
        """As after a failure of SQLite's own, no statement is left half way, holding locks."""
        try:
            with _told("execute", sql):
                yield
        except Exception:
            self.close()
            raise

    def fetchone(self) -> Any:
        with _told("fetch"):
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with _told("fetch"):
            return super().fetchall()


class _Connection(sqlite3.Connection):
    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> _Cursor:
        made: _Cursor = self.cursor()
        return made.execute(sql, parameters)

    def commit(self) -> None:
        with _told("commit"):
            super().commit()

    def rollback(self) -> None:
        with _told("rollback"):
            super().rollback()

    def close(self) -> None:
        with _told("close"):
            super().close()


@contextmanager
def driver_watched(observer: DriverObserver) -> Iterator[None]:
    """Lets `observer` see what connections that are opened in this block are asked for."""
    global _observer  # noqa: PLW0603 # one driver, one observer
    real = sqlite3.connect

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        with _told("connect"):
            connection: sqlite3.Connection = real(*given, **{**named, "factory": _Connection})
            return connection

    _observer = observer
    try:
        with patch.object(sqlite3.dbapi2, "connect", connect):
            yield
    finally:
        _observer = None
