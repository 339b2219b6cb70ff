"""What the modules of commands share: one command of a mail that counts, and what does such a command.

A module of commands has a class with `steps`: `mail_games`, `mail_new_games`, `mail_settings_commands`,
`mail_own_keys` and `mail_confirmations`. `mail_commands` obeys a whole mail by them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hkoji.errors import HkojiError
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji_server.service.mail_cases import MailCase, MailOutcome
from hkoji_server.service.mail_entries import Entered
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part, shown_line
from hkoji_server.store.mail_values import Mailbox


@dataclass(frozen=True, slots=True)
class OrderWork:
    """One command of a mail that counts, with the whole mail; `outcome` has what is written when the mail is closed."""

    case: MailCase
    orders: tuple[MailOrder, ...]
    order: MailOrder
    grade: MailGrade
    outcome: MailOutcome

    @property
    def mailbox(self) -> Mailbox:
        """The mailbox as the commands before this one have left it."""
        return self.outcome.mailbox or self.case.mailbox


Step = Callable[[OrderWork], Awaitable[AnswerPart]]
"""Does what one command of a mail says, and returns what the letter says about it.

It can be repeated: what is entered into a log has a draft first, and settings are written when the mail is closed. What
cannot be done now is a `HkojiError`, and nothing was changed then.
"""


class CommandGroup(Protocol):
    """The commands of one module."""

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""


class NotDoneError(HkojiError):
    """A command cannot be done now. Nothing was changed."""

    code = "not-done"


def not_done(line: str, error: HkojiError) -> AnswerPart:
    """Returns what a letter says about a line that cannot be done."""
    return part(AnswerKind.NOT_DONE, line=shown_line(line), reason=error.message, read=True)


def on_record(entered: Entered) -> AnswerPart:
    """Returns what a letter says about an entry that is on record."""
    return part(AnswerKind.ON_RECORD, seq=entered.seq)
