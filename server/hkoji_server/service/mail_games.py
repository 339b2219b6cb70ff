"""The commands that the service signs for the seat of a player, and the answers to an invitation."""

from __future__ import annotations

from collections.abc import Mapping

from hkoji.errors import ConflictError
from hkoji.game.time_control import format_duration, parse_duration
from hkoji.log.game_statements import MAX_GIFT_SECONDS
from hkoji.mail.commands import OrderKind
from hkoji.messages.text import tell
from hkoji_server.service.invitation_answers import InvitationAnswers
from hkoji_server.service.mail_cases import DraftText
from hkoji_server.service.mail_entries import MailEntries
from hkoji_server.service.mail_registrar import Registrar
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_work import NotDoneError, OrderWork, Step, on_record
from hkoji_server.store.contract import Store


class GameCommands:
    """The commands to a game that exists."""

    def __init__(self, store: Store, entries: MailEntries, answers: InvitationAnswers, players: Registrar) -> None:
        self._store = store
        self._entries = entries
        self._answers = answers
        self._players = players

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {
            OrderKind.MOVE: self._enter,
            OrderKind.RESIGN: self._enter,
            OrderKind.CANCEL: self._enter,
            OrderKind.CALL_OFF: self._call_off,
            OrderKind.GIVE: self._give,
            OrderKind.ACCEPT: self._accept,
            OrderKind.DECLINE: self._decline,
        }

    async def _enter(self, work: OrderWork) -> AnswerPart:
        try:
            entered = await self._entries.enter(work.case, work.orders, work.order, work.grade)
        except ConflictError:  # the turn has ended while the mail was processed
            return part(AnswerKind.TURN_OVER, after=work.case.fields.seq)
        return on_record(entered)

    async def _call_off(self, work: OrderWork) -> AnswerPart:
        try:
            entered = await self._entries.call_off(work.case, work.orders, work.grade)
        except ConflictError:
            return part(AnswerKind.TURN_OVER, after=work.case.fields.seq)
        if entered.seq is None:
            return part(AnswerKind.CALLED_OFF)
        return on_record(entered)

    async def _give(self, work: OrderWork) -> AnswerPart:
        seconds = parse_duration(work.order.words[0])
        if seconds > MAX_GIFT_SECONDS:
            raise NotDoneError(tell("you can give {most} at a time at most", most=format_duration(MAX_GIFT_SECONDS)))
        try:
            await self._entries.give(work.case, work.orders, seconds, work.grade)
        except ConflictError:
            return part(AnswerKind.TURN_OVER, after=work.case.fields.seq)
        return part(AnswerKind.GAVE, seconds=seconds)

    async def _accept(self, work: OrderWork) -> AnswerPart:
        game, mailbox = work.case.mail.game, work.case.mailbox
        if not game:
            await self._register(work)
            return part(AnswerKind.WELCOME)
        seen = work.case.game
        if seen is not None and seen.seat is None and not seen.signs:
            raise NotDoneError(
                tell(
                    "this invitation is to the key with which the service signed for you, and that has been revoked: "
                    "ask to be invited again"
                )
            )
        # The draft comes before the registration: it remembers whether the player was new.
        draft = await self._entries.kept(game, work.case.mail.digest)
        if draft is None:
            draft = await self._entries.join(
                work.case, game, work.orders, work.grade, welcome=mailbox.state == "invited"
            )
        if draft.welcome:
            await self._register(work)
        entered = await self._entries.submit(work.case, game, draft)
        said = on_record(entered)
        return part(AnswerKind.WELCOME, seq=entered.seq) if draft.welcome else said

    async def _register(self, work: OrderWork) -> None:
        await self._players.register(work.case.mailbox)
        work.outcome.mailbox = await self._store.mailbox(work.case.mailbox.channel)

    async def _decline(self, work: OrderWork) -> AnswerPart:
        if work.case.mail.game:
            # A draft without an entry: whoever processes the mail again reads the same order, though the game is over.
            await self._entries.keep(work.case.mail.game, work.case, DraftText(work.orders, work.grade))
            why = "later" if work.order.words else None
            await self._answers.decline(work.case.mail.game, work.case.mailbox.name, why)
        if work.case.mailbox.state == "invited":
            await self._store.note_answered(work.case.mailbox.channel, work.case.now)
        return part(AnswerKind.DECLINED)
