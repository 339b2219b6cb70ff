"""Reads the games of many logs for statistics: from files, folders and standard input, in one or more processes.

Only the record of a log is kept, so memory is bounded by the largest game. Unreadable and invalid logs are reported,
and reading continues. Signatures are not checked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import BinaryIO, Final

from hkoji.cli.log_files import UnreadableLog, log_files
from hkoji.cli.processes import map_in_processes
from hkoji.errors import HkojiError
from hkoji.game.replay import replay
from hkoji.log.line import MAX_LINE_BYTES, Line, parse_line
from hkoji.messages.text import tell
from hkoji.rules.transcript import format_ruleset
from hkoji.study.game_record import GameRecord, record

_CHUNK: Final = 16
_PLAY_BEGINS: Final = "join"


GameOrProblem = GameRecord | UnreadableLog


def read_games(sources: Iterable[str], jobs: int = 1) -> Iterator[GameOrProblem]:
    """Yields every log's record or problem, in the order of the sources whatever `jobs` is. `-` is standard input."""
    files = log_files(sources)
    if jobs == 1:
        for file in files:
            yield from read_file(file)
        return
    groups = iter(lambda: tuple(islice(files, _CHUNK)), ())
    yield from map_in_processes(groups, _read_files, jobs, here=lambda group: "-" in group)


def _read_files(files: Iterable[str]) -> list[GameOrProblem]:
    return [found for file in files for found in read_file(file)]


def read_file(file: str) -> Iterator[GameOrProblem]:
    """Yields the games of one file, which may hold several logs one after the other."""
    try:
        if file == "-":
            yield from read_logs(sys.stdin.buffer, file)
            return
        with open(file, "rb") as stream:
            yield from read_logs(stream, file)
    except OSError as error:
        yield UnreadableLog(file, 0, False, error.strerror or tell("it cannot be read"))


def read_logs(stream: BinaryIO, file: str) -> Iterator[GameOrProblem]:
    """Yields the games of a stream. After an unreadable line the rest of the stream is skipped."""
    lines: list[Line] = []
    start = number = 0
    # Limited: a line without an end must not be read as a whole.
    while text := stream.readline(MAX_LINE_BYTES + 2):
        number += 1
        try:
            if not text.endswith(b"\n"):
                yield UnreadableLog(file, number, False, tell("it does not end in LF: the file is cut short"))
                return
            line = parse_line(text[:-1].decode("latin-1"))
        except HkojiError as error:
            yield UnreadableLog(file, number, False, str(error))
            return
        if line.entry.seq == 0 and lines:
            yield _game(lines, file, start)
            lines = []
        if not lines:
            start = number
        lines.append(line)
    yield _game(lines, file, start) if lines else UnreadableLog(file, 0, False, "it is empty")


def _game(lines: list[Line], file: str, start: int) -> GameOrProblem:
    result = replay(lines)
    if result.stop is not None:
        return UnreadableLog(file, start + len(result.steps), True, str(result.stop))
    return record(result, format_ruleset(result.steps[-1].course.setup.ruleset), _seconds(lines))


def _seconds(lines: list[Line]) -> int | None:
    """Returns the time from the guest's joining to the last entry, by their receipts; None without receipts."""
    joined = next((line.receipt for line in lines if line.entry.kind == _PLAY_BEGINS), None)
    last = lines[-1].receipt
    if joined is None or last is None:
        return None
    first, final = (datetime.fromisoformat(each.receipt.at) for each in (joined, last))
    return max(0, int((final - first).total_seconds()))
