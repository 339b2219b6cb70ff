"""The SQLite file and its connections, each with the settings of `durable`; and the one that all reads share.

Reads run directly in the thread that asks for them. A game is a few dozen rows that lie side by side and are found by
key in tens of microseconds, which is less than a switch to another thread takes.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.sql_steps import Row, Values
from hkoji_server.store.sqlite.durable import BUSY_SECONDS, make_durable

DIALECT: Final = SQLiteDialect(paramstyle="named")


def open_engine(path: Path) -> Engine:
    """Returns an engine for the file at `path`, which it makes if it is missing. Raises `StorageError`."""
    try:
        _make_folder(path.parent)
        # The file contains private keys and cards, so other users of the machine must not read it. SQLite gives the
        # files that it makes beside it (the write-ahead log) the same permissions.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StorageError(
            tell("cannot use {path}: {reason}", path=path, reason=error.strerror),
            hint=tell("give another folder with --data"),
        ) from error
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        # Parameters stay out of error messages: they are seeds, salts and keys.
        hide_parameters=True,
        # The writer's connection is used in the writer's thread, the reader's in any thread under its lock.
        connect_args={"check_same_thread": False, "timeout": BUSY_SECONDS},
    )
    event.listen(engine, "connect", _configure)
    return engine


def driver(connection: Connection) -> sqlite3.Connection:
    """Returns the driver's own connection."""
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def _configure(connection: sqlite3.Connection, _: object) -> None:
    make_durable(connection)


def _make_folder(folder: Path) -> None:
    """Makes a folder that exists after a power cut too.

    A new name is on disk only when the folder that contains it has been synced. SQLite syncs the folder of its own
    files, and none above it.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return  # Windows cannot sync a folder
    for each in missing:
        handle = os.open(each.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class SqliteReader:
    """Runs statements that only read. Raises what the database raises if it cannot connect."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # A connection has one transaction at a time, and loops in several threads may read: without the lock, one
        # could read within another's snapshot, or end it.
        self._lock = threading.Lock()
        self._open()

    def close(self) -> None:
        # A failure to close does not matter: nothing was written here.
        with self._lock, suppress(DBAPIError):
            self._connection.close()

    async def rows(self, statement: str, values: Values) -> list[Row]:
        """Returns the rows of a compiled statement. Raises `StorageError`."""
        return self._read(statement, values)

    def _read(self, statement: str, values: Values) -> list[Row]:
        with self._lock:
            try:
                rows: list[Row] = self._usable().execute(statement, values).fetchall()
            except (DBAPIError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
        return rows

    async def snapshot(self, statements: Sequence[str], values: Values) -> list[list[Row]]:
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
        ((version,),) = self._read("PRAGMA data_version", {})
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
