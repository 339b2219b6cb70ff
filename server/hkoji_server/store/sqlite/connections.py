"""The SQLite file and its connections, with the settings under which an acknowledged move survives a power cut.

WAL with `synchronous=FULL`: NORMAL would lose acknowledged moves in a power cut. The settings are read back at the
start, and the store does not open if one of them has not taken effect.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.pool import NullPool

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.mail_reads import MailReads
from hkoji_server.store.statements import ReadStatements

DIALECT: Final = SQLiteDialect(paramstyle="named")
READS: Final = ReadStatements(DIALECT)
MAIL_READS: Final = MailReads(DIALECT)
_BUSY_SECONDS: Final = 10
_PAGE_SIZE: Final = 8192
"""An entry has some 850 bytes. Few entries fit into SQLite's default page of 4096, and longer ones overflow it."""
_PRAGMAS: Final = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "busy_timeout": _BUSY_SECONDS * 1000,
}


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
        connect_args={"check_same_thread": False, "timeout": _BUSY_SECONDS},
    )
    event.listen(engine, "connect", _configure)
    return engine


def check_settings(connection: Connection) -> None:
    """Raises `StorageError` if a setting has not taken effect."""
    for name, value in _PRAGMAS.items():
        found = connection.exec_driver_sql(f"PRAGMA {name}").scalar()
        if found != value:
            raise StorageError(
                tell(
                    "SQLite's {name} is {found} and cannot be set to {value}: acknowledged moves would not be safe",
                    name=name,
                    found=str(found),
                    value=value,
                ),
                hint=tell("use a folder on a local disk"),
            )


def driver(connection: Connection) -> sqlite3.Connection:
    """Returns the driver's own connection."""
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def _configure(connection: sqlite3.Connection, _: object) -> None:
    # Transactions are begun with explicit statements: the driver's own guesses break savepoints.
    connection.isolation_level = None
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")  # for a new file; an existing file keeps its own
        for name, value in _PRAGMAS.items():
            connection.execute(f"PRAGMA {name} = {value}")
    except sqlite3.Error:
        connection.close()  # the pool would drop it unclosed, with the locks that it holds
        raise


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
