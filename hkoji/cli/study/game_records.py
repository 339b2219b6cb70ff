"""Reads the games of many logs for statistics: from files, folders and standard input, in one or more processes.

Only the record of a log is kept, so memory is bounded by the largest game. Unreadable and invalid logs are reported,
and reading continues. Files are split into logs as for an audit (`hkoji.cli.log_files`). Signatures are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from hkoji.cli.log_files import LogBytes, UnreadableLog, log_files, read_all
from hkoji.cli.processes import map_in_processes
from hkoji.errors import HkojiError
from hkoji.game.replay import replay
from hkoji.log.line import Line, parse_line
from hkoji.messages.text import tell
from hkoji.rules.transcript import format_ruleset
from hkoji.study.tally import GameRecord, record

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
    return read_logs(read_all((file,)))


def read_logs(logs: Iterable[LogBytes | UnreadableLog]) -> Iterator[GameOrProblem]:
    """Yields the games of the logs of one file. After a log that cannot be read the rest of the file is skipped."""
    for log in logs:
        found = log if isinstance(log, UnreadableLog) else _read(log)
        yield found
        if isinstance(found, UnreadableLog) and not found.read:
            return


def _read(log: LogBytes) -> GameOrProblem:
    if not log.text:
        return UnreadableLog(log.file, 0, False, tell("it is empty"))
    *texts, rest = log.text.decode("latin-1").split("\n")
    lines: list[Line] = []
    for number, text in enumerate(texts, log.line):
        try:
            lines.append(parse_line(text))
        except HkojiError as error:
            return UnreadableLog(log.file, number, False, str(error))
    if rest:
        reason = tell("it does not end in LF: the file is cut short")
        return UnreadableLog(log.file, log.line + len(texts), False, reason)
    return _game(lines, log.file, log.line)


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
