"""Files that a player cannot afford to lose: for their owner only, replaced atomically or added to, and locked.

A new file is synced and renamed over the old one, and then its folder is synced, so a crash leaves the old file or the
new one. A file of lines is added to, which takes one sync, and no time that grows with the file. POSIX: `flock` keeps
two commands apart, file modes keep two users apart.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hkoji.drafts import new_draft
from hkoji.errors import InvalidError, StorageError
from hkoji.messages.text import tell

_UNCHANGED: Final = tell("nothing was sent or changed; make room or fix the permissions, and give the command again")
_RESTORE: Final = tell("restore the file from a backup")


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, each for its owner only, durably. Raises `StorageError`."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync(folder.parent)
    except OSError as error:
        raise StorageError(
            tell("cannot make {folder}: {reason}", folder=folder, reason=error.strerror), hint=_UNCHANGED
        ) from error


def write_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Writes a file atomically and durably. Raises `StorageError`; the old file stays then.

    Without `durable` nothing is synced: if the power fails, the old file, the new one or an empty one may be there.
    It never takes the place of a device or a pipe, such as /dev/null.
    """
    if path.exists() and not path.is_file():
        raise StorageError(tell("{path} is not a regular file", path=path), hint=_UNCHANGED)
    make_folder(path.parent)
    temporary = new_draft(path)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            _sync(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(
            tell("cannot write {path}: {reason}", path=path, reason=error.strerror), hint=_UNCHANGED
        ) from error


def append_lines(path: Path, lines: bytes, *, durable: bool = True) -> bool:
    """Adds lines, each with its LF, at the end of a file. Raises `StorageError`; the file is then as before.

    A crash can leave a part of them, as far as a torn last line, which has no LF. Readers leave it out (`whole_lines`),
    and the next addition takes its place. Returns whether these lines did so. Without `durable` the lines may be lost
    if the power fails.
    """
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            before = os.fstat(handle).st_size
            size = _end_of_lines(handle)
            try:
                left = memoryview(lines)
                while left:
                    left = left[os.write(handle, left) :]
                if durable:
                    os.fdatasync(handle)  # it includes the new size
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
        if durable and not size:
            _sync(path.parent)  # the file may be new
    except OSError as error:
        raise StorageError(
            tell("cannot write {path}: {reason}", path=path, reason=error.strerror), hint=_UNCHANGED
        ) from error
    return size != before


def _end_of_lines(handle: int) -> int:
    """Returns the size of a file without a torn last line, which is cut off."""
    size = end = os.fstat(handle).st_size
    if not size or os.pread(handle, 1, size - 1) == b"\n":
        return size
    while end:
        start = max(0, end - 65_536)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    os.ftruncate(handle, end)
    return end


def whole_lines(data: bytes) -> bytes:
    """Returns the content of a file of lines without a torn last line."""
    return data if data.endswith(b"\n") else data[: data.rfind(b"\n") + 1]


def remove_file(path: Path) -> None:
    """Removes a file, if it is there, durably."""
    try:
        path.unlink()
        _sync(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(
            tell("cannot remove {path}: {reason}", path=path, reason=error.strerror), hint=tell("remove it by hand")
        ) from error


def write_json(path: Path, value: Mapping[str, Any], *, durable: bool = True) -> None:  # Any: JSON
    """Writes an object as JSON, like `write_file`."""
    write_file(path, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode(), durable=durable)


def read_json(path: Path) -> dict[str, Any]:  # Any: JSON
    """Returns the object in a file; an empty one if there is no file. Raises `StorageError` if it cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, error) from error
    if not isinstance(value, dict):
        raise damaged(path)
    return value


def damaged(path: Path) -> StorageError:
    """Returns the error for a file that can be read but does not hold what was written."""
    return StorageError(tell("{path} is damaged", path=path), hint=_RESTORE)


def unreadable(path: Path, reason: object, hint: str = "") -> StorageError:
    """Returns the error for a file that cannot be read."""
    return StorageError(tell("cannot read {path}: {reason}", path=path, reason=reason), hint=hint or _RESTORE)


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Raises `StorageError` if the block, which reads what `path` holds, finds that it has another form."""
    try:
        yield
    except (InvalidError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise damaged(path) from error


def text_in(path: Path, values: Mapping[str, Any], name: str) -> str | None:  # Any: JSON
    """Returns the text under a name in what `path` holds; None if there is none. Raises `StorageError`."""
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise damaged(path)
    return value


def text_or_none(value: object) -> str | None:
    """Returns a value that is text or None. Raises `TypeError`: see `intact`."""
    if value is not None and not isinstance(value, str):
        raise TypeError("it is not text")
    return value


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes that lock `folder` too from changing it while the block runs. Must not be nested."""
    try:
        handle = _open_lock(folder)
    except OSError as error:
        raise StorageError(
            tell("cannot use {folder}: {reason}", folder=folder, reason=error.strerror),
            hint=_UNCHANGED,
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _open_lock(folder: Path) -> int:
    file = f"{folder}/lock"
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    except FileNotFoundError:
        make_folder(folder)
        return os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
