"""How the commands of a mail that counts are carried out, and the commands about its mailbox.

First comes what changes a game, then requests for information. Nothing is written before the mail is closed, but the
mailbox of a person whom `new` invites; then all is written in one transaction. `MailOrders` reads and judges the mail,
and closes it.

- Settings, and the end and the beginning of letters; letters also end by a web address in their header (RFC 8058).
- `yes` confirms what a letter has asked. It never enters anything into a log.
- `own key`: a mail player asks for a code with which they play on with a key of their own. Nothing changes by that: the
  held key signs until the code is used (`Players.recover`). A person who reads the mailbox is taken for the player.
  So there is no code for anybody whose key is not held: a mailbox does not replace an own key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from hkoji.errors import ClockError, ConflictError, HkojiError, MalformedError, NotFoundError, StorageError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.addresses import is_token
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji.mail.letters.mailbox import ConfirmWhat
from hkoji.mail.tokens import Purpose, TokenFields, token_digest
from hkoji.messages.text import tell
from hkoji_server.service.mail.cases import (
    AnswerKind,
    AnswerPart,
    MailCase,
    MailOutcome,
    OrderWork,
    closing_of,
    part,
    shown_line,
)
from hkoji_server.service.mail.rights import is_silent
from hkoji_server.service.mail.tokens import MailTokens, kept_token
from hkoji_server.service.players.channel_settings import ChannelSettings, Quiet
from hkoji_server.service.players.held_players import HeldPlayers, what_of
from hkoji_server.service.players.players import digest_of
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Query
from hkoji_server.store.mail_tables import MailboxMove
from hkoji_server.store.mail_values import NO_GAME, STOPPED_EVENT, Mailbox
from hkoji_server.store.player_tables import OperatorCode
from hkoji_server.store.tables import row_of
from hkoji_server.store.time_contract import StaleDecisionError

Step = Callable[[OrderWork], Awaitable[AnswerPart]]
"""Prepares what one command of a mail says, in its outcome, and returns what the letter says about it.

