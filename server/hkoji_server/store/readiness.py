"""Checks that a database accepts moves: it has the schema of this program, and a write reaches the disk."""

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
"""How many bytes must be free beside an SQLite file. On a full disk a small write may still succeed, because it fits
into the space that the write-ahead log already has, while moves, which are larger, fail."""
SCHEMA: Final = text("SELECT version_num FROM alembic_version")


@cache
def newest_schema() -> str:
    """Returns the number of the schema that this program makes."""
    return str(ScriptDirectory(str(_SCRIPTS)).get_current_head())


def verify_schema(connection: Connection) -> None:
    """Raises `StorageError` for another schema, and the error of the database if there is no schema."""
    found = connection.execute(SCHEMA).scalar()
    if found != newest_schema():
        raise StorageError(
            tell(
                "the database has schema {found}, but this program needs schema {own}", found=found, own=newest_schema()
            ),
            hint=tell("restart the service with the version of hkoji that migrated it"),
        )


def verify_room(folder: Path) -> None:
    """Raises `StorageError` if the disk of `folder` is full or its free space cannot be read."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(tell("cannot read {file}: {reason}", file=folder, reason=error.strerror)) from error
    if free < ENOUGH:
        raise StorageError(tell("the disk is full"), hint=tell("make room: a full disk refuses moves"))


def verify_ready(connection: Connection) -> None:
    """Reads, and writes a value that is there already, which is a write like any other. Raises `StorageError`."""
    verify_schema(connection)
    connection.execute(update(SERVICE).values(origin=SERVICE.c.origin))
