"""The parts of a letter that answers a mail: its result, with the game as it is when the letter is sent."""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game import entry_kinds
from hkoji.game.clock import add_seconds
from hkoji.game.position import action_of
from hkoji.log.line import format_log
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters.answers import (
    AskedBackFacts,
    AskedWhy,
    CalledOffFacts,
    FirstCountsFacts,
    GaveFacts,
    NotUnderstoodFacts,
    OnRecordFacts,
    TurnOverFacts,
    UnreadableFacts,
)
from hkoji.mail.letters.events import TurnFacts
from hkoji.mail.letters.game_words import GameRow, SeatFacts
from hkoji.mail.letters.invitations import InvitationFacts, LetterWaits, WelcomeFacts
from hkoji.mail.letters.mailbox import (
    CodeFacts,
    ConfirmedFacts,
    ConfirmWhat,
    LeftFacts,
    LockedFacts,
    StartedFacts,
    StoppedFacts,
)
from hkoji.mail.letters.page import OneLetter
from hkoji.mail.letters.shown import (
    EvidenceFacts,
    GamesFacts,
    HelpFacts,
    LogFacts,
    MovesFacts,
    RulesFacts,
    SettingFacts,
    ShowFacts,
)
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji.manual.rules_pages import page
from hkoji.messages.text import tell
from hkoji.rules.registry import DEFAULT
from hkoji_server.service.mail.cases import AnswerKind, AnswerPart
from hkoji_server.service.mail.commands import CODE_SECONDS, COMMANDS, command_fields
from hkoji_server.service.mail.seat_games import SeatGame, SeatGames, mails_of
from hkoji_server.service.mail.tokens import LetterTokens, MailTokens, answered_by
from hkoji_server.service.players.held_players import what_of
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import Mailbox

_WIDTH: Final = 72
_IN_VAIN: Final = tell("it could not be processed; the operator of the service knows")
_IN_GAME: Final = (
    AnswerKind.ON_RECORD,
    AnswerKind.DECLINED,
    AnswerKind.TURN_OVER,
    AnswerKind.CALLED_OFF,
    AnswerKind.GAVE,
    AnswerKind.SHOW,
    AnswerKind.MOVES,
    AnswerKind.LOG,
)
"""The parts that are about a game."""


class Answered(NamedTuple):
    """From which the parts of an answer are rendered: the same for all. `tokens` gets those that they show."""

    mailbox: Mailbox
    game: SeatGame | None
    mail: IncomingMail
    now: str
    seat: SeatFacts | None
    tokens: LetterTokens


