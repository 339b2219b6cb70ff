"""`hkoji audit`: the command, its report, and audits of many logs. Here are its options, which load nothing else."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class RequiredGrade(StrEnum):
    """The grades that `--require` can demand of each seat."""

    OWN = "own"
    DKIM = "dkim"


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
    def about_mails(self) -> bool:
        """Whether anything is asked about mails."""
        return bool(self.mails) or self.require is not None or self.dns

    @property
    def asks_dns(self) -> bool:
        """Whether DNS is asked."""
        return self.dns or self.require is RequiredGrade.DKIM
