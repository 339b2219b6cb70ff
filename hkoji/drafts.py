"""Drafts: files that are written beside their place, and get its name once they are complete.

A process that is killed leaves its draft behind. So the next process that makes one removes those of processes that are
gone. This stands alone, because both packages, the player's and the service's, need it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,6}")
_PART: Final = re.compile(r"\..+\.([0-9]+)\.part(?:-wal|-shm|-journal)?")
"""The name of a part, or of a file that SQLite makes beside it."""


def new_draft(path: Path) -> Path:
    """Returns where this process writes the next content of `path`, after removing earlier drafts of it.

    It is for the program's own folders: in another one, a user may have given a file of theirs such a name.
    """
    start = f".{path.name}."
    for name in _names(path.parent):
        if name.startswith(start) and is_left_behind(name[len(start) :]):
            _remove(path.parent / name)
    return path.with_name(f"{start}{os.getpid()}")


def new_part(path: Path) -> Path:
    """Returns where this process writes `path` in a folder of the user's, after removing all parts left there.

    Their names say that they are parts, and the next file has another name: backups are named after their time.
    """
    for name in _names(path.parent):
        part = _PART.fullmatch(name)
        if part is not None and is_left_behind(part[1]):
            _remove(path.parent / name)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def new_folder(kind: str) -> Path:
    """Makes a folder for temporary files of this process, after removing those of its kind that were left behind."""
    import shutil
    import tempfile

    start = f"hkoji-{kind}-"
    base = Path(tempfile.gettempdir())
    for name in _names(base):
        if name.startswith(start) and is_left_behind(name[len(start) :].partition("-")[0]):
            shutil.rmtree(base / name, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{start}{os.getpid()}-"))


def is_left_behind(number: str) -> bool:
    """Returns whether what is marked with the number of a process belongs to one that is gone.

    A file with this process's number counts too: this process has not made it yet, and in a container each process may
    have the same number.
    """
    if not _NUMBER.fullmatch(number):
        return False
    if int(number) == os.getpid():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        return False
    return False


def _names(folder: Path) -> list[str]:
    with suppress(OSError):  # whoever writes there says what is wrong
        return os.listdir(folder)
    return []


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
