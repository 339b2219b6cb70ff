"""Files that have a password for a mail server."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji_server.settings import PREFIX


def read_password(file: Path | None, setting: str) -> str | None:
    """Returns the first line of the password file for `setting`, None without a file.

    Raises `UsageError` if it cannot be read, the line is empty, or other users may read the file.
    """
    if file is None:
        return None
    try:
        others = is_open_to_others(file)
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else tell("it is not UTF-8")
        raise UsageError(
            tell("cannot read {file}: {reason}", file=file, reason=reason),
            hint=tell(
                "write the password for {setting} into its first line, or name another file by {variable}; nothing was "
                "started",
                setting=setting,
                variable=f"{PREFIX}{setting.upper()}_PASSWORD_FILE",
            ),
        ) from error
    if others:
        raise UsageError(
            tell("other users of this machine may read {file}", file=file),
            hint=tell("let only the service read it, as with chmod 600; nothing was started"),
        )
    if not lines or not lines[0]:
        raise UsageError(
            tell("the first line of {file} is empty", file=file),
            hint=tell("it has to be the password for {setting}; nothing was started", setting=setting),
        )
    return lines[0]


def is_open_to_others(file: Path) -> bool:
    """Whether users of the machine who are neither its owner nor of its group may read or change a file.

    Raises `OSError`.
    """
    return os.name == "posix" and bool(file.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))
