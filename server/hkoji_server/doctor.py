"""Checks a service's database and machine. It changes nothing, and the service may be running."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hkoji.doctor_check import DoctorCheck
from hkoji.errors import HkojiError
from hkoji.messages.text import plural, tell
from hkoji_server.service.time.service_time import APART, BEFORE_BEAT
from hkoji_server.settings import load
from hkoji_server.store.location import Location, show_location
from hkoji_server.store.maintenance import Maintenance
from hkoji_server.store.migrate import newest_schema
from hkoji_server.store.open_store import location_of
from hkoji_server.store.sqlite.backup import looks_like_copy

_FILES: Final = 4096
_DAY: Final = 24 * 3600
_NAMED: Final = 3
"""So many of the files that are no backups are named."""
_EDGE: Final = 1024
"""So many bytes at each end tell a dump of PostgreSQL. That of an empty service has more."""
_PACKED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh")
"""How files begin that gzip, zstd, xz and bzip2 have made."""
_SAFE: Final = {
    "journal_mode": ("wal",),
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
}


def examine_service(
    data: Path | None,
    database: str | None = None,
    *,
    backups: Path | None = None,
    clock: Callable[[], float] = time.time,
) -> Iterator[DoctorCheck]:
    """Makes the checks, and yields the result of each at once."""
    location = location_of(load(data=data, database=database))
    try:
        maintenance = Maintenance(location)
    except HkojiError as error:
        yield DoctorCheck("database", "fail", error.message, error.hint)
        return
    with closing(maintenance):
        yield DoctorCheck("database", "ok", show_location(location))
        yield DoctorCheck("schema", "ok", tell("{schema}, the schema of this program", schema=newest_schema()))
        yield _durable(maintenance, location)
        if isinstance(location, Path):
            yield _permissions(location)
            yield _room(location)
        yield _clock(maintenance.newest(), *maintenance.clocks(), clock())
        yield _identity(maintenance)
    yield _backups(backups, location, clock())
    yield _open_files()


def _durable(maintenance: Maintenance, location: Location) -> DoctorCheck:
    settings = maintenance.settings()
    wrong = {name: value for name, value in settings.items() if name in _SAFE and value not in _SAFE[name]}
    shown = ", ".join(f"{name}={value}" for name, value in settings.items())
    if wrong:
        return DoctorCheck(
            "durability",
            "fail",
            tell("acknowledged moves are not safe: {settings}", settings=shown),
            tell("set {names} as the documentation says, and restart", names=", ".join(wrong)),
        )
    if isinstance(location, Path):
        shown = f"{shown}, synchronous=FULL"  # the service sets it on each connection, and reads it back
    return DoctorCheck("durability", "ok", shown)


def _permissions(file: Path) -> DoctorCheck:
    if os.name == "nt":
        return DoctorCheck("permissions", "ok", tell("not checked on this system"))
    parts = [file.parent, *(path for path in file.parent.glob("hkoji*.sqlite3*"))]
    open_ = [path for path in parts if path.stat().st_mode & 0o077]
    files = [path for path in open_ if path.is_file()]
    if not open_:
        return DoctorCheck(
            "permissions", "ok", tell("only its owner can read the database, which contains the private key")
        )
    named = " ".join(map(str, open_))
    return DoctorCheck(
        "permissions",
        "fail" if files and file.parent in open_ else "warn",
        tell("others on this machine can read {files}", files=named),
        f"chmod go-rwx {named}",
    )


def _room(file: Path) -> DoctorCheck:
    free, size = shutil.disk_usage(file.parent).free, file.stat().st_size
    shown = tell("{megabytes} MB are free, the database has {size} MB", megabytes=free // 10**6, size=size // 10**6)
    if free < 100 * 10**6:
        return DoctorCheck("disk", "fail", shown, tell("free some space: on a full disk no move can be saved"))
    if free < 2 * size:
        return DoctorCheck("disk", "warn", shown, tell("there is not enough space for a copy of the database"))
    return DoctorCheck("disk", "ok", shown)


def _clock(newest: str | None, beat: str | None, theirs: datetime | None, now: float) -> DoctorCheck:
    """Compares the clock with the last receipt, the last beat and the clock of the database.

    Receipts keep the time of the last one until the clock has passed it. A service that cannot trust its clock takes no
    entries.
    """
    shown = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if _seconds(newest) > now + 2:
        return DoctorCheck(
            "clock",
            "fail",
            tell("the clock shows {now}, but the last receipt is from {last}", now=shown, last=newest),
            tell("set the clock by NTP; until then receipts keep the later time"),
        )
    if _seconds(beat) > now + BEFORE_BEAT:
        return DoctorCheck(
            "clock",
            "fail",
            tell("the clock shows {now}, but the service ran at {beat} already", now=shown, beat=beat),
            tell("set the clock by NTP; until then the service takes no entries"),
        )
    if theirs is not None and abs(theirs.timestamp() - now) > APART:
        return DoctorCheck(
            "clock",
            "fail",
            tell(
                "the clock shows {now}, and that of the database {theirs}",
                now=shown,
                theirs=theirs.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            ),
            tell("set both clocks by NTP; until then the service takes no entries"),
        )
    return DoctorCheck("clock", "ok", tell("{now}, after the last receipt", now=shown))


def _seconds(time: str | None) -> float:
    return datetime.fromisoformat(time).timestamp() if time else 0.0


def _identity(maintenance: Maintenance) -> DoctorCheck:
    identity = maintenance.identity()
    if identity is None:
        return DoctorCheck("origin", "warn", tell("the service has never been started"), "hkoji serve")
    origin = identity[1]
    if origin.startswith("https://"):
        return DoctorCheck("origin", "ok", origin)
    return DoctorCheck(
        "origin",
        "warn",
        tell("players sign the origin {origin}, which is not https", origin=origin),
        tell("on the internet, use TLS, and set --origin https://… before players register"),
    )


def _backups(folder: Path | None, location: Location, now: float) -> DoctorCheck:
    hint = tell("run hkoji admin backup FOLDER every day, and keep the copies on another machine")
    if folder is None:
        return DoctorCheck("backups", "warn", tell("their age is not known; give their folder with --backups"), hint)
    # Unfinished copies have names that begin with a dot. A file is a copy itself.
    files = [path for path in (folder.glob("[!.]*") if folder.is_dir() else (folder,)) if path.is_file()]
    is_copy = looks_like_copy if isinstance(location, Path) else _looks_like_dump
    copies = {path for path in files if is_copy(path) or _is_packed(path)}
    if copies:
        age = now - max(path.stat().st_mtime for path in copies)
        said = tell("the last backup is {hours} h old", hours=int(age // 3600))
    else:
        age = math.inf
        said = tell("no backup found in the folder {folder}", folder=folder)
    others = sorted(path.name for path in files if path not in copies)
    if others:
        names = ", ".join(others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
        said = plural(
            "{said}; {n} file is no backup that can be read: {names}",
            "{said}; {n} files are no backups that can be read: {names}",
            len(others),
            said=said,
            names=names,
        )
    if age < 2 * _DAY and not others:
        return DoctorCheck("backups", "ok", said)
    if age < 2 * _DAY:
        hint = tell("make another backup with hkoji admin backup, and remove the files that are none")
    return DoctorCheck("backups", "warn" if copies else "fail", said, hint)


def _is_packed(path: Path) -> bool:
    """Reports whether a file is compressed. Its content is not looked at."""
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, _PACKED))).startswith(_PACKED)
    except OSError:
        return False


def _looks_like_dump(path: Path) -> bool:
    """Reports whether a file has the form of pg_dump's: the custom one, or a text that is complete."""
    try:
        with path.open("rb") as file:
            head = file.read(_EDGE)
            file.seek(max(0, path.stat().st_size - _EDGE))
            tail = file.read()
    except OSError:
        return False
    # A custom dump has its version and its list of contents after the five letters.
    return (head.startswith(b"PGDMP") and len(head) == _EDGE) or (
        b"-- PostgreSQL database " in head and b"dump complete" in tail
    )


def _open_files() -> DoctorCheck:
    if sys.platform == "win32":
        return DoctorCheck("open files", "ok", tell("not checked on this system"))
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = tell("a process may open {most} files; each connection counts as one", most=most)
    if most != resource.RLIM_INFINITY and most < _FILES:
        return DoctorCheck(
            "open files", "warn", shown, tell("raise the limit: LimitNOFILE= in the unit, or ulimit -Hn")
        )
    return DoctorCheck("open files", "ok", shown)