It is written when the mail is closed. It raises a `HkojiError` if the command cannot be carried out now.
"""
COMMANDS: Final = "commands"
"""The setting that is the command address."""
CODE_SECONDS: Final = DAY
"""For how long a code for an own key is valid, from when the mail came."""
_HOUR: Final = 3600
_NOTHING_ASKED: Final = tell("nothing waits for your yes")
_INFORMS: Final = {
    OrderKind.SHOW: AnswerKind.SHOW,
    OrderKind.MOVES: AnswerKind.MOVES,
    OrderKind.LOG: AnswerKind.LOG,
    OrderKind.RULES: AnswerKind.RULES,
    OrderKind.GAMES: AnswerKind.GAMES,
    OrderKind.HELP: AnswerKind.HELP,
    OrderKind.EVIDENCE: AnswerKind.EVIDENCE,
}


class NotDoneError(HkojiError):
    """A command cannot be done now. Nothing was changed."""

    code = "not-done"


def not_done(line: str, error: HkojiError) -> AnswerPart:
    """Returns what a letter says about a line that cannot be done."""
    return part(AnswerKind.NOT_DONE, line=shown_line(line), reason=error.message, read=True)


class MailCommands:
    """Carries out the commands of mails to a token that is known. `steps` has those that write to games.

    Settings of the mailbox are written when the mail is closed.
    """

    def __init__(self, store: Store, tokens: MailTokens, players: HeldPlayers, steps: Mapping[OrderKind, Step]) -> None:
        self._store = store
        self._tokens = tokens
        self._players = players
        self._steps: dict[OrderKind, Step] = {
            **steps,
            OrderKind.NOT_ME: self._lock,
            OrderKind.STOP: self._stop,
            OrderKind.START: self._start,
            OrderKind.LANG: self._set_language,
            OrderKind.CARDS: self._set_cards,
            OrderKind.QUIET: self._set_quiet,
            OrderKind.NEW_ADDRESS: self._replace_address,
            OrderKind.OWN_KEY: self._make_code,
            OrderKind.YES: self._confirm,
        }
        self._confirmed: dict[ConfirmWhat, Step] = {
            ConfirmWhat.ON: self._switch_on,
            ConfirmWhat.REGISTER: self._register,
            ConfirmWhat.MOVE: self._move,
            ConfirmWhat.SILENCE: self._break_silence,
            ConfirmWhat.UNLOCK: self._unlock,
        }

    async def obey(self, case: MailCase, orders: tuple[MailOrder, ...], grade: MailGrade) -> MailOutcome:
        """Carries out an accepted mail: first what changes a game, then requests for information. Returns its result.

        If a game cannot be changed so, nothing is done. Raises `StorageError`, `ClockError` or `StaleDecisionError` if
        the mail has to be processed again.
        """
        outcome = MailOutcome(closing_of(case), orders=orders, grade=grade)
        if case.refused is not None:
            line = next((each.line for each in orders if each.decides), orders[0].line)
            outcome.parts = [not_done(line, case.refused)]
            return outcome
        for order in orders:
            # Quiet hours come after a command that changes a game. So they are looked at before anything is done.
            try:
                if order.kind is OrderKind.QUIET:
                    await self._wished_quiet(case, order)
            except MalformedError as error:
                outcome.parts = [not_done(order.line, error)]
                return outcome
        said: dict[int, AnswerPart] = {}
        for order in sorted(orders, key=lambda each: not each.decides):
            place = orders.index(order)
            if order.kind in _INFORMS:
                said[place] = part(_INFORMS[order.kind])
                continue
            try:
                said[place] = await self._steps[order.kind](OrderWork(case, orders, order, grade, outcome))
            except (StorageError, ClockError, ConflictError, StaleDecisionError):
                raise
            except HkojiError as error:
                # The player can read why the game or the service refuses a command.
                return MailOutcome(closing_of(case), [not_done(order.line, error)], orders=orders, grade=grade)
        outcome.parts = [*(said[place] for place in sorted(said)), *outcome.more]
        return outcome

    # --- settings -----------------------------------------------------------------------------------------------------

    async def _lock(self, work: OrderWork) -> AnswerPart:
        if work.mailbox.state not in ("active", "stopped"):  # they play nothing that could be locked
            return await self._stop(work)
        work.outcome.close(mailbox=replace(work.mailbox, state="locked", since=work.case.now))
        return part(AnswerKind.LOCKED)

    async def _stop(self, work: OrderWork) -> AnswerPart:
        work.outcome.close(mailbox=stopped(work.mailbox, work.case.now))
        return part(AnswerKind.STOPPED)

    async def _start(self, work: OrderWork) -> AnswerPart:
        mailbox = work.mailbox
        if mailbox.state == "stopped":
            work.outcome.close(mailbox=replace(mailbox, state="active", since=work.case.now))
        elif mailbox.state == "blocked" and mailbox.confirm is None:
            work.outcome.close(mailbox=replace(mailbox, state="invited", since=work.case.now))
        return part(AnswerKind.STARTED)

    async def _set_language(self, work: OrderWork) -> AnswerPart:
        work.outcome.close(mailbox=replace(work.mailbox, lang=work.order.words[0]))
        return part(AnswerKind.SETTING, name="lang", value=work.order.words[0])

    async def _set_cards(self, work: OrderWork) -> AnswerPart:
        work.outcome.close(mailbox=replace(work.mailbox, cards=work.order.words[0] == "on"))
        return part(AnswerKind.SETTING, name="cards", value=work.order.words[0])

    async def _set_quiet(self, work: OrderWork) -> AnswerPart:
        wished = await self._wished_quiet(work.case, work.order)
        work.outcome.close(settings=wished.text)
        return part(AnswerKind.SETTING, name="quiet", value="-".join(work.order.words))

    async def _wished_quiet(self, case: MailCase, order: MailOrder) -> ChannelSettings:
        """Returns the settings of the mailbox with other quiet hours. Raises `MalformedError` if they are too long."""
        channel = await self._store.channel(case.mailbox.channel)
        if channel is None:
            raise NotFoundError(tell("mailbox"), case.mailbox.name)
        quiet = None if order.words[0] == "off" else Quiet(*(int(word) * _HOUR for word in order.words))
        # Read as strictly as any other settings.
        return ChannelSettings.parse(ChannelSettings.parse(channel.settings)._replace(quiet=quiet).text)

    async def _replace_address(self, work: OrderWork) -> AnswerPart:
        mailbox = replace(work.mailbox, counter=work.mailbox.counter + 1)
        issued = await self._tokens.make(command_fields(mailbox))
        replies = (*work.outcome.closing.replies, kept_token(issued, mailbox, work.case.now, None))
        work.outcome.close(mailbox=mailbox, replies=replies)
        # The letter makes the address again: no row has a token in plain text.
        return part(AnswerKind.SETTING, name=COMMANDS)

    # --- `own key` ----------------------------------------------------------------------------------------------------

    async def _make_code(self, work: OrderWork) -> AnswerPart:
        mail, name = work.case.mail, work.case.mailbox.name
        player = await self._store.player(name)
        if player is None or work.mailbox.state not in ("active", "stopped"):
            raise NotDoneError(tell("you are invited only: accept the invitation first"))
        if await self._store.held_key(player.key) is None:
            raise NotDoneError(tell("you have a key of your own already: {name} plays with it", name=name))
        if await self._store.retired(player.key) is not None:
            raise NotDoneError(
                tell(
                    "the key with which the service signs for you has been revoked: ask the operator of the service "
                    "for a code"
                )
            )
        code = await self._tokens.code(name, mail.digest)
        expires = add_seconds(mail.received, CODE_SECONDS)
        work.outcome.close(code=row_of(OperatorCode, digest=digest_of(code), name=name, expires=expires))
        return part(AnswerKind.CODE)

    # --- `yes` --------------------------------------------------------------------------------------------------------

    async def _confirm(self, work: OrderWork) -> AnswerPart:
        what = what_of(work.case.fields.about)
        if what is None and is_silent(work.case.mailbox, work.case.mail.received):
            what = ConfirmWhat.SILENCE
        if what is None:
            raise NotDoneError(_NOTHING_ASKED)
        return await self._confirmed[what](work)

    async def _switch_on(self, work: OrderWork) -> AnswerPart:
        """The mailbox of a player with a key of their own is theirs: letters go to it, and its mails are orders."""
        if work.mailbox.state == "asked":
            active = replace(work.mailbox, state="active", since=work.case.now)
            work.outcome.close(mailbox=active, answered=work.case.now)
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.ON.value)

    async def _register(self, work: OrderWork) -> AnswerPart:
        await accept(self._players, work)
        return part(AnswerKind.WELCOME)

    async def _move(self, work: OrderWork) -> AnswerPart:
        """The mailbox takes the place of that from which the player has written so far."""
        asked = work.case.mailbox
        if asked.state == "asked":
            left = await self._store.mailbox_of(asked.name, work.case.now)
            if left is None:
                raise NotDoneError(_NOTHING_ASKED)
            certificate = await self._players.certify(asked.name, left.held_key, asked.address)
            work.outcome.close(move=MailboxMove(left.channel, asked.channel, certificate, work.case.now))
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.MOVE.value)

    async def _break_silence(self, work: OrderWork) -> AnswerPart:
        work.outcome.speaks = True
        waiting = await self._store.games(Query(player=work.mailbox.name, waiting=True, own=True))
        work.outcome.games = [each.game for each in waiting] or [NO_GAME]
        work.outcome.more = [part(AnswerKind.CURRENT)]
        return part(AnswerKind.CONFIRMED, what=ConfirmWhat.SILENCE.value)

    async def _unlock(self, work: OrderWork) -> AnswerPart:
        if work.case.mailbox.state == "locked":
            work.outcome.close(mailbox=replace(work.case.mailbox, state="active", since=work.case.now))
        return part(AnswerKind.STARTED)


async def accept(players: HeldPlayers, work: OrderWork) -> None:
    """Registers the owner of an invited mailbox, who has accepted, when the mail is closed."""
    player = await players.registration(work.case.mailbox)
    work.outcome.close(registers=player)
    if work.mailbox.state != "active":
        work.outcome.close(mailbox=replace(work.mailbox, state="active", since=player.registered))


def stopped(mailbox: Mailbox, now: str) -> Mailbox:
    """Returns a mailbox whose owner wants no more letters; of one who was only invited, no more invitations."""
    if mailbox.state in ("invited", "asked", "blocked", "moved"):
        # Of a mailbox that has been left, nobody wants letters.
        return mailbox if mailbox.state == "blocked" else replace(mailbox, state="blocked", since=now)
    return replace(mailbox, state="stopped", since=now) if mailbox.state == "active" else mailbox


def command_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token of a player's command address is for."""
    return TokenFields(Purpose.COMMAND, mailbox.name, about=str(mailbox.counter))


def stop_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token is for by which the letters to a mailbox are stopped; the same in all of them.

    A player may have another mailbox already than the one that is asked: that one is not stopped from here.
    """
    other = mailbox.state in ("asked", "moved") or (mailbox.state == "blocked" and mailbox.confirm is not None)
    return TokenFields(Purpose.STOP, mailbox.name, about=mailbox.channel if other else "")


async def stop_by_token(store: Store, sources: ClockAndEntropy, token: str) -> None:
    """Stops the letters to the mailbox of a token, if there is one. A second call changes nothing.

    A player gets a letter that says so. Somebody who has only been invited gets no more invitations.
    """
    token = token.lower()
    reply = await store.reply(token_digest(token)) if is_token(token) else None
    mailbox = None if reply is None or reply.purpose != Purpose.STOP else await store.mailbox(reply.channel)
    if mailbox is None:
        return
    changed = stopped(mailbox, sources.at())
    if changed != mailbox:
        letter = STOPPED_EVENT if changed.plays else None
        await store.change_mailbox(changed, mailbox, letter=letter)
