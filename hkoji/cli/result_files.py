"""Files into which a command writes its result. One that exists is replaced only if the user says so."""

from __future__ import annotations

import os
from pathlib import Path

from hkoji.drafts import new_part
from hkoji.errors import ExistsError, StorageError
from hkoji.messages.text import tell


def write_result(file: str, data: bytes, *, force: bool, private: bool = False) -> None:
    """Writes a result into a file, for its owner alone if `private`. Raises `ExistsError` and `StorageError`.

    With `force` a file that exists is replaced, completely or not at all. A device or a pipe is written to.
    """
    path = Path(file)
    mode = 0o600 if private else 0o666
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        elif force:
            target = path.resolve()
            draft = new_part(target)
            _make(draft, data, mode)
            draft.replace(target)
        else:
            _make(path, data, mode)
    except FileExistsError as error:
        hint = tell("nothing was written: give another name, or --force to replace the file")
        raise ExistsError(tell("the file"), file, hint=hint) from error
    except OSError as error:
        raise StorageError(
            tell("cannot write {file}: {reason}", file=file, reason=error.strerror),
            hint=tell("give a file in a folder that you may write to"),
        ) from error


def _make(path: Path, data: bytes, mode: int) -> None:
    """Makes a new file; leaves none behind that is incomplete. Raises `OSError`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as made:
            made.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