class AnswerFacts:
    """Makes the parts of answers. `own` is the service's mail address, `origin` its address for browsers."""

    def __init__(self, store: Store, games: SeatGames, tokens: MailTokens, *, own: OwnAddress, origin: str) -> None:
        self._store = store
        self._games = games
        self._tokens = tokens
        self._own = own
        self._origin = origin

    async def of(self, part: AnswerPart, asked: Answered) -> OneLetter | None:
        """Returns what a letter says about one part of an answer; None if it says nothing."""
        mailbox, game, now, seat = asked.mailbox, asked.game, asked.now, asked.seat
        if mailbox.state == "moved":  # the player's letters go to another mailbox, whose mail this has answered
            return LeftFacts(mailbox.name, self._origin)
        match part.kind:
            case AnswerKind.WELCOME:
                return await self._welcome(asked)
            case AnswerKind.CONFIRMED:
                return await self._confirmed(ConfirmWhat(part.text("what")), asked)
            case AnswerKind.CODE:
                return await self._code(asked)
            case AnswerKind.CURRENT:
                return await self._current(asked)
            case AnswerKind.STOPPED:
                return await self.stopped(mailbox, now)
            case AnswerKind.STARTED:
                return StartedFacts(mailbox.name, await self._rows(mailbox), now, mailbox.zone)
            case AnswerKind.GAMES:
                return await self._list_games(mailbox, now)
            case AnswerKind.RULES:
                name = DEFAULT if game is None else str(game.course.setup.ruleset.to_json()["name"])
                return RulesFacts(name, page(name, mailbox.lang, width=_WIDTH, commands=False), seat)
            case AnswerKind.SETTING:
                name = part.text("name")
                value = await self._commands(asked) if name == COMMANDS else part.text("value")
                return SettingFacts(name, value, mailbox.zone)
        if game is None or seat is None:
            # A part about a game may answer a mail about none: the list has the games.
            return await self._list_games(mailbox, now) if part.kind in _IN_GAME else _anywhere(part, asked)
        if part.kind is AnswerKind.EVIDENCE:
            return EvidenceFacts(seat, await mails_of(self._store, game.lines, mailbox.name))
        return _in_game(part, game, seat) if part.kind in _IN_GAME else _anywhere(part, asked)

    async def invitation(self, mailbox: Mailbox, game: SeatGame, now: str) -> OneLetter | None:
        """Returns the invitation to a game that the owner of a mailbox can still join; None if they cannot."""
        setup = game.course.setup
        if not game.position.invited or not game.signs:
            return None
        return InvitationFacts(
            mailbox.name,
            self._origin,
            now,
            host=setup.names[0],
            game=setup.game,
            ruleset=setup.ruleset,
            agreement=setup.agreement,
            known=mailbox.state != "invited",
            held=not await self._store.has_own_key(mailbox.name),
            host_held=game.course.setup.held(0),
            expires=setup.agreement.expires,
            zone=mailbox.zone,
            sealed=game.course.sealed is not None,
        )

    # --- of any game ----------------------------------------------------------------------------------------------

    async def _welcome(self, asked: Answered) -> OneLetter | None:
        mailbox = asked.mailbox
        certificates = await self._store.certificates(mailbox.held_key)
        return WelcomeFacts(
            name=mailbox.name,
            mailbox=mailbox.address,
            origin=self._origin,
            commands=await self._commands(asked),
            salt=certificates[0].salt,
            seat=asked.seat,
        )

    async def _code(self, asked: Answered) -> OneLetter | None:
        name, mail = asked.mailbox.name, asked.mail
        player = await self._store.player(name)
        held = player is not None and await self._store.held_key(player.key) is not None
        code = await self._tokens.code(name, mail.digest) if held else ""
        return CodeFacts(
            name,
            self._origin,
            code,
            add_seconds(mail.received, CODE_SECONDS),
            asked.now,
            asked.seat,
            asked.mailbox.zone,
        )

    async def _commands(self, asked: Answered) -> str:
        """Returns the command address; empty if addresses have no token."""
        if not self._own.delimiter:
            return ""
        return self._own.with_token(await asked.tokens.issue(command_fields(asked.mailbox)))

    async def _list_games(self, mailbox: Mailbox, now: str) -> OneLetter:
        return GamesFacts(mailbox.name, await self._rows(mailbox), now, mailbox.zone)

    async def _rows(self, mailbox: Mailbox) -> tuple[GameRow, ...]:
        """Returns the running games of a player. The name of who does not play yet may be somebody else's."""
        return await self._games.rows(mailbox.name) if mailbox.plays else ()

    async def _confirmed(self, what: ConfirmWhat, asked: Answered) -> OneLetter | None:
        mailbox = asked.mailbox
        facts = ConfirmedFacts(what, mailbox.name, self._origin, asked.now, mailbox.address, orders=mailbox.orders)
        if what is ConfirmWhat.SILENCE:
            return facts
        certificates = await self._store.certificates(mailbox.held_key) if mailbox.held_key else ()
        salt = certificates[0].salt if certificates else ""
        rows = await self._rows(mailbox)
        return facts._replace(commands=await self._commands(asked), salt=salt, rows=rows, zone=mailbox.zone)

    async def stopped(self, mailbox: Mailbox, now: str) -> StoppedFacts:
        """Returns what is said to the owner of a mailbox who wants no more letters."""
        seats = []
        for each in await self._games.running(mailbox.name) if mailbox.plays else ():
            game = await self._games.read(each.game, mailbox.name)
            seats.append(await self._games.facts(mailbox, game, now))
        return StoppedFacts(mailbox.name, tuple(seats))

    async def _current(self, asked: Answered) -> OneLetter | None:
        game, seat = asked.game, asked.seat
        if game is None or seat is None:
            return await self._list_games(asked.mailbox, asked.now)
        if game.position.invited:
            return await self.invitation(asked.mailbox, game, asked.now)
        return TurnFacts(seat) if game.owes_move else ShowFacts(seat)


def _waits(mailbox: Mailbox) -> LetterWaits | None:
    """Returns what a mailbox has been asked."""
    if mailbox.state == "invited":
        return LetterWaits.INVITED
    return LetterWaits.ASKED if mailbox.state == "asked" and what_of(mailbox.confirm or "") is not None else None


