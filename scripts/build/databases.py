"""Builds the golden database of PostgreSQL in tests/data/databases, with the rows of the SQLite file beside it.

    python -m scripts.build.databases           write the file
    python -m scripts.build.databases --check   fail if the file differs

The schema is that of the revision in the name. The SQLite file was written once, by the program of its time.
`scripts/check` compares the other one.
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
from tests.support.cluster import cluster

_FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "databases"
_REVISION: Final = "0020"


def build() -> dict[str, str]:
    """Returns the dump by the name of its file."""
    old = sqlite3.connect(":memory:")
    old.executescript((_FOLDER / f"v{_REVISION}.sql").read_text())
    with cluster() as server:
        name = server.create()
        engine = create_engine(server.url(name))
        with engine.begin() as connection:
            command.upgrade(_scripts(connection)[0], _REVISION)
        engine.dispose()
        with server.connect(name) as connection:
            # Other tables refer to players and games, so these come first.
            for table in sorted(_tables(connection), key=lambda table: table not in ("player", "game")):
                _copy(old, connection, table)
        dump = server.run("pg_dump", "--no-owner", "--no-privileges", "--inserts", "-d", name)
    old.close()
    # Lines that another version's programs do not understand, or that change with every build.
    dump = re.sub(r"^(\\(un)?restrict .*|SET transaction_timeout.*|-- Dumped .*)\n", "", dump, flags=re.MULTILINE)
    return {f"postgresql-v{_REVISION}.sql": dump}


def _copy(old: sqlite3.Connection, new: psycopg.Connection[tuple[str, ...]], table: str) -> None:
    kinds = {column[1]: column[2] for column in old.execute(f"PRAGMA table_info({table})")}
    columns = ", ".join(f'"{each}"' for each in kinds)
    marks = ", ".join(["%s"] * len(kinds))
    for found in old.execute(f"SELECT {columns} FROM {table}"):
        row = [bool(value) if kind == "BOOLEAN" else value for kind, value in zip(kinds.values(), found, strict=True)]
        new.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)


def _tables(connection: psycopg.Connection[tuple[str, ...]]) -> set[str]:
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    return {row[0] for row in connection.execute(query)} - {"alembic_version"}


if __name__ == "__main__":
    main("databases", _FOLDER, build)
