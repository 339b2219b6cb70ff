"""Copies of an SQLite database: making one while a service may be writing, and restoring one.

The copy is made by SQLite's own backup in one read transaction. So it is of one moment, and contains everything that
was acknowledged before. A copy appears under its name only when it is complete, synced and verified. No existing file
is ever replaced.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from hkoji.drafts import new_part
from hkoji.errors import ExistsError, NotFoundError, StorageError
from hkoji.messages.text import plural, tell
from hkoji_server.store.migrate import newest_schema

_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
# Fails for a file that is no database of a service, or that was cut off: SQLite compares its size with its header.
_KIND: Final = (
    "SELECT version_num, (SELECT count(*) FROM (SELECT 1 FROM service, game, entry LIMIT 1)) FROM alembic_version"
)
# Counts the games whose summary and log disagree about the last entry.
_TORN: Final = """
SELECT count(*) FROM game LEFT JOIN entry ON entry.game = game.game AND entry.seq = game.seq
WHERE entry.text IS NULL
   OR EXISTS (SELECT 1 FROM entry AS later WHERE later.game = game.game AND later.seq > game.seq)"""


def copy(source: Path, target: Path) -> None:
    """Copies the database `source` to the new file `target`, which only its owner may read.

    Raises `ExistsError` if there is a file already, `NotFoundError` or `StorageError`. Then there is no new file.
    """
    for suffix in _SUFFIXES:
        if os.path.lexists(f"{target}{suffix}"):
            raise ExistsError(tell("file"), f"{target}{suffix}", hint=tell("nothing was changed; choose another name"))
    if not source.is_file():
        raise NotFoundError(tell("database"), str(source))
    part = new_part(target)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            _copy(source, part)
            verify(part, source)
            _sync(part)  # before it gets its name: after a power cut, a file of that name is complete
            os.link(part, target)  # unlike a rename, a link fails if the name is taken
        finally:
            for suffix in _SUFFIXES:
                with suppress(FileNotFoundError):
                    os.unlink(f"{part}{suffix}")
        _sync(target.parent)
    except FileExistsError as error:
        raise ExistsError(tell("file"), str(target), hint=tell("nothing was changed; choose another name")) from error
    except (OSError, sqlite3.Error) as error:
        raise StorageError(
            tell("cannot copy {source} to {target}: {reason}", source=source, target=target, reason=_reason(error)),
            hint=tell("nothing was changed, and there is no copy"),
        ) from error


def verify(path: Path, source: Path | None = None) -> None:
    """Checks a copy: its pages, its schema, and the last entry of each game. Raises `StorageError`.

    If it is a new copy of `source`, the error names `source`, because the copy has the faults of its source.
    """
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as database:
            found = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
            schema = database.execute("SELECT version_num FROM alembic_version").fetchone()
            torn = database.execute(_TORN).fetchone()[0]
    except sqlite3.Error as error:
        found, schema, torn = str(error), None, 0
    if found != "ok" or torn:
        lost = plural("the last entry of {n} game is missing", "the last entries of {n} games are missing", torn)
        reason = found if found != "ok" else lost
        raise StorageError(
            tell("{path} is damaged: {reason}", path=source or path, reason=reason),
            hint=tell("nothing was changed, and there is no copy")
            if source
            else tell("nothing was changed; use another copy"),
        )
    if not schema or schema[0] > newest_schema():
        raise StorageError(
            tell("{path} was made by a newer program", path=source or path),
            hint=tell("nothing was changed; use the program that made it"),
        )


def looks_like_copy(path: Path) -> bool:
    """Reports whether a file is a service's database that can be read. It reads only a little, and changes nothing."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return database.execute(_KIND).fetchone() is not None
    except sqlite3.Error:
        return False


def _copy(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(_uri(source), uri=True, timeout=30)) as old,
        closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        new.execute("PRAGMA synchronous = FULL")
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")  # so that the copy is one file, without a write-ahead log beside it


def _uri(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=rw"


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot sync a folder
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
