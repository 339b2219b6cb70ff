"""Letters when they are sent: made from the game, the mailbox, and the result of the mail that they answer.

The outbox has references only. So a letter is as the game is now, and the service keeps no letter. A letter is planned
from reads alone. A plan has the rows of the letter, which are written with its lease. A letter that is planned again
has the same token and the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hkoji.errors import NotFoundError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.game.entry_kinds import Lapse, parse_body
from hkoji.log.line import format_log
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters.answers import LastTodayFacts
from hkoji.mail.letters.composing import SHOW_TURN, Facts, LetterHeaders, ManyFacts
from hkoji.mail.letters.events import AnnulFacts, GivenFacts, JoinedFacts, OverFacts, ReminderFacts, TurnFacts
from hkoji.mail.letters.invitations import DeclinedFacts, InvitationFacts
from hkoji.mail.letters.mailbox import ConfirmFacts, ConfirmWhat, NameTakenFacts
from hkoji.mail.letters.page import OneLetter
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji_server.service.games.notice_rules import NoticeEvent
from hkoji_server.service.mail.answer_facts import Answered, AnswerFacts, again_token
from hkoji_server.service.mail.cases import AnswerKind, AnswerPart, counter_of, is_last, read_result
from hkoji_server.service.mail.commands import COMMANDS, command_fields, stop_fields
from hkoji_server.service.mail.rights import is_silent
from hkoji_server.service.mail.seat_games import SeatGame, SeatGames
from hkoji_server.service.mail.tokens import (
    LetterPlan,
    LetterTokens,
    MailTokens,
    is_good,
    read_fields,
    read_thread,
    thread_id,
)
from hkoji_server.service.notices.couriers import Notice, NotNow
from hkoji_server.service.players.held_players import (
    asked_fields,
    asked_until,
    silence_fields,
    unlock_fields,
    what_of,
)
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import CONFIRM_SECONDS, TAKEN, UNASKED_DAYS, LetterLimits, LetterRows, Mailbox
from hkoji_server.store.tables import Channel

_CARDLESS: Final = (NoticeEvent.INVITED, NoticeEvent.DECLINED)
"""The letters about games that show nothing of a hand."""
_PLAYERS: Final = ("active", "stopped")
AFTER_END_SECONDS: Final = 180 * DAY
"""For how long the letters of a game that is over can be answered with a command about it."""
MOST_VERSIONS: Final = 3
"""How many letters about one entry tell of gifts of time, and how many of wishes to call the game off."""
_PAUSED: Final = 900.0
"""After how many seconds a letter to a paused mailbox is looked at again."""
_REMINDERS: Final = (NoticeEvent.REMIND1, NoticeEvent.REMIND2)


class _Drafted(NamedTuple):
    """The facts of a letter, the token to which it is answered, and the mail that it answers, with its parts."""

    facts: Facts
    fields: TokenFields
    expires: str | None = None
    shows: int | None = None
    """If it is a letter about the turn too, the last entry that it knows: another one would say nothing new."""
    mail: IncomingMail | None = None
    parts: Sequence[AnswerPart] = ()
    over: bool = False
    """Whether the game is over."""
    version: str = ""
    """Tells letters about one entry apart that differ, because the opponent has done the same once more."""


class LetterFacts:
    """Makes letters. `own` is the service's mail address, and `origin` its address for browsers.

    So many letters a day as the settings say go to one mailbox, of each counter (`cases.counter_of`), and so many an
    hour to all of them, but for those that are not counted.
    """

    def __init__(
        self,
        store: Store,
        games: SeatGames,
        tokens: MailTokens,
        time: ServiceTime,
        settings: Settings,
        *,
        own: OwnAddress,
        origin: str,
    ) -> None:
        self._store = store
        self._games = games
        self._tokens = tokens
        self._time = time
        self._own = own
        self._origin = origin
        self._settings = settings
        self._answers = AnswerFacts(store, games, tokens, own=own, origin=origin)

    async def of(self, channel: Channel, notice: Notice) -> LetterPlan | None:
        """Returns what the letter for a notice says now, its addresses, and the rows that are written with its lease.

        Returns None if there is nothing to say. Nothing is written. Raises `NotNow` if the letters of the mailbox are
        paused, `StorageError`, `ClockError`.
        """
        mailbox = await self._store.mailbox(channel.id)
        if mailbox is None:
            return None
        if mailbox.paused is not None and notice.event not in _REMINDERS:
            raise NotNow(_PAUSED)
        now = await self._time.now()
        tokens = LetterTokens(self._tokens, mailbox, now)
        drafted = await self._draft(mailbox, notice, tokens, now)
        if drafted is None:
            return None
        thread = await read_thread(self._store, mailbox, notice.game, now)
        versions = thread.versions(notice)
        again = drafted.version in versions
        if not again and len(versions) >= MOST_VERSIONS:
            return None
        token, stop = await tokens.issue(drafted.fields, drafted.expires), await tokens.issue(stop_fields(mailbox))
        answers = None if drafted.mail is None else drafted.mail.message_id or None
        ids, letters = thread.add(self._own, notice, token, answers, drafted.version)
        headers = LetterHeaders(
            to=mailbox.address,
            sender=self._own.mailbox,
            reply_to=self._own.with_token(token),
            message_id=ids.message_id,
            at=ids.at,
            event=notice.event.value,
            stop_url=f"{self._origin}/v1/mail/stop/{stop}",
            stop_address=self._own.with_token(stop),
            answer=notice.event is NoticeEvent.ANSWER,
            in_reply_to=ids.in_reply_to,
            thread=thread_id(notice.game, self._own),
            stop_id=None if self._own.delimiter else self._own.message_id("stop", 0, stop),
        )
        rows = LetterRows(
            at=now,
            thread=letters,
            was=None if thread.kept is None else thread.kept.answers,
            tokens=tuple(tokens.rows.values()),
            limits=None if again else self._limits(mailbox, notice, drafted),
            # Nobody asks for what the game is over for; words that belong to no turn are read all the same.
            ends=add_seconds(now, AFTER_END_SECONDS) if drafted.over else None,
            # A letter that was sent before may have been read when it was not the reader's turn.
            shows=None if again else drafted.shows,
        )
        return LetterPlan(drafted.facts, mailbox.lang, headers, self._own.bounce(token), rows)

    def _limits(self, mailbox: Mailbox, notice: Notice, drafted: _Drafted) -> LetterLimits | None:
        counter = counter_of(mailbox.channel, notice.event, drafted.mail, drafted.parts)
        if counter is None:
            return None
        return LetterLimits(counter, self._settings.mail_per_day, self._settings.mail_per_hour)

    async def _draft(self, mailbox: Mailbox, notice: Notice, tokens: LetterTokens, now: str) -> _Drafted | None:
        if notice.event is NoticeEvent.ANSWER:
            return await self._answer(mailbox, notice, tokens, now)
        if notice.event is NoticeEvent.CONFIRM:
            return self._confirm(mailbox, now)
        if notice.event is NoticeEvent.STOPPED:
            if mailbox.state != "stopped":
                return None
            return _Drafted(await self._answers.stopped(mailbox, now), _fields_without_game(mailbox))
        if not notice.game:
            return self._asked_by_operator(mailbox, now) if notice.event is NoticeEvent.INVITED else None
        game = await self._read(notice.game, mailbox.name)
        facts = None if game is None else await self._of_event(notice.event, mailbox, game, now)
        if game is None or facts is None:
            return None
        if notice.event not in _CARDLESS and is_silent(mailbox, now):
            return await self._ask_after_silence(mailbox, game, now)
        version = _version_of(notice.event, game)
        return _Drafted(facts, _fields_of(mailbox, game), over=game.course.finished, version=version)

    async def _read(self, game: str, name: str) -> SeatGame | None:
        try:
            return await self._games.read(game, name)
        except NotFoundError:
            return None

    # --- answers --------------------------------------------------------------------------------------------------

    async def _answer(self, mailbox: Mailbox, notice: Notice, tokens: LetterTokens, now: str) -> _Drafted | None:
        mail = await self._store.incoming(notice.seq)
        if mail is None or not mail.result:
            return None
        game = await self._read(notice.game, mailbox.name) if notice.game else None
        parts = read_result(mail.result)
        silent = is_silent(mailbox, now) and mailbox.state in _PLAYERS
        if silent:
            mailbox = replace(mailbox, cards=False)
        seat = None if game is None else await self._games.facts(mailbox, game, now)
        answered = Answered(mailbox, game, mail, now, seat, tokens)
        letters = [await self._answers.of(each, answered) for each in parts]
        said = tuple(each for each in letters if each is not None)
        if not said:
            return None
        if is_last(parts) and all(each.kind is not AnswerKind.ASKED_BACK for each in parts):
            said = (*said, LastTodayFacts(add_seconds(f"{now[:10]}T00:00:00Z", DAY), now, mailbox.zone))
        if silent:
            drafted = await self._ask_after_silence(mailbox, game, now, *said)
        else:
            drafted = await self._answered(answered, parts, said)
        return drafted._replace(mail=mail, parts=parts)

    async def _answered(self, answered: Answered, parts: Sequence[AnswerPart], said: tuple[OneLetter, ...]) -> _Drafted:
        mailbox, game, mail, now = answered[:4]
        facts: Facts = said[0] if len(said) == 1 else ManyFacts(said)
        for each in parts:
            if each.kind is AnswerKind.ASKED_BACK:
                return _Drafted(facts, *again_token(each, mailbox, game, mail))
            if each.kind is AnswerKind.LOCKED and mailbox.state == "locked":
                return _Drafted(facts, unlock_fields(mailbox, mail.digest), add_seconds(mail.received, CONFIRM_SECONDS))
        if not self._own.delimiter and any(
            each.kind is AnswerKind.SETTING and each.text("name") == COMMANDS for each in parts
        ):
            return _Drafted(facts, command_fields(mailbox))  # this letter is in the place of an address
        if game is None:
            until = asked_until(mailbox) if mailbox.state == "asked" else None
            return _Drafted(facts, _fields_without_game(mailbox), until)
        fields = await self._asked_again(mail, mailbox, game, now) or _fields_of(mailbox, game)
        shows_turn = game.owes_move and game.signs and any(isinstance(each, SHOW_TURN) for each in said)
        shows = game.lines[-1].entry.seq if shows_turn else None
        return _Drafted(facts, fields, over=game.course.finished, shows=shows)

    async def _asked_again(self, mail: IncomingMail, mailbox: Mailbox, game: SeatGame, now: str) -> TokenFields | None:
        """Returns what the token is for that a mail was sent to, if an order was asked back with it and still can come.

        A player who answers the letter that asks back with something else is not asked back anew. A token that asked
        whether to resign is good for nothing else, so the letter about a turn has another.
        """
        reply = None if mail.reply is None else await self._store.reply(mail.reply)
        if reply is None or reply.purpose != Purpose.AGAIN.value or not reply.seq:
            return None
        if not is_good(reply, mailbox, now, (game.course, game.place)):
            return None
        return read_fields(reply, game.lines[int(reply.seq)].entry.head)

    # --- what is to be confirmed ----------------------------------------------------------------------------------

    def _confirm(self, mailbox: Mailbox, now: str) -> _Drafted | None:
        what = what_of(mailbox.confirm or "")
        if mailbox.state == "asked" and (mailbox.confirm or "").startswith(TAKEN):
            near = (mailbox.confirm or "").partition(".")[2].partition(".")[2]
            taken = NameTakenFacts(mailbox.name, self._origin, self._own.mailbox, near)
            return _Drafted(taken, asked_fields(mailbox), asked_until(mailbox))
        if mailbox.state != "asked" or what is None:
            return None
        until = asked_until(mailbox)
        facts: OneLetter = ConfirmFacts(what, mailbox.name, self._origin, until, now, mailbox.orders, zone=mailbox.zone)
        return _Drafted(facts, asked_fields(mailbox), until)

    async def _ask_after_silence(self, mailbox: Mailbox, game: SeatGame | None, now: str, *said: OneLetter) -> _Drafted:
        """Asks the owner of a mailbox, from which nothing has come for long, if they are still there."""
        seat = None if game is None else await self._games.facts(replace(mailbox, cards=False), game, now)
        until = add_seconds(now, CONFIRM_SECONDS)
        asked = ConfirmFacts(ConfirmWhat.SILENCE, mailbox.name, self._origin, until, now, seat=seat, zone=mailbox.zone)
        facts = ManyFacts((*said, asked)) if said else asked
        return _Drafted(facts, silence_fields(mailbox, now), until, over=game is not None and game.course.finished)

    # --- events ---------------------------------------------------------------------------------------------------

    def _asked_by_operator(self, mailbox: Mailbox, now: str) -> _Drafted | None:
        if mailbox.state != "invited":
            return None
        expires = add_seconds(mailbox.since, UNASKED_DAYS * DAY)
        facts = InvitationFacts(mailbox.name, self._origin, now, expires=expires)
        return _Drafted(facts, TokenFields(Purpose.INVITE, mailbox.name), expires)

    async def _of_event(self, event: NoticeEvent, mailbox: Mailbox, game: SeatGame, now: str) -> OneLetter | None:
        """Returns what a letter says about an event in a game; None if that is no longer so."""
        if event is NoticeEvent.INVITED:
            return await self._answers.invitation(mailbox, game, now)
        if event is NoticeEvent.DECLINED:
            return _declined(game)
        seat = await self._games.facts(mailbox, game, now)
        # The service itself sends the entropy of a seat whose only key it holds, so nobody is asked for that.
        owes = game.owes_move or game.owes_own_seed
        match event:
            case NoticeEvent.TURN if owes:
                return TurnFacts(seat)
            case NoticeEvent.REMIND1 | NoticeEvent.REMIND2 if owes:
                return ReminderFacts(seat, event is NoticeEvent.REMIND2)
            case NoticeEvent.OVER if game.seat is not None:
                return OverFacts(seat, format_log(game.lines).encode())
            case NoticeEvent.JOINED:
                return JoinedFacts(seat)
            case NoticeEvent.GIVEN if (seconds := _given(game)) > 0:
                return GivenFacts(seat, seconds)
            case NoticeEvent.ANNUL:
                return AnnulFacts(seat, by_mail=seat.signs and seat.held)
        return None


def _declined(game: SeatGame) -> OneLetter | None:
    lapse = next((line.entry for line in reversed(game.lines) if line.entry.kind == Lapse.KIND), None)
    if lapse is None:
        return None
    body = parse_body(lapse.kind, lapse.body)
    assert isinstance(body, Lapse)
    return DeclinedFacts(game.position.game, game.opponent, body.reason, body.why)


def _given(game: SeatGame) -> int:
    """Returns the largest gift of time for the entry that is due, in seconds."""
    return max((each.seconds or 0 for each in game.held.given), default=0)


def _version_of(event: NoticeEvent, game: SeatGame) -> str:
    """Returns what tells apart the letters of an event that the opponent can repeat at one entry."""
    match event:
        case NoticeEvent.GIVEN:
            return str(_given(game))
        case NoticeEvent.ANNUL:
            return max((each.at for each in game.held.wishes), default="")
    return ""


def _fields_of(mailbox: Mailbox, game: SeatGame) -> TokenFields:
    """Returns what the token is for to which a letter about a game is answered."""
    place, name = game.place, mailbox.name
    if game.position.invited:
        return TokenFields(Purpose.INVITE, name, game.position.game, place.seq, place.head)
    if game.owes_move:
        return TokenFields(Purpose.TURN, name, game.position.game, place.seq, place.head)
    return TokenFields(Purpose.GAME, name, game.position.game)


def _fields_without_game(mailbox: Mailbox) -> TokenFields:
    if mailbox.state in ("asked", "moved") or (mailbox.state == "blocked" and mailbox.confirm is not None):
        return asked_fields(mailbox)
    if mailbox.state in ("invited", "blocked"):
        return TokenFields(Purpose.INVITE, mailbox.name)
    return command_fields(mailbox)
