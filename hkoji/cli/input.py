"""What commands read: files, standard input, and a yes or no at a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.errors import CancelledError, StorageError, UsageError
from hkoji.messages.text import tell


def is_file(source: str) -> bool:
    """Returns whether FILE|GAME names an existing file, or is `-`."""
    return source == "-" or Path(source).is_file()


def read_input(out: CommandOutput, file: str, limit: int | None = None) -> bytes:
    """Returns the bytes of a file, or of standard input for `-` (in a batch: `UsageError`). Raises `StorageError`."""
    if file == "-" and out.keep:
        raise UsageError(tell("in a batch standard input holds the commands"), hint=tell("give a file"))
    try:
        if file == "-":
            return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
        return Path(file).read_bytes()
    except OSError as error:
        reason = tell("cannot read {file}: {reason}", file=file, reason=error.strerror)
        raise StorageError(reason, hint=tell("give a file, or - for standard input")) from error


def check_standard_input(sources: list[str], *, taken: bool) -> None:
    """Raises `UsageError` if `-` occurs twice, or once while standard input is `taken` by something else."""
    if sources.count("-") > 1 or ("-" in sources and taken):
        raise UsageError(
            tell("standard input can be read only once"), hint=tell("give - only once, and not in a batch")
        )


def confirm(out: CommandOutput, question: str, refused: str, *, yes: bool) -> None:
    """Asks before a step that cannot be taken back, unless `yes`. Raises `CancelledError` with `refused` for a no.

    Without a terminal, and in a batch, nobody can be asked: then it raises `UsageError`.
    """
    if yes:
        return
    if out.keep or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise unconfirmed()
    sys.stderr.write(f"{question} {_('[y/N]')} ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _("y yes").split():
        raise CancelledError(refused, hint=tell("nothing was sent"))


def unconfirmed() -> UsageError:
    """Returns the error for a step that cannot be taken back, where nobody can be asked."""
    return UsageError(
        tell("this cannot be taken back, and there is no terminal to ask for confirmation"),
        hint=tell("nothing was sent; to confirm it, give the command with --yes"),
    )
