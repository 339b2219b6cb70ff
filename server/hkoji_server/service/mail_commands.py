"""A mail that counts does what it says: what it decides first, and then what it asks for.

Every step can be repeated: what is entered into a log has a draft first, and settings are written when the mail is
closed. `MailOrders` reads and judges the mail, and closes it.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import ClockError, HkojiError, MalformedError, StorageError
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji_server.service.mail_cases import MailCase, MailOutcome
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_settings_commands import SettingCommands
from hkoji_server.service.mail_work import CommandGroup, OrderWork, Step, not_done
from hkoji_server.store.time_contract import StaleDecisionError

_INFORMS: Final = {
    OrderKind.SHOW: AnswerKind.SHOW,
    OrderKind.MOVES: AnswerKind.MOVES,
    OrderKind.LOG: AnswerKind.LOG,
    OrderKind.RULES: AnswerKind.RULES,
    OrderKind.GAMES: AnswerKind.GAMES,
    OrderKind.HELP: AnswerKind.HELP,
    OrderKind.EVIDENCE: AnswerKind.EVIDENCE,
}


class MailCommands:
    """The commands of mails to a token that is known: those of every group."""

    def __init__(self, settings: SettingCommands, *others: CommandGroup) -> None:
        self._settings = settings
        self._steps: dict[OrderKind, Step] = {}
        for group in (settings, *others):
            self._steps |= group.steps

    async def obey(self, case: MailCase, orders: tuple[MailOrder, ...], grade: MailGrade) -> MailOutcome:
        """Does what a mail says, and returns what becomes of it. What it decides is done first.

        If that cannot be done, nothing is. Raises `StorageError` and `ClockError`, and whatever else means that the
        mail has to be processed again.
        """
        for order in orders:
            # What is decided comes first. So what could fail behind it is looked at before anything is done.
            try:
                await self._settings.verify(case, order)
            except MalformedError as error:
                return MailOutcome([not_done(order.line, error)], mailbox=case.mailbox)
        outcome = MailOutcome([], mailbox=case.mailbox)
        said: dict[int, AnswerPart] = {}
        for order in sorted(orders, key=lambda each: not each.decides):
            place = orders.index(order)
            if order.kind in _INFORMS:
                said[place] = part(_INFORMS[order.kind])
                continue
            try:
                said[place] = await self._steps[order.kind](OrderWork(case, orders, order, grade, outcome))
            except (StorageError, ClockError, StaleDecisionError):
                raise
            except HkojiError as error:
                # What the game or the service refuses, the player can read. A closed mail is not one of these: its
                # append has found that the mail was set aside, and then `close_incoming` changes nothing either.
                return MailOutcome([not_done(order.line, error)], mailbox=case.mailbox, forget_drafts=True)
        outcome.parts = [*(said[place] for place in sorted(said)), *outcome.more]
        return outcome
