"""Files of commands: logs, which are found in folders and split as bytes, and files into which a result is written.

docs/spec/log.md, "Archives". A file may hold several logs, one after the other; each begins with an entry 0. A line
that repeats the line before it does not begin a log: a log whose first line occurs twice is one invalid log, not two
valid ones. At most one log of a file is in memory, and at most `MAX_LOG_BYTES` of it. Logs are not parsed here.
A file that exists is replaced only if the user says so."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from hkoji.audit.evidence_file import is_evidence
from hkoji.drafts import new_part
from hkoji.errors import ExistsError, StorageError
from hkoji.log.line import MAX_LINE_BYTES
from hkoji.messages.text import tell

MAX_LOG_BYTES: Final = 2**26
"""The most that is read of one log; a long game has a thousandth of it."""

# An entry's text ends with its seq and its version. Only there are they followed by a brace and an unescaped quote.
_BEGINS: Final = re.compile(rb'\{"entry":"[^\n]*\\"seq\\":0,\\"v\\":[0-9]+\}",')


class UnreadableLog(NamedTuple):
    """A log that is not counted: `read` is False if it could not be read, True if it is invalid."""

    file: str
    line: int
    """From 1; 0 for the file as a whole."""
    read: bool
    reason: str


class LogBytes(NamedTuple):
    """The text of one log, as it stands in `file` from `line` (from 1) on."""

    file: str
    line: int
    text: bytes


def log_files(sources: Iterable[str]) -> Iterator[str]:
    """Yields the log files of sources, in order; for a folder, all `*.jsonl` in it and below, by name.

    A folder that cannot be listed is yielded like a file, so that opening it reports the reason.
    """
    return chain.from_iterable(map(_files, sources))


def _files(source: str) -> Iterator[str]:
    if source == "-" or not Path(source).is_dir():
        yield source
        return
    failed: list[OSError] = []
    for folder, below, names in os.walk(source, onerror=failed.append):
        below.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl"))
    yield from (str(error.filename) for error in failed)


def read_all(files: Iterable[str]) -> Iterator[LogBytes | UnreadableLog]:
    """Yields the logs of all files (`-` is standard input), and problems where one cannot be read."""
    for file in files:
        try:
            if file == "-":
                yield from split(sys.stdin.buffer, file)
                continue
            with open(file, "rb") as stream:
                yield from split(stream, file)
        except OSError as error:
            yield UnreadableLog(file, 0, False, error.strerror or tell("it cannot be read"))


def split(stream: BinaryIO, file: str, limit: int = MAX_LOG_BYTES) -> Iterator[LogBytes | UnreadableLog]:
    """Yields the logs of a stream, one at a time; one log without text if the stream is empty.

    The rest of a stream is skipped after a line that is too long, and after a log that is longer than `limit`.
    """
    lines: list[bytes] = []
    start, size, number = 1, 0, 0
    while line := stream.readline(MAX_LINE_BYTES + 2):
        number += 1
        if lines and _begins(line, lines[-1]):
            yield LogBytes(file, start, b"".join(lines))
            lines, start, size = [], number, 0
        lines.append(line)
        size += len(line)
        if size > limit:
            yield UnreadableLog(file, start, False, tell("a log of more than {limit} bytes is not read", limit=limit))
            return
        if len(line) > MAX_LINE_BYTES + 1:
            lines.append(b"\n")  # so that the line is reported as too long, not as one without an end
            break
    yield LogBytes(file, start, b"".join(lines))


def _begins(line: bytes, before: bytes) -> bool:
    """Returns whether a log or a file of evidence begins with `line`, which follows the line `before`."""
    if line == before:
        return False
    return is_evidence(line) or (_BEGINS.match(line) is not None and not is_evidence(before))


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
