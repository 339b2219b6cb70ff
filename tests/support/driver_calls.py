"""Observes, and can prevent, each call that a store makes to `sqlite3`: connection, statement, fetch, commit, close.

An observer of another database's driver has the same interface.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from unittest.mock import patch


class DriverObserver(Protocol):
    """An observer. `what` is connect, execute, fetch, commit, rollback or close; `sql` is empty except for execute."""

    def before_call(self, what: str, sql: str) -> None:
        """Called before the call; an exception raised here reaches the caller."""

    def after_call(self, what: str, sql: str) -> None:
        """Called after the call."""


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
        """Closes the cursor on failure, as after SQLite's own failures: no half-executed statement holds locks."""
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
    """Lets `observer` see all calls on connections opened in this block."""
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
