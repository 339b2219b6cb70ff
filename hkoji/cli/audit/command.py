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
    from hkoji.cli.audit.mail_checks import MailWish
    from hkoji.cli.audit.required_grade import RequiredGrade
    from hkoji.client import Client


class AuditOptions(NamedTuple):
    """The options: `NAME=KEY`s, files of keys, how many processes (by default one for each processor), the clock.

    `mails` are mails files, `require` is the least grade of a seat (`own` or `dkim`), and with `dns` DNS is asked.
    """

    keys: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    jobs: int | None = None
    clock: bool = False
    mails: tuple[str, ...] = ()
    require: RequiredGrade | None = None
    dns: bool = False

    @property
    def alone(self) -> str | None:
        """The option that is for one log, if there is one."""
        given = {"--clock": self.clock, "--require": self.require is not None, "--dns": self.dns}
        return next((name for name, there in given.items() if there), None)

    @property
    def mail_wish(self) -> MailWish | None:
        """What is asked of mails; None if nothing is."""
        if not self.mails and self.require is None and not self.dns:
            return None
        from hkoji.cli.audit.mail_checks import MailWish

        return MailWish(self.mails, self.require, self.dns)


def run(client: Callable[[], Client], out: CommandOutput, sources: list[str], wish: AuditOptions) -> int:
    """Audits a log, a game or an archive. Returns the exit code; raises `AuditError` if something does not hold."""
    pins = read_expected_keys(wish.keys, wish.files)
    check_standard_input(sources, taken=out.keep)
    # Standard input may come log by log, and is then also answered log by log.
    several = len(sources) > 1 or Path(sources[0]).is_dir()
    if wish.alone and several:
        raise _one_log(wish.alone)
    jobs = wish.jobs or (1 if "-" in sources else processors())
    if several:
        from hkoji.cli.audit.many_logs import show_archive

        use_fastest()
        return show_archive(out, sources, pins, jobs, mails=wish.mails)
    source = sources[0]
    if not is_file(source):
        report.show_game_audit(client(), out, source, pins, clock=wish.clock, mails=wish.mail_wish)
        return Exit.OK
    use_fastest()
    return _show_file(out, source, pins, jobs, wish)


def _one_log(option: str) -> UsageError:
    return UsageError(
        tell("{option} is for one log", option=option),
        hint=tell("give one log or game, or leave {option} out", option=option),
    )


def _show_file(out: CommandOutput, file: str, pins: ExpectedKeys, jobs: int, wish: AuditOptions) -> int:
    """Audits a file, which is read until it is known whether it holds one log or more."""
    from hkoji.cli.log_files import read_all

    found = read_all((file,))
    first = next(found)
    second = next(found, None)
    if second is not None:
        if wish.alone:
            raise _one_log(wish.alone)
        from hkoji.cli.audit.many_logs import show_logs

        return show_logs(out, chain((first, second), found), pins, jobs, mails=wish.mails)
    if isinstance(first, UnreadableLog):
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=first.reason),
            hint=tell("give a file, or - for standard input"),
        )
    in_threads = map_in_two_threads if processors() > 1 else map
    report.show_audit(out, first.text, pins, clock=wish.clock, mails=wish.mail_wish, map_checks=in_threads)
    return Exit.OK
