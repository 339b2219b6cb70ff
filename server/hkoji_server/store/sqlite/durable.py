"""The settings of a connection to the SQLite file, under which an acknowledged move survives a power cut.

WAL with `synchronous=FULL`: NORMAL would lose acknowledged moves in a power cut. The settings are read back at the
start, and the store does not open if one of them has not taken effect. It works on the driver's connections, so a
process that needs no SQLAlchemy has the same settings.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from hkoji.errors import StorageError
from hkoji.messages.text import tell

BUSY_SECONDS: Final = 10
_PAGE_SIZE: Final = 8192
"""An entry has some 850 bytes. Few entries fit into SQLite's default page of 4096, and longer ones overflow it."""
PRAGMAS: Final = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "busy_timeout": BUSY_SECONDS * 1000,
}


def make_durable(connection: sqlite3.Connection) -> None:
    """Gives a new connection the settings. Closes it and raises the driver's error if that fails."""
    # Transactions are begun with explicit statements: the driver's own guesses break savepoints.
    connection.isolation_level = None
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")  # for a new file; an existing file keeps its own
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name} = {value}")
    except sqlite3.Error:
        connection.close()  # a pool would drop it unclosed, with the locks that it holds
        raise


def verify_durable(connection: sqlite3.Connection) -> None:
    """Raises `StorageError` if a setting has not taken effect."""
    for name, value in PRAGMAS.items():
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
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
