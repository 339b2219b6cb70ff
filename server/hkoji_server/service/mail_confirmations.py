"""`yes`: a player confirms something about their mailbox. It never enters anything into a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hkoji.mail.order_types import OrderKind
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_work import OrderWork, Step

UNLOCK: Final = "unlock."
"""With what the id of a confirmation begins that unlocks a mailbox."""


class ConfirmationCommands:
    """The command `yes`."""

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {OrderKind.YES: self._confirm}

    async def _confirm(self, work: OrderWork) -> AnswerPart:
        if not work.case.fields.about.startswith(UNLOCK):
            return part(AnswerKind.NOT_YET, command=work.order.kind.value)
        if work.case.mailbox.state == "locked":
            work.outcome.mailbox = replace(work.case.mailbox, state="active", since=work.case.now)
        return part(AnswerKind.STARTED)
