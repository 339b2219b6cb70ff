"""What the letter that answers a mail says: the result of the mail, with the game as it is when the letter is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from hkoji.game import entry_kinds
from hkoji.game.clock import add_seconds
from hkoji.game.position import action_of
from hkoji.log.line import format_log
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters.confirmation_facts import ConfirmedFacts, ConfirmWhat, LeftFacts
from hkoji.mail.letters.facts import (
    AskedBackFacts,
    AskedWhy,
    CalledOffFacts,
    CodeFacts,
    EvidenceFacts,
    FirstCountsFacts,
    GamesFacts,
    GaveFacts,
    HelpFacts,
    InvitationFacts,
    LetterWaits,
    LockedFacts,
    LogFacts,
    MovesFacts,
    NotUnderstoodFacts,
    OneLetter,
    OnRecordFacts,
    RulesFacts,
    SettingFacts,
    ShowFacts,
    StartedFacts,
    StoppedFacts,
    TurnFacts,
    TurnOverFacts,
    UnreadableFacts,
    WelcomeFacts,
)
from hkoji.mail.letters.game_facts import GameRow, SeatFacts
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji.manual.rules_pages import page
from hkoji.messages.text import tell
from hkoji.rules.registry import DEFAULT
from hkoji_server.service.mail.cases import AnswerKind, AnswerPart
from hkoji_server.service.mail.commands import CODE_SECONDS, COMMANDS, command_fields
from hkoji_server.service.mail.seat_games import SeatFactsReader, SeatGame, SeatGames, mails_of
from hkoji_server.service.mail.tokens import MailTokens, answered_by
from hkoji_server.service.players.held_players import what_of
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import IncomingMail, Mailbox

_WIDTH: Final = 72
_IN_VAIN: Final = tell("it could not be processed; the operator of the service knows")


class _Asked:
    """A part of an answer that is to be rendered, and what it is rendered from."""

    __slots__ = ("game", "mail", "mailbox", "now", "part", "seat")

    def __init__(
        self,
        part: AnswerPart,
        mailbox: Mailbox,
        game: SeatGame | None,
        mail: IncomingMail,
        now: str,
        seat: SeatFacts | None,
    ) -> None:
        self.part = part
        self.mailbox = mailbox
        self.game = game
        self.mail = mail
        self.now = now
        self.seat = seat


_Render = Callable[[_Asked], Awaitable[OneLetter | None]]
_RenderInGame = Callable[[_Asked, SeatGame, SeatFacts], OneLetter | None]


class AnswerFacts:
    """Makes the parts of answers. `own` is the service's mail address, `origin` its address for browsers."""

    def __init__(
        self,
        store: Store,
        games: SeatGames,
        tokens: MailTokens,
        seats: SeatFactsReader,
        *,
        own: OwnAddress,
        origin: str,
    ) -> None:
        self._store = store
        self._games = games
        self._tokens = tokens
        self._seats = seats
        self._own = own
        self._origin = origin
        self._of_kind: dict[AnswerKind, _Render] = {
            AnswerKind.WELCOME: self._welcome,
            AnswerKind.GAMES: self._list_games,
            AnswerKind.STARTED: self._started,
            AnswerKind.STOPPED: self._stopped,
            AnswerKind.RULES: self._rules,
            AnswerKind.SETTING: self._setting,
            AnswerKind.CURRENT: self._current,
            AnswerKind.CONFIRMED: self._confirmed,
            AnswerKind.CODE: self._code,
        }
        self._in_game: dict[AnswerKind, _RenderInGame] = {
            AnswerKind.ON_RECORD: _on_record,
            AnswerKind.DECLINED: _declined,
            AnswerKind.TURN_OVER: _turn_over,
            AnswerKind.CALLED_OFF: lambda _, __, seat: CalledOffFacts(seat),
            AnswerKind.GAVE: lambda asked, _, seat: GaveFacts(seat, int(asked.part.values["seconds"])),
            AnswerKind.SHOW: lambda _, __, seat: ShowFacts(seat),
            AnswerKind.MOVES: lambda _, __, seat: MovesFacts(seat),
            AnswerKind.LOG: lambda _, game, seat: LogFacts(seat, format_log(game.lines).encode()),
        }

    async def of(
        self, part: AnswerPart, mailbox: Mailbox, game: SeatGame | None, mail: IncomingMail, now: str
    ) -> OneLetter | None:
        """Returns what a letter says about one part of an answer; None if it says nothing."""
        if mailbox.state == "moved":  # the player's letters go to another mailbox, whose mail this has answered
            return LeftFacts(mailbox.name, self._origin)
        seat = None if game is None else await self._seats.of(mailbox, game, now)
        asked = _Asked(part, mailbox, game, mail, now, seat)
        if (render := self._of_kind.get(part.kind)) is not None:
            return await render(asked)
        if part.kind is AnswerKind.EVIDENCE and game is not None and seat is not None:
            return EvidenceFacts(seat, await mails_of(self._store, game.lines, mailbox.name))
        if (in_game := self._in_game.get(part.kind)) is not None:
            if game is None or seat is None:
                # What was asked for is about a game, and the mail about none: the list has the games.
                return await self._list_games(asked)
            return in_game(asked, game, seat)
        return _anywhere(asked)

    async def invitation(self, mailbox: Mailbox, game: SeatGame, now: str) -> OneLetter | None:
        """Returns the invitation to a game that the owner of a mailbox can still join; None if they cannot."""
        setup = game.course.setup
        if not game.position.invited or not game.signs:
            return None
        player = await self._store.player(mailbox.name)
        own_key = player is not None and await self._store.held_key(player.key) is None
        return InvitationFacts(
            mailbox.name,
            self._origin,
            now,
            host=setup.names[0],
            game=setup.game,
            ruleset=setup.ruleset,
            agreement=setup.agreement,
            known=mailbox.state != "invited",
            held=not own_key,
            host_held=game.course.setup.held(0),
            expires=setup.agreement.expires,
            zone=mailbox.zone,
        )

    # --- of any game ----------------------------------------------------------------------------------------------

    async def _welcome(self, asked: _Asked) -> OneLetter | None:
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

    async def _setting(self, asked: _Asked) -> OneLetter | None:
        name = asked.part.text("name")
        value = await self._commands(asked) if name == COMMANDS else asked.part.text("value")
        return SettingFacts(name, value, asked.mailbox.zone)

    async def _code(self, asked: _Asked) -> OneLetter | None:
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

    async def _commands(self, asked: _Asked) -> str:
        """Returns the command address; empty if addresses have no token."""
        if not self._own.delimiter:
            return ""
        issued = await self._tokens.issue(command_fields(asked.mailbox), asked.mailbox, asked.now)
        return self._own.with_token(issued.text)

    async def _list_games(self, asked: _Asked) -> OneLetter | None:
        return GamesFacts(asked.mailbox.name, await self._rows(asked), asked.now, asked.mailbox.zone)

    async def _rows(self, asked: _Asked) -> tuple[GameRow, ...]:
        """Returns the running games of a player. The name of who does not play yet may be somebody else's."""
        return await self._seats.rows(asked.mailbox.name) if asked.mailbox.plays else ()

    async def _confirmed(self, asked: _Asked) -> OneLetter | None:
        mailbox, what = asked.mailbox, ConfirmWhat(asked.part.text("what"))
        facts = ConfirmedFacts(what, mailbox.name, self._origin, asked.now, mailbox.address, orders=mailbox.orders)
        if what is ConfirmWhat.SILENCE:
            return facts
        certificates = await self._store.certificates(mailbox.held_key) if mailbox.held_key else ()
        salt = certificates[0].salt if certificates else ""
        rows = await self._rows(asked)
        return facts._replace(commands=await self._commands(asked), salt=salt, rows=rows, zone=mailbox.zone)

    async def _started(self, asked: _Asked) -> OneLetter | None:
        return StartedFacts(asked.mailbox.name, await self._rows(asked), asked.now, asked.mailbox.zone)

    async def _stopped(self, asked: _Asked) -> OneLetter | None:
        return await self.stopped(asked.mailbox, asked.now)

    async def stopped(self, mailbox: Mailbox, now: str) -> StoppedFacts:
        """Returns what is said to the owner of a mailbox who wants no more letters."""
        seats = []
        for each in await self._seats.running(mailbox.name) if mailbox.plays else ():
            game = await self._games.read(each.game, mailbox.name)
            seats.append(await self._seats.of(mailbox, game, now))
        return StoppedFacts(mailbox.name, tuple(seats))

    async def _rules(self, asked: _Asked) -> OneLetter | None:
        name = DEFAULT if asked.game is None else str(asked.game.course.setup.ruleset.to_json()["name"])
        return RulesFacts(name, page(name, asked.mailbox.lang, width=_WIDTH, commands=False), asked.seat)

    async def _current(self, asked: _Asked) -> OneLetter | None:
        game, seat = asked.game, asked.seat
        if game is None or seat is None:
            return await self._list_games(asked)
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


