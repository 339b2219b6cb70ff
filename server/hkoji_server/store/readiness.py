"""Whether a database takes moves: the schema is this program's, and a write gets to the disk."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Final

from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text, update

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.tables import SERVICE

_SCRIPTS: Final = Path(__file__).parent / "migrations"
ENOUGH: Final = 1 << 20
"""Bytes that have to be free beside an SQLite file. A full disk still takes a small write, into what the write-ahead
log has from before, and refuses moves, which are larger."""
SCHEMA: Final = text("SELECT version_num FROM alembic_version")


@cache
def newest_schema() -> str:
    """The schema that this program makes."""
    return str(ScriptDirectory(str(_SCRIPTS)).get_current_head())


def verify_schema(connection: Connection) -> None:
    """Raises `StorageError` for a database of another schema, and what the database does for one of none."""
    found = connection.execute(SCHEMA).scalar()
    if found != newest_schema():
        raise StorageError(
            tell("the database has schema {found}, and this program {own}", found=found, own=newest_schema()),
            hint=tell("restart the service with the program that has migrated it"),
        )


def verify_room(folder: Path) -> None:
    """Raises `StorageError` if the disk is full, or cannot be asked."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(tell("cannot read {file}: {reason}", file=folder, reason=error.strerror)) from error
    if free < ENOUGH:
        raise StorageError(tell("the disk is full"), hint=tell("make room: a full disk refuses moves"))


def verify_ready(connection: Connection) -> None:
    """Reads, and writes what is there already: that is a write like any other. Raises `StorageError`."""
    verify_schema(connection)
    connection.execute(update(SERVICE).values(origin=SERVICE.c.origin))
