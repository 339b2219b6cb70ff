"""A database without rows, made once and copied: for tests that need one and are not about how it is made.

Making one runs all migrations, which takes longer than most tests.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hkoji_server.store.sqlite.store import SqliteStore


def copy_new_database(path: Path) -> None:
    """Puts a database without rows at `path`, unless there is a file."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(_new_database())


@cache
def _new_database() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hkoji.sqlite3"
        SqliteStore(path).close()
        return path.read_bytes()