def _on_record(asked: _Asked, game: SeatGame, seat: SeatFacts) -> OneLetter | None:
    seq = int(asked.part.values["seq"])
    line, step = game.lines[seq], game.position.replay.steps[seq]
    assert line.receipt is not None  # the service has signed each line of its own log
    action = action_of(step) if isinstance(step.body, entry_kinds.Move) else ""
    log = format_log(game.lines).encode() if game.course.finished else b""
    return OnRecordFacts(seat, line.entry.kind, line.receipt.receipt.at, action, log)


def _declined(asked: _Asked, game: SeatGame, seat: SeatFacts) -> OneLetter | None:  # noqa: ARG001
    line = next((each for each in reversed(game.lines) if each.entry.kind == entry_kinds.Lapse.KIND), None)
    if line is None or line.receipt is None:
        return None
    return OnRecordFacts(seat, line.entry.kind, line.receipt.receipt.at)


def _turn_over(asked: _Asked, game: SeatGame, seat: SeatFacts) -> OneLetter | None:
    after = asked.part.values.get("after")
    entry = (None if after is None else answered_by(game.lines, int(after))) or game.lines[-1].entry
    step, names = game.position.replay.steps[entry.seq], game.course.setup.names
    if not isinstance(step.body, entry_kinds.Move) or entry.by not in names:
        return TurnOverFacts(seat)
    return TurnOverFacts(seat, action_of(step), names.index(entry.by))


# --- with or without a game -------------------------------------------------------------------------------------------


def _anywhere(asked: _Asked) -> OneLetter | None:
    part, mailbox, seat = asked.part, asked.mailbox, asked.seat
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
