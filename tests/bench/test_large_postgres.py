"""The benchmarks' rows of large PostgreSQL databases are those that they write into SQLite files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from scripts.bench import large
from scripts.bench.large_postgres import TABLES, enlarge_postgres, fill_postgres
from tests.support.ledger import connected

_SCHEMA = (
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
    " UNION SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
)


def test_rows_are_those_of_sqlite_and_copies_are_as_long(postgres: str, tmp_path: Path) -> None:
    made = large.stock(6)
    plan = large.Plan(games=16, entries=700, players=5, playing=0.3, opened=0.2)
    path = tmp_path / "hkoji.sqlite3"
    assert fill_postgres(postgres, plan, made) == large.fill_sqlite(path, plan, made)
    with connected(postgres) as server, sqlite3.connect(path) as file:
        schema = set(server.execute(_SCHEMA))
        counts = {}
        for table in TABLES:
            found, wanted = (sorted(each.execute(f"SELECT * FROM {table}"), key=str) for each in (server, file))
            assert found == wanted
            counts[table] = len(found)
    file.close()
    enlarge_postgres(postgres, 3)
    with connected(postgres) as server:
        assert set(server.execute(_SCHEMA)) == schema  # all indexes and constraints are back
        for table in TABLES:
            rows = list(server.execute(f"SELECT * FROM {table}".encode()))
            kept = 3 if table == "player" else sum(row[0] in {each.game for each in made} for row in rows)
            assert len(rows) == 3 * (counts[table] - kept) + kept
        strange = "SELECT count(*) FROM entry WHERE position(game in text) = 0 OR position(game in receipt) = 0"
        assert server.execute(strange.encode()).fetchall() == [(0,)]
