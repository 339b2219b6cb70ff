"""Builds the databases of tests/data/databases on PostgreSQL, with the same data as the SQLite files beside them.

    python -m scripts.build.databases           write the files
    python -m scripts.build.databases --check   fail if a file differs

`v0001.sql` is the database of an early service with a game, which is refused, and `players-v0007.sql` that of a later
one with players only, which is brought forward. The schema is that of the migration in the name; the rows are those of
the SQLite file. The SQLite files were written once, by the programs of their time; `scripts/check` compares the others.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

import psycopg
from alembic import command
from hkoji_server.store.migrate import _scripts
from sqlalchemy import create_engine

from scripts.build.golden import main
from tests.support.cluster import Cluster, cluster

_FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "databases"
_BUILT: Final = {"v0001": "0001", "players-v0007": "0007"}
"""The revision of each database, by the name of its file."""


def build() -> dict[str, str]:
    """Returns the dumps by the names of their files."""
    with cluster() as server:
        return {f"postgresql-{name}.sql": _dump(server, name, revision) for name, revision in _BUILT.items()}


def _dump(server: Cluster, stem: str, revision: str) -> str:
    old = sqlite3.connect(":memory:")
    old.executescript((_FOLDER / f"{stem}.sql").read_text())
    name = server.create()
    engine = create_engine(server.url(name))
    with engine.begin() as connection:
        command.upgrade(_scripts(connection)[0], revision)
    engine.dispose()
    with server.connect(name) as connection:
        # Entries, openings and secrets refer to games, so games come first.
        tables = sorted(_tables(connection) - {"alembic_version"}, key=lambda table: table != "game")
        for table in tables:
            names = [column[1] for column in old.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join(f'"{each}"' for each in names)
            flags = [place for place, each in enumerate(names) if (table, each) == ("retired", "revoked")]
            for found in old.execute(f"SELECT {columns} FROM {table}"):
                row = [bool(value) if place in flags else value for place, value in enumerate(found)]
                marks = ", ".join(["%s"] * len(row))
                connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)
    old.close()
    dump = server.run("pg_dump", "--no-owner", "--no-privileges", "--inserts", "-d", name)
    # Lines that another version's programs do not understand, or that change with every build.
    return re.sub(r"^(\\(un)?restrict .*|SET transaction_timeout.*|-- Dumped .*)\n", "", dump, flags=re.MULTILINE)


def _tables(connection: psycopg.Connection[tuple[str, ...]]) -> set[str]:
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    return {row[0] for row in connection.execute(query)}


if __name__ == "__main__":
    main("databases", _FOLDER, build)
