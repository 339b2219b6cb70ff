"""Databases made once in a process and copied: for tests that need one and are not about how it is made.

Making one runs all migrations, which takes longer than most tests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Final

from hkoji_server.store.sqlite.store import SqliteStore


def copy_new_database(path: Path, fill: Callable[[SqliteStore], object] | None = None) -> None:
    """Puts a database at `path`, unless there is a file: without rows, or with those that `fill` writes.

    `fill` is called once in a process, so it has to write the same each time.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with _LOCK:
            made = _new_database() if fill is None else _filled_database(fill)
        path.write_bytes(made)


_LOCK: Final = RLock()
"""Of several threads that want the first database, one makes it."""


@cache
def _new_database() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hkoji.sqlite3"
        SqliteStore(path).close()
        return path.read_bytes()


@cache
def _filled_database(fill: Callable[[SqliteStore], object]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hkoji.sqlite3"
        copy_new_database(path)
        store = SqliteStore(path)
        try:
            fill(store)
        finally:
            store.close()
        return path.read_bytes()
