"""The schema of a database: its number, and the migration to the schema of this program, forwards only.

Alembic takes longer to load than a service to open its database, so it is loaded only where something is to migrate.
A process that only asks for the number does not load SQLAlchemy either.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hkoji.errors import StorageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection

_SCRIPTS: Final = Path(__file__).parent / "migrations"
_TABLE: Final = "alembic_version"
_TRIES: Final = 10
SCHEMA: Final = "SELECT version_num FROM alembic_version"
_VERSION: Final = """
    CREATE TABLE IF NOT EXISTS alembic_version (
        version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
    )
"""


@cache
def newest_schema() -> str:
    """Returns the number of the schema that this program makes: the one with which its last migration's name begins."""
    return max(path.name for path in (_SCRIPTS / "versions").glob("v*.py"))[1:].partition("_")[0]


def verify_schema(connection: Connection, hint: str) -> None:
    """Raises `StorageError` with `hint` for another schema, and the error of the database if there is no schema."""
    found = connection.exec_driver_sql(SCHEMA).scalar()
    if found != newest_schema():
        raise StorageError(
            tell(
                "the database has schema {found}, but this program needs schema {own}", found=found, own=newest_schema()
            ),
            hint=hint,
        )


def migrate(connection: Connection) -> None:
    """Upgrades to the newest schema, in the open transaction, which must keep all other writers out.

    Raises `StorageError` for a database that a newer program has made, or a development version.
    """
    current = _current(connection)
    if current == newest_schema():
        return
    from alembic import command

    config, scripts = _scripts(connection)
    known = {script.revision for script in scripts.walk_revisions()}
    if current is not None and current < min(known):
        raise StorageError(
            tell("this database was made by a development version of hkoji, which this version cannot read"),
            hint=tell("start with a new database; nothing was changed"),
        )
    if current is not None and current not in known:
        raise StorageError(
            tell("the database has schema {current}, which is newer than this program", current=current),
            hint=tell("start it with the newer version of hkoji that made it; nothing was changed"),
        )
    command.upgrade(config, "head")


def migrate_together(connection: Connection) -> None:
    """Upgrades a PostgreSQL database when several processes start at once: one migrates, and the others wait for it.

    They queue at a lock on the table that contains the number of the schema. If that table does not exist yet, one of
    them makes it, in the transaction in which it migrates. Others that try to make it wait for the end of that
    transaction, fail, and look again. A database that is up to date is only read.
    """
    from sqlalchemy.exc import IntegrityError, ProgrammingError

    for left in reversed(range(_TRIES)):
        if _current(connection) == newest_schema():
            connection.rollback()
            return
        connection.rollback()
        try:
            connection.exec_driver_sql(_VERSION)
            connection.exec_driver_sql("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE")
        except (IntegrityError, ProgrammingError):  # another process has just made the table
            connection.rollback()
            if not left:
                raise
            continue
        migrate(connection)
        connection.commit()
        return


def _current(connection: Connection) -> str | None:
    """Returns the number of the database's schema, None if it has none."""
    from sqlalchemy import inspect

    return connection.exec_driver_sql(SCHEMA).scalar() if inspect(connection).has_table(_TABLE) else None


def _scripts(connection: Connection) -> tuple[Config, ScriptDirectory]:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config, ScriptDirectory.from_config(config)
