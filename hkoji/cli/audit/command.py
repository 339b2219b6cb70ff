"""`hkoji audit`: decides whether its arguments name one log or many, and audits them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hkoji.audit.keyring import ExpectedKeys
from hkoji.cli.audit import report
from hkoji.cli.audit.expected_keys import read_expected_keys
from hkoji.cli.audit.second_thread import map_in_two_threads
from hkoji.cli.exits import Exit
from hkoji.cli.input import check_standard_input, is_file
from hkoji.cli.log_files import UnreadableLog
from hkoji.cli.output import CommandOutput
from hkoji.errors import StorageError, UsageError
from hkoji.log.signatures import use_fastest
from hkoji.messages.text import tell
from hkoji.processors import processors

if TYPE_CHECKING:
    from hkoji.client import Client


class AuditOptions(NamedTuple):
    """The options: `NAME=KEY`s, files of keys, how many processes (by default one for each processor), the clock."""

    keys: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    jobs: int | None = None
    clock: bool = False


def run(client: Callable[[], Client], out: CommandOutput, sources: list[str], wish: AuditOptions) -> int:
    """Audits a log, a game or an archive. Returns the exit code; raises `AuditError` if something does not hold."""
    pins = read_expected_keys(wish.keys, wish.files)
    check_standard_input(sources, taken=out.keep)
    # Standard input may come log by log, and is then also answered log by log.
    several = len(sources) > 1 or Path(sources[0]).is_dir()
    if wish.clock and several:
        raise _one_log()
    jobs = wish.jobs or (1 if "-" in sources else processors())
    if several:
        from hkoji.cli.audit.many_logs import show_archive

        use_fastest()
        return show_archive(out, sources, pins, jobs)
    source = sources[0]
    if not is_file(source):
        report.show_game_audit(client(), out, source, pins, clock=wish.clock)
        return Exit.OK
    use_fastest()
    return _show_file(out, source, pins, jobs, clock=wish.clock)


def _one_log() -> UsageError:
    return UsageError(tell("--clock is for one log"), hint=tell("give one log or game, or leave --clock out"))


def _show_file(out: CommandOutput, file: str, pins: ExpectedKeys, jobs: int, *, clock: bool) -> int:
    """Audits a file, which is read until it is known whether it holds one log or more."""
    from hkoji.cli.log_files import read_all

    found = read_all((file,))
    first = next(found)
    second = next(found, None)
    if second is not None:
        if clock:
            raise _one_log()
        from hkoji.cli.audit.many_logs import show_logs

        return show_logs(out, chain((first, second), found), pins, jobs)
    if isinstance(first, UnreadableLog):
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=first.reason),
            hint=tell("give a file, or - for standard input"),
        )
    in_threads = map_in_two_threads if processors() > 1 else map
    report.show_audit(out, first.text, pins, clock=clock, map_checks=in_threads)
    return Exit.OK
