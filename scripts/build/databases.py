"""Builds tests/data/databases/postgresql-v0001.sql: the data of the service of v0001.sql on PostgreSQL.

    python -m scripts.build.databases           write the file
    python -m scripts.build.databases --check   fail if the file differs

The schema is that of the first migration; the rows are those of the SQLite file. The file was written once, when that
schema was released; `scripts/check` runs the comparison.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

from alembic import command
from hkoji_server.store.migrate import _scripts
from sqlalchemy import create_engine

from scripts.build.golden import main
from tests.support.cluster import cluster

_FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "databases"
_TABLES: Final = ("service", "player", "challenge", "token", "game", "secret", "entry", "opening")


def build() -> dict[str, str]:
    """Returns the dump by the name of its file."""
    old = sqlite3.connect(":memory:")
    old.executescript((_FOLDER / "v0001.sql").read_text())
    with cluster() as server:
        name = server.create()
        engine = create_engine(server.url(name))
        with engine.begin() as connection:
            command.upgrade(_scripts(connection)[0], "0001")
        engine.dispose()
        with server.connect(name) as connection:
            for table in _TABLES:
                for row in old.execute(f"SELECT * FROM {table}"):
                    marks = ", ".join(["%s"] * len(row))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        dump = server.run("pg_dump", "--no-owner", "--no-privileges", "--inserts", "-d", name)
    # Lines that another version's programs do not understand, or that change with every build.
    dump = re.sub(r"^(\\(un)?restrict .*|SET transaction_timeout.*|-- Dumped .*)\n", "", dump, flags=re.MULTILINE)
    return {"postgresql-v0001.sql": dump}


if __name__ == "__main__":
    main("databases", _FOLDER, build)
