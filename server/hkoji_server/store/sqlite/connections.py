"""The SQLite file and its connections, each with the settings of `durable`."""

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
from hkoji_server.store.sqlite.durable import BUSY_SECONDS, make_durable
from hkoji_server.store.statements import ReadStatements

DIALECT: Final = SQLiteDialect(paramstyle="named")
READS: Final = ReadStatements(DIALECT)
MAIL_READS: Final = MailReads(DIALECT)


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
