"""Rate limits on SQLite, in a file of their own beside the database. It is written without syncing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, Final

from hkoji_server.store.rates import TABLE, Execute, Rates

_BUSY_SECONDS: Final = 2
_PAUSE: Final = 0.01
_MOST_JOBS: Final = 256


class SqliteRates(Rates):
    """`Rates` in the file at `path`. `clock` returns seconds."""

    failures = (sqlite3.Error, OSError)

    def __init__(self, path: Path, clock: Callable[[], float] = time) -> None:
        self._path = path
        super().__init__(clock, most=_MOST_JOBS)

    def _begin(self) -> Execute:
        self._connection = self._connection or self._open()
        self._connection.execute("BEGIN IMMEDIATE")
        return partial(_row, self._connection)

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        try:
            return _open_in_time(self._path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # damaged by a power cut, which unsynced writes allow: begin with an empty file
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            return _open(self._path)


def _open_in_time(path: Path) -> sqlite3.Connection:
    """Opens the file, also while other processes make it: SQLite does not wait for a change of the journal mode."""
    end = monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _open(path)
        except sqlite3.OperationalError:
            if monotonic() > end:
                raise
            sleep(_PAUSE)


def _open(path: Path) -> sqlite3.Connection:
    # Only the owner may read the file: it contains who plays from which address.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("PRAGMA synchronous = off")
        database.execute(TABLE.format(unlogged=""))
    except sqlite3.Error:
        database.close()
        raise
    return database


def _row(database: sqlite3.Connection, statement: str, values: Mapping[str, str | int]) -> Sequence[Any] | None:
    rows = database.execute(statement, values).fetchall()
    return rows[0] if rows else None