def again_token(
    part: AnswerPart, mailbox: Mailbox, game: SeatGame | None, mail: IncomingMail
) -> tuple[TokenFields, str | None]:
    """Returns what the token is for by which an order was asked back, and until when it is good."""
    seq, until, confirms = (part.values.get(name) for name in ("seq", "until", "about"))
    if confirms is not None:
        return TokenFields(Purpose.YES, mailbox.name, about=confirms), until
    about = mail.digest
    if game is None:
        return TokenFields(Purpose.AGAIN, mailbox.name, about=about), until
    if seq is None:
        return TokenFields(Purpose.AGAIN, mailbox.name, mail.game, about=about), None
    return TokenFields(Purpose.AGAIN, mailbox.name, mail.game, seq, game.lines[seq].entry.head, about), None


# --- in a game --------------------------------------------------------------------------------------------------------


def _in_game(part: AnswerPart, game: SeatGame, seat: SeatFacts) -> OneLetter | None:
    match part.kind:
        case AnswerKind.ON_RECORD:
            return _on_record(int(part.values["seq"]), game, seat)
        case AnswerKind.DECLINED:
            line = next((each for each in reversed(game.lines) if each.entry.kind == entry_kinds.Lapse.KIND), None)
            if line is not None and line.receipt is not None:
                return OnRecordFacts(seat, line.entry.kind, line.receipt.receipt.at)
        case AnswerKind.TURN_OVER:
            return _turn_over(part.values.get("after"), game, seat)
        case AnswerKind.CALLED_OFF:
            return CalledOffFacts(seat)
        case AnswerKind.GAVE:
            return GaveFacts(seat, int(part.values["seconds"]))
        case AnswerKind.SHOW:
            return ShowFacts(seat)
        case AnswerKind.MOVES:
            return MovesFacts(seat)
        case AnswerKind.LOG:
            return LogFacts(seat, format_log(game.lines).encode())
    return None


def _on_record(seq: int, game: SeatGame, seat: SeatFacts) -> OneLetter:
    line, step = game.lines[seq], game.position.replay.steps[seq]
    assert line.receipt is not None  # the service has signed each line of its own log
    action = action_of(step) if isinstance(step.body, entry_kinds.Move) else ""
    log = format_log(game.lines).encode() if game.course.finished else b""
    return OnRecordFacts(seat, line.entry.kind, line.receipt.receipt.at, action, log)


def _turn_over(after: int | None, game: SeatGame, seat: SeatFacts) -> OneLetter:
    entry = (None if after is None else answered_by(game.lines, int(after))) or game.lines[-1].entry
    step, names = game.position.replay.steps[entry.seq], game.course.setup.names
    if not isinstance(step.body, entry_kinds.Move) or entry.by not in names:
        return TurnOverFacts(seat)
    return TurnOverFacts(seat, action_of(step), names.index(entry.by))


# --- with or without a game -------------------------------------------------------------------------------------------


def _anywhere(part: AnswerPart, asked: Answered) -> OneLetter | None:
    mailbox, seat = asked.mailbox, asked.seat
    waits = _waits(mailbox) if seat is None else None
    match part.kind:
        case AnswerKind.NOT_DONE:
            near = tuple(str(each) for each in part.values.get("near", ()))
            more = bool(part.values.get("more"))
            ask, read = part.text("ask"), bool(part.values.get("read"))
            said = NotUnderstoodFacts(part.text("line"), part.text("reason"), seat, near, ask, more, waits, read)
            return said._replace(now=asked.now, zone=mailbox.zone)
        case AnswerKind.ASKED_BACK:
            until = again_token(part, mailbox, asked.game, asked.mail)[1]
            why = AskedWhy(part.text("why"))
            return AskedBackFacts(part.text("order"), why, seat, part.text("sender"), until, asked.now, mailbox.zone)
        case AnswerKind.HELP:
            return HelpFacts(seat, waits)
        case AnswerKind.LOCKED:
            return LockedFacts(mailbox.name, mailbox.state == "suspended")
        case AnswerKind.UNREADABLE:
            return UnreadableFacts(part.text("reason"), seat, form=bool(part.values.get("form", True)))
        case AnswerKind.OTHER_BYTES:
            return FirstCountsFacts(seat)
        case AnswerKind.SET_ASIDE:
            return UnreadableFacts(_IN_VAIN, seat, form=False)
    return None
