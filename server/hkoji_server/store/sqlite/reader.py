"""The connection that all reads of the SQLite store share.

Reads run directly in the thread that asks for them. A game is a few dozen rows that lie side by side and are found by
key in tens of microseconds, which is less than a switch to another thread takes.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.sqlite.connections import driver
from hkoji_server.store.statements import Row, Values


class SqliteReader:
    """Runs statements that only read. Raises what the database raises if it cannot connect."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # A connection has one transaction at a time, and loops in several threads may read: without the lock, one
        # could read within another's snapshot, or end it.
        self._lock = threading.Lock()
        self._open()

    def close(self) -> None:
        """Closes the connection."""
        # A failure to close does not matter: nothing was written here.
        with self._lock, suppress(DBAPIError):
            self._connection.close()

    def rows(self, statement: str, values: Values) -> list[Row]:
        """Returns the rows of a compiled statement. Raises `StorageError`."""
        with self._lock:
            try:
                rows: list[Row] = self._usable().execute(statement, values).fetchall()
            except (DBAPIError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
        return rows

    def snapshot(self, statements: tuple[str, ...], values: Values) -> list[list[Row]]:
        """Returns the rows of several compiled statements, all of one moment. Raises `StorageError`."""
        with self._lock:
            try:
                connection = self._usable()
                connection.execute("BEGIN")
                rows = [connection.execute(statement, values).fetchall() for statement in statements]
                connection.execute("ROLLBACK")
            except (DBAPIError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
        return rows

    def version(self) -> int:
        """Returns a number that changes when any other connection, in this process or another, has written."""
        ((version,),) = self.rows("PRAGMA data_version", {})
        return int(version)

    def _usable(self) -> sqlite3.Connection:
        """Returns the driver's connection; after a failure, that of a new connection. The caller holds the lock."""
        if self._failed:
            # The old connection may still be in a transaction, in which it would always show the state of the moment
            # when that transaction began.
            self._connection.invalidate()
            self._connection.close()
            self._open()
        return self._driver

    def _unreadable(self, error: DBAPIError | sqlite3.Error) -> StorageError:
        self._failed = True
        cause = error.orig if isinstance(error, DBAPIError) else error
        return StorageError(
            tell("the database could not be read: {cause}", cause=str(cause)), hint=tell("try again later")
        )

    def _open(self) -> None:
        self._connection = self._engine.connect()
        self._connection.exec_driver_sql("PRAGMA query_only = 1")
        self._driver = driver(self._connection)
        self._failed = False
