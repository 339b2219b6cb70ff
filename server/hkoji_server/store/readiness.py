"""Whether a database takes moves: the schema is this program's, and a write gets to the disk."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text, update

from hkoji.errors import StorageError
from hkoji.text import tell
from hkoji_server.store.statements import SERVICE

_SCRIPTS: Final = Path(__file__).parent / "migrations"
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


def verify_ready(connection: Connection) -> None:
    """Reads, and writes what is there already: that is a write like any other. Raises `StorageError`."""
    verify_schema(connection)
    connection.execute(update(SERVICE).values(origin=SERVICE.c.origin))
