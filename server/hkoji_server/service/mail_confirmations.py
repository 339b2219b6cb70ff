"""`yes`: the owner of a mailbox confirms what a letter has asked. It never enters anything into a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hkoji.mail.commands import OrderKind
from hkoji.mail.letters.confirmation_facts import ConfirmWhat
from hkoji.messages.text import tell
from hkoji_server.service.confirmations import is_silent, what_of
from hkoji_server.service.mail_registrar import Registrar
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_work import NotDoneError, OrderWork, Step
from hkoji_server.store.contract import Query, Store
from hkoji_server.store.mail_values import NO_GAME, MailboxMove

_NOTHING_ASKED: Final = tell("nothing waits for your yes")


class ConfirmationCommands:
    """The command `yes`, for each kind of confirmation. Whatever is confirmed twice is answered twice."""

    def __init__(self, store: Store, players: Registrar) -> None:
        self._store = store
        self._players = players
        self._of: dict[ConfirmWhat, Step] = {
            ConfirmWhat.ON: self._switch_on,
            ConfirmWhat.REGISTER: self._register,
            ConfirmWhat.MOVE: self._move,
            ConfirmWhat.SILENCE: self._break_silence,
            ConfirmWhat.UNLOCK: self._unlock,
        }

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {OrderKind.YES: self._confirm}

    async def _confirm(self, work: OrderWork) -> AnswerPart:
        what = what_of(work.case.fields.about)
        if what is None and is_silent(work.case.mailbox, work.case.mail.received):
            what = ConfirmWhat.SILENCE
        if what is None:
            raise NotDoneError(_NOTHING_ASKED)
        return await self._of[what](work)

    async def _switch_on(self, work: OrderWork) -> AnswerPart:
        """The mailbox of a player with a key of their own is theirs: letters go to it, and its mails are orders."""
        if work.mailbox.state == "asked":
            await self._store.note_answered(work.mailbox.channel, work.case.now)
            work.outcome.mailbox = replace(work.mailbox, state="active", since=work.case.now)
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.ON.value)

    async def _register(self, work: OrderWork) -> AnswerPart:
        await self._players.register(work.case.mailbox)
        work.outcome.mailbox = await self._store.mailbox(work.case.mailbox.channel)
        return part(AnswerKind.WELCOME)

    async def _move(self, work: OrderWork) -> AnswerPart:
        """The mailbox takes the place of that from which the player has written so far."""
        asked = work.case.mailbox
        if asked.state == "asked":
            left = await self._store.mailbox_of(asked.name, work.case.now)
            if left is None:
                raise NotDoneError(_NOTHING_ASKED)
            certificate = await self._players.certify(asked.name, left.held_key, asked.address)
            work.outcome.move = MailboxMove(left.channel, asked.channel, certificate, work.case.now)
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.MOVE.value)

    async def _break_silence(self, work: OrderWork) -> AnswerPart:
        work.outcome.speaks = True
        waiting = await self._store.games(Query(player=work.mailbox.name, waiting=True, own=True))
        work.outcome.games = [each.game for each in waiting] or [NO_GAME]
        work.outcome.more = [part(AnswerKind.CURRENT)]
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.SILENCE.value)

    async def _unlock(self, work: OrderWork) -> AnswerPart:
        if work.case.mailbox.state == "locked":
            work.outcome.mailbox = replace(work.case.mailbox, state="active", since=work.case.now)
        return part(AnswerKind.STARTED)
