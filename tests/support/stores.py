"""Stores of both databases, opened for a block, and the golden databases of earlier versions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.store import PostgresStore, open_postgres
from hkoji_server.store.sqlite.store import SqliteStore

from tests.support import compiled_statements
from tests.support.loops import run

compiled_statements.share()

DATABASES: Final = Path(__file__).parents[1] / "data" / "databases"


@contextmanager
def sqlite_at(path: Path) -> Iterator[SqliteStore]:
    """A store on a file."""
    store = SqliteStore(path)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def postgres_at(url: str) -> Iterator[PostgresStore]:
    """A store in a database of a PostgreSQL server."""
    store = run(open_postgres(parse_location(url)))
    try:
        yield store
    finally:
        run(store.close())
