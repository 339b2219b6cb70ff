"""Mails become what they order: each mail that has come is read, judged, obeyed, and closed with its answer.

A mail is decided from reads alone. One transaction then writes what it leads to, closes it and writes its answers, or
changes nothing. If something that was read has changed by then, the mail is decided anew. So an order counts once,
whatever is killed when. The player of a mail that answers no letter gets the letters again that wait for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from hkoji.errors import ClockError, ConflictError, HkojiError, NotFoundError, StorageError, UnreadableMailError
from hkoji.game.clock import add_seconds
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderFault, OrderKind
from hkoji.mail.letters.answers import AskedWhy
from hkoji.mail.mail import Mail, read_mail
from hkoji.mail.orders import read_orders, read_said
from hkoji.mail.tokens import AFTER_END, Purpose, TokenFields, is_for_any, token_digest
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.service.games.loaded_games import TRIES, undecided
from hkoji_server.service.mail.cases import (
    AGAIN_SECONDS,
    SILENT,
    AnswerKind,
    MailCase,
    MailOutcome,
    again_fields,
    closing_of,
    count_answer,
    is_needed,
    mark_last,
    not_understood,
    part,
    refusing,
    saying,
    shown_line,
    write_result,
)
from hkoji_server.service.mail.commands import MailCommands, stop_fields
from hkoji_server.service.mail.rights import (
    ASKED_OF_OTHERS,
    ASKS,
    LookUp,
    MailSender,
    ask_dns,
    asks_late,
    demanded_grade,
    dkim_seen_after,
    has_dkim,
    is_allowed,
    is_counted,
    is_silent,
    judge_mail,
    known_as,
    refusal,
    sender_of,
    too_weak,
    wrong_letter,
)
from hkoji_server.service.mail.seat_games import SeatGames
from hkoji_server.service.mail.tokens import MailTokens, is_good, kept_token, read_fields
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Query
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import NO_GAME, SHUT, ClosedMailError, Mailbox, MailVia, NewAnswer, ReplyToken
from hkoji_server.store.time_contract import StaleDecisionError

_CURRENT: Final = "current"
_STOP: Final = "stop"
_OTHERS: Final = "others"
_ODD: Final = "odd"
_PROGRAM: Final = "program"
_OVER: Final = "over"
_ANOTHER_ADDRESS: Final = tell("it came from another address than yours")
_NO_LONGER: Final = tell("the address that you wrote to is no longer valid")


class MailOrders:
    """Processes mails, one at a time of each name. `require` is the least grade that the service takes.

    `look_up` asks DNS. `count` is called with the way of each mail and what has become of it.
    """

    def __init__(
        self,
        store: Store,
        games: SeatGames,
        commands: MailCommands,
        tokens: MailTokens,
        time: ServiceTime,
        *,
        require: MailGrade,
        look_up: LookUp,
        count: Callable[[MailVia, MailOutcome], None] = lambda *_: None,
    ) -> None:
        self._store = store
        self._games = games
        self._commands = commands
        self._tokens = tokens
        self._time = time
        self._require = require
        self._look_up = look_up
        self._count = count

    async def process(self, number: int, read: Mail | None = None) -> tuple[AnswerKind, ...]:
        """Processes a mail that has come, and returns what its answer says; nothing if it is closed already.

        `read` is the mail if this process has read it before. Raises `StorageError`, `ClockError`, or anything else if
        it has to be processed again.
        """
        refused: HkojiError | None = None
        for _ in range(TRIES):
            mail = await self._store.incoming(number)
            if mail is None or mail.state != "new":
                return ()
            read = read or read_mail(mail.raw)
            try:
                outcome = await self._decide(mail, read, refused)
                await self._close(mail, outcome)
            except (ConflictError, StaleDecisionError):
                # The game, the mailbox, or what the player asks for has changed since it was read.
                continue
            except ClosedMailError:  # by another process, or it was set aside
                return ()
            except HkojiError as error:
                if refused is not None or isinstance(error, StorageError | ClockError):
                    raise
                refused = error
            else:
                self._count(mail.via, outcome)
                return tuple(each.kind for each in outcome.parts)
        raise undecided()

    async def _decide(self, mail: IncomingMail, read: Mail, refused: HkojiError | None) -> MailOutcome:
        """Returns the result of a mail, from all that is known now. Nothing is written.

        `refused` is why what it orders was refused when that was to be written.
        """
        mailbox = await self._store.mailbox(mail.channel)
        reply = None if mail.reply is None else await self._store.reply(mail.reply)
        now = await self._time.now()
        if mailbox is None or (reply is None and mail.reply is not None):  # erased since
            return MailOutcome(Closing(mail.number), now=now)
        if reply is None:
            outcome = await self._again(mail, read, mailbox, now)
        else:
            outcome = await self._answer(mail, read, mailbox, reply, now, refused)
            self._count_for_token(outcome, mailbox, reply, now)
        if sender_of(read.header, mailbox.address) is MailSender.REGISTERED:
            changed = outcome.mailbox
            heard = changed.heard
            # Anybody can write in the name of somebody else, but has no token. If the provider signs mails, only an
            # obeyed mail counts as a sign of life. After a long silence only `yes` counts.
            known = reply is not None and (outcome.grade is not None or not mailbox.dkim_seen)
            if known and (outcome.speaks or not is_silent(mailbox, mail.received)):
                heard = max(heard or "", mail.received)
            seen = changed.dkim_seen if reply is None else dkim_seen_after(mailbox, outcome, Purpose(reply.purpose))
            zone = (read.zone if known else "") or changed.zone
            outcome.close(mailbox=replace(changed, heard=heard, paused=None, dkim_seen=seen, zone=zone))
            if mailbox.dkim_seen and not seen:
                log.warning("a mailbox loses its DKIM signatures: none are expected of it any more", mail=mail.number)
        outcome.now = now
        return outcome

    # --- to a token -----------------------------------------------------------------------------------------------

    async def _answer(
        self,
        mail: IncomingMail,
        read: Mail,
        mailbox: Mailbox,
        reply: ReplyToken,
        now: str,
        refused: HkojiError | None,
    ) -> MailOutcome:
        case = replace(await self._case(mail, read, mailbox, reply, now), refused=refused)
        sender = sender_of(read.header, mailbox.address)
        said = json.loads(reply.answers)
        if mailbox.state == "moved":
            return saying(case)
        if read.automatic:
            if sender is MailSender.OTHER or not case.good or said.get(_PROGRAM) or mailbox.state in SHUT:
                return saying(case)
            reason = tell("its field {name} says that a program has sent it", name=read.automatic[0].value)
            return saying(case, part(AnswerKind.UNREADABLE, reason=reason), counts={_PROGRAM: 1})
        if sender is MailSender.UNREADABLE:
            today = now[:10]
            if said.get(_ODD) == today or mailbox.state in SHUT:
                return saying(case)
            return saying(
                case, part(AnswerKind.UNREADABLE, reason=read.header.sender_fault or ""), counts={_ODD: today}
            )
        if sender is MailSender.OTHER and said.get(_OTHERS, 0) >= ASKED_OF_OTHERS:
            return saying(case)
        # A mail that says that the lock was a mistake, and nothing else, is read where that is asked.
        asked = mailbox.state == "locked" and case.fields.purpose is Purpose.YES
        unlocks = asked and read.only_order(OrderKind.YES) is not None
        if mailbox.state in SHUT and not unlocks:
            return saying(case, *([part(AnswerKind.LOCKED)] if sender is MailSender.REGISTERED else SILENT))
        outcome = await self._obey(case, sender)
        if sender is MailSender.OTHER:
            if any(each.kind is AnswerKind.NOT_DONE or each.kind is AnswerKind.UNREADABLE for each in outcome.parts):
                # The player has not written that, and a letter of the service would bring them a stranger's words.
                outcome.parts = [part(AnswerKind.UNREADABLE, reason=_ANOTHER_ADDRESS, form=False)]
            outcome.counts[_OTHERS] = said.get(_OTHERS, 0) + 1
        return outcome

    async def _case(self, mail: IncomingMail, read: Mail, mailbox: Mailbox, reply: ReplyToken, now: str) -> MailCase:
        game = None
        if reply.game:
            try:
                game = await self._games.turn(reply.game, reply.name)
            except NotFoundError:  # an offer that nobody had opened in time
                reply = replace(reply, spent=reply.spent or now)
        head = ""
        if game is not None and reply.seq and int(reply.seq) < len(game.lines):
            head = game.lines[int(reply.seq)].entry.head
        fields = read_fields(reply, head)
        issued = await self._tokens.make(fields)
        own_key = await self._store.has_own_key(reply.name)
        good = is_good(reply, mailbox, mail.received, None if game is None else (game.course, game.place))
        return MailCase(mail, mailbox, read, reply, fields, issued.nonce, good, game, now, own_key, issued.text)

    async def _obey(self, case: MailCase, sender: MailSender) -> MailOutcome:
        """Reads the orders of a mail, and does them if they count."""
        try:
            read = _read(case)
        except UnreadableMailError as error:
            return saying(case, part(AnswerKind.UNREADABLE, reason=error.reason))
        if isinstance(read, OrderFault):
            return not_understood(case, read) if case.good else self._over(case)
        outcome = await self._judged(case, read, sender)
        outcome.orders = read
        return outcome

    async def _judged(self, case: MailCase, read: tuple[MailOrder, ...], sender: MailSender) -> MailOutcome:
        """Does the orders of a mail if they count."""
        if not case.good and not all(is_for_any(each.kind) or asks_late(each.kind, case) for each in read):
            return self._over(case)
        over = case.game is not None and case.game.course.finished
        if over and not all(is_for_any(each.kind) or each.kind in AFTER_END for each in read):
            return self._over(case)
        wrong = next((each for each in read if not is_allowed(each, case)), None)
        if wrong is not None:
            return refusing(case, wrong, wrong_letter(wrong.kind, case))
        for each in read:
            if (why_not := refusal(each.kind, case)) is not None:
                return refusing(case, each, why_not)
        if sender is MailSender.REGISTERED:  # only now is it known that its signature matters
            case = await ask_dns(case, self._look_up)
        verdict = self._verdict(case, sender)
        if isinstance(verdict, AskedWhy):
            return await self._ask_back(case, read, verdict)
        case = replace(case, signed=known_as(case))
        if case.signed is not None and await self._store.signed_before(case.mail.number, case.signed):
            # The first one has been answered, and its writer has not sent this one.
            return MailOutcome(closing_of(replace(case, signed=None)))
        for each in read:
            if (why_not := too_weak(each.kind, case, verdict)) is not None:
                return refusing(case, each, why_not)
        if not all(is_counted(each.kind, case) for each in read):
            return await self._ask_back(case, read, AskedWhy.FINAL)
        return await self._commands.obey(case, read, verdict)

    def _verdict(self, case: MailCase, sender: MailSender) -> MailGrade | AskedWhy:
        return judge_mail(
            sender,
            dkim=sender is MailSender.REGISTERED and has_dkim(case),
            had_dkim=case.mailbox.dkim_seen > 0,
            require=demanded_grade(case.game, self._require),
            # A token of a `yes` is known only to a reader of the mailbox, and enters nothing.
            again=case.fields.purpose in (Purpose.AGAIN, Purpose.YES),
        )

    async def _ask_back(self, case: MailCase, orders: Sequence[MailOrder], why: AskedWhy) -> MailOutcome:
        order = next((each for each in orders if each.decides), orders[0])
        fields, expires = again_fields(case, order.kind), None
        if fields.purpose is Purpose.YES:
            expires = case.reply.expires
        elif case.game is None:
            expires = add_seconds(case.mail.received, AGAIN_SECONDS)
        issued = await self._tokens.make(fields)
        said = part(
            AnswerKind.ASKED_BACK,
            order=order.action or shown_line(order.line),
            why=why.value,
            sender=(case.read.header.sender or "") if why is AskedWhy.SENDER else "",
            seq=fields.seq,
            until=expires,
            about=fields.about if fields.purpose is Purpose.YES else None,
        )
        kept = kept_token(issued, case.mailbox, case.now, expires)
        outcome = saying(case, said)
        outcome.close(replies=(replace(kept, answers=json.dumps({ASKS: order.kind.value})),))
        return outcome

    def _over(self, case: MailCase) -> MailOutcome:
        """Says that a token is no longer good: once, or once a day while the player owes an entry."""
        before, today = json.loads(case.reply.answers).get(_OVER), case.now[:10]
        owes = case.game is not None and case.game.owes_move
        if before is not None and not (owes and before < today):
            return saying(case)
        if case.game is None:
            return saying(case, part(AnswerKind.NOT_DONE, line="", reason=_NO_LONGER), counts={_OVER: today})
        return saying(case, part(AnswerKind.TURN_OVER, after=case.fields.seq), counts={_OVER: today})

    # --- to the bare address --------------------------------------------------------------------------------------

    async def _again(self, mail: IncomingMail, read: Mail, mailbox: Mailbox, now: str) -> MailOutcome:
        """Sends a player the letters that they have to answer now, once a day.

        Anybody can write in the name of somebody else. So a person who was only invited gets nothing: they have not
        agreed to any letter, or have said that they want none. And `stop` is asked back: where addresses have no token,
        mail programs that unsubscribe send it so.
        """
        closing = Closing(mail.number, was=mailbox)
        nothing = MailOutcome(closing)
        player = mailbox.state in ("active", "stopped")
        if not player or sender_of(read.header, mailbox.address) is not MailSender.REGISTERED:
            return nothing
        # The token by which letters are stopped stands for the mailbox: there is one, and it is never spent.
        issued = await self._tokens.make(stop_fields(mailbox))
        kept = await self._store.reply(token_digest(issued.text)) or kept_token(issued, mailbox, now, None)
        said = json.loads(kept.answers)
        stop = read.only_order(OrderKind.STOP)
        line = "" if stop is None else stop.line
        once = _STOP if line else _CURRENT
        if said.get(once) == now[:10] or (line and mailbox.state == "stopped"):
            return nothing
        counted = replace(kept, answers=json.dumps({**said, once: now[:10]}, sort_keys=True))
        closing = replace(closing, replies=(counted,))
        if line:
            return await self._ask_to_stop(mail, mailbox, line, now, closing)
        waiting = await self._store.games(Query(player=mailbox.name, waiting=True, own=True))
        if not waiting:
            return MailOutcome(closing, [part(AnswerKind.GAMES)], games=[NO_GAME])
        return MailOutcome(closing, [part(AnswerKind.CURRENT)], games=[each.game for each in waiting])

    async def _ask_to_stop(
        self, mail: IncomingMail, mailbox: Mailbox, line: str, now: str, closing: Closing
    ) -> MailOutcome:
        until = add_seconds(mail.received, AGAIN_SECONDS)
        issued = await self._tokens.make(TokenFields(Purpose.AGAIN, mailbox.name, about=mail.digest))
        why = AskedWhy.NO_LETTER.value
        said = part(AnswerKind.ASKED_BACK, order=shown_line(line), why=why, sender="", until=until)
        closing = replace(closing, replies=(*closing.replies, kept_token(issued, mailbox, now, until)))
        return MailOutcome(closing, [said], games=[NO_GAME])

    # --- the end --------------------------------------------------------------------------------------------------

    def _count_for_token(self, outcome: MailOutcome, mailbox: Mailbox, reply: ReplyToken, now: str) -> None:
        """Counts an answer to a token. One too many is not sent."""
        parts, closing = tuple(outcome.parts), outcome.closing
        allowed, last, kept = count_answer(reply, outcome, now, needed=is_needed(outcome, mailbox))
        outcome.close(replies=(*closing.replies, kept))
        if not allowed:
            outcome.parts = (*SILENT, *parts)
            outcome.close(code=None)  # nobody would get it, and the last one that was sent counts
        elif last:
            outcome.parts = mark_last(parts)

    async def _close(self, mail: IncomingMail, outcome: MailOutcome) -> None:
        """Writes everything that a mail leads to, in one transaction. Raises what the game raises."""
        parts, moved, box = outcome.parts, outcome.closing.move, outcome.closing.was
        # One more letter goes to a mailbox that has been left.
        channels = moved[:2] if moved is not None else (mail.channel,)
        answers = (
            ()
            if parts[0].kind is AnswerKind.SILENT
            else tuple(
                NewAnswer(game, channel, outcome.now) for game in outcome.games or [mail.game] for channel in channels
            )
        )
        changed = None if outcome.closing.mailbox == box else outcome.closing.mailbox
        closing = replace(outcome.closing, result=write_result(parts), answers=answers, mailbox=changed)
        if outcome.write is None:
            await self._store.close_incoming(closing)
            return
        ended = None
        if (end := outcome.ended) is not None:
            said = [end if each.kind is AnswerKind.CALLED_OFF else each for each in parts]
            ended = replace(closing, result=write_result(said))
        if not await outcome.write(closing, ended):
            await self._store.close_incoming(replace(closing, evidence=None, entropy=None))


def _read(case: MailCase) -> tuple[MailOrder, ...] | OrderFault:
    """Reads the orders of a mail. Raises `UnreadableMailError`."""
    game = case.game
    lines = case.read.order_lines()
    if game is not None and game.course.sealed is not None:  # nobody here knows which moves are legal
        return read_said(lines, game.course.setup.ruleset)
    state = game.course.state if game is not None and game.owes_move and case.good else None
    return read_orders(lines, state)
