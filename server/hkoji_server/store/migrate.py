"""Bringing a database to the schema of this program, forwards only."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from hkoji.errors import StorageError

_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> None:
    """Upgrades to the newest schema. Raises `StorageError` for a database that a newer program has made."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    current = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise StorageError(
            f"the database has schema {current}, which is newer than this program",
            hint="start it with the newer version of hkoji that made it; nothing was changed",
        )
    command.upgrade(config, "head")
