"""What each command of a mail does, once it is known that the mail counts.

Every step can be repeated: what is entered into a log has a draft first, and settings are written when the mail is
closed. `MailOrders` reads and judges the mail, and closes it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from hkoji.errors import ClockError, ConflictError, HkojiError, MalformedError, NotFoundError, StorageError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.clock import add_seconds
from hkoji.game.held_keys import Gateway
from hkoji.game.time_control import DAY, parse_time_control
from hkoji.log.canonical import is_name
from hkoji.log.mail_claim import MailGrade
from hkoji.log.public_key import parse_public_key
from hkoji.mail.mail_commitment import Purpose, TokenFields
from hkoji.mail.order_types import MailOrder, OrderKind
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS
from hkoji_server.service.channel_settings import ChannelSettings, Quiet
from hkoji_server.service.games import Games
from hkoji_server.service.invitation_answers import InvitationAnswers
from hkoji_server.service.mail_cases import DraftText, MailCase, MailOutcome
from hkoji_server.service.mail_entries import Entered, MailEntries
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part, shown_line
from hkoji_server.service.mail_tokens import MailTokens, kept_token
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import NO_GAME, Mailbox
from hkoji_server.store.time_contract import StaleDecisionError

INVITATION_SECONDS: Final = 7 * DAY
"""For how long the invitation of a `new` stands."""
DEFAULT_CLOCK: Final = "3d/14d"
"""The clock of a `new` that names none."""
_INFORMS: Final = {
    OrderKind.SHOW: AnswerKind.SHOW,
    OrderKind.MOVES: AnswerKind.MOVES,
    OrderKind.LOG: AnswerKind.LOG,
    OrderKind.RULES: AnswerKind.RULES,
    OrderKind.GAMES: AnswerKind.GAMES,
    OrderKind.HELP: AnswerKind.HELP,
}
_HOUR: Final = 3600


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
"""Does what one command of a mail says, and returns what the letter says about it."""


class Registrar(Protocol):
    """Who makes mail players (`hkoji_server.service.held_players`)."""

    async def invite(self, name: str, address: str, lang: str, by: str | None) -> Gateway:
        """Invites the owner of a mailbox to play under a name, and returns the certificate of the held key.

        The same invitation again changes nothing. Raises what `MailStore.invite_mailbox` raises, and `MalformedError`.
        """

    async def register(self, mailbox: Mailbox) -> None:
        """Registers the owner of an invited mailbox, who has accepted. If that is done already, nothing changes.

        Raises what `MailStore.accept_mailbox` raises.
        """


class NotDoneError(HkojiError):
    """A command cannot be done now. Nothing was changed."""

    code = "not-done"


class MailCommands:
    """The commands of mails to a token that is known."""

    def __init__(
        self,
        store: Store,
        entries: MailEntries,
        games: Games,
        answers: InvitationAnswers,
        players: Registrar,
        tokens: MailTokens,
    ) -> None:
        self._store = store
        self._entries = entries
        self._games = games
        self._answers = answers
        self._players = players
        self._tokens = tokens
        self._steps: dict[OrderKind, Step] = {
            OrderKind.MOVE: self._enter,
            OrderKind.RESIGN: self._enter,
            OrderKind.CANCEL: self._enter,
            OrderKind.CALL_OFF: self._call_off,
            OrderKind.ACCEPT: self._accept,
            OrderKind.DECLINE: self._decline,
            OrderKind.NEW: self._new,
            OrderKind.YES: self._confirm,
            OrderKind.NOT_ME: self._lock,
            OrderKind.STOP: self._stop,
            OrderKind.START: self._start,
            OrderKind.LANG: self._set_language,
            OrderKind.CARDS: self._set_cards,
            OrderKind.QUIET: self._set_quiet,
            OrderKind.NEW_ADDRESS: self._replace_address,
        }

    async def obey(self, case: MailCase, orders: tuple[MailOrder, ...], grade: MailGrade) -> MailOutcome:
        """Does what a mail says, and returns what becomes of it. What it decides is done first.

        If that cannot be done, nothing is. Raises `StorageError` and `ClockError`, and whatever else means that the
        mail has to be processed again.
        """
        unknown = [each for each in orders if each.kind not in self._steps and each.kind not in _INFORMS]
        if unknown:
            return MailOutcome([part(AnswerKind.NOT_YET, command=each.kind.value) for each in unknown])
        for order in orders:
            # What is decided comes first. So what could fail behind it is looked at before anything is done.
            if order.kind is OrderKind.QUIET:
                try:
                    await self._wished_quiet(case, order)
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
        outcome.parts = [said[place] for place in sorted(said)]
        return outcome

    # --- entries and statements -----------------------------------------------------------------------------------

    async def _enter(self, work: OrderWork) -> AnswerPart:
        try:
            entered = await self._entries.enter(work.case, work.orders, work.order, work.grade)
        except ConflictError:  # the turn has ended while the mail was processed
            return part(AnswerKind.TURN_OVER, after=work.case.fields.seq)
        return self._on_record(entered, work.outcome)

    async def _call_off(self, work: OrderWork) -> AnswerPart:
        try:
            entered = await self._entries.call_off(work.case, work.orders, work.grade)
        except ConflictError:
            return part(AnswerKind.TURN_OVER, after=work.case.fields.seq)
        if entered.seq is None:
            work.outcome.evidence = entered.evidence
            return part(AnswerKind.CALLED_OFF)
        return self._on_record(entered, work.outcome)

    async def _accept(self, work: OrderWork) -> AnswerPart:
        game, mailbox = work.case.mail.game, work.case.mailbox
        if not game:
            await self._register(work)
            return part(AnswerKind.WELCOME)
        # The draft comes before the registration: it remembers whether the player was new.
        draft = await self._entries.kept(game, work.case.mail.digest)
        if draft is None:
            draft = await self._entries.join(work.case, work.orders, work.grade, welcome=mailbox.state == "invited")
        if draft.welcome:
            await self._register(work)
        entered = await self._entries.submit(work.case, game, draft)
        said = self._on_record(entered, work.outcome)
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

    async def _new(self, work: OrderWork) -> AnswerPart:
        ruleset, name, address, *rest = work.order.words
        host = work.case.mailbox.name
        game_type = RULESETS.get(ruleset)
        if game_type is None:
            raise NotDoneError(
                tell("there is no game {name}; the games are {names}", name=ruleset, names=", ".join(RULESETS))
            )
        if not is_name(name):
            raise NotDoneError(tell("{name} cannot be a player's name", name=name))
        if name == host:
            raise NotDoneError(tell("a player cannot invite themselves"))
        if work.mailbox.state not in ("active", "stopped"):
            # Before anything is made for it, or they would take a name and a mailbox without playing.
            raise NotDoneError(tell("you are invited only: accept the invitation first"))
        retired = await self._store.retired(work.mailbox.held_key)
        if retired is not None and retired.revoked:
            raise NotDoneError(tell("the key with which the service signs for you has been revoked"))
        try:
            control = parse_time_control(rest[0] if rest else DEFAULT_CLOCK)
        except UsageError as error:
            raise NotDoneError(error.message) from error
        agreement = Agreement(control, add_seconds(work.case.mail.received, INVITATION_SECONDS))
        kept = await self._entries.kept(NO_GAME, work.case.mail.digest)
        if kept is None:
            await self._games.verify_invitation(agreement, host)
            # A mail that is processed twice makes one game, whoever does it.
            made = DraftText(work.orders, work.grade, offered=await self._tokens.new_game(work.case.mail.digest))
            try:
                key = await self._key_of(name, address, work)
            except HkojiError:
                # Another process may have been faster, and the invitation may have opened its game.
                kept = await self._entries.kept(NO_GAME, work.case.mail.digest)
                if kept is None:
                    raise
            else:
                kept = await self._entries.keep(NO_GAME, work.case, made._replace(invited=key))
        game = kept.offered
        await self._offer(game, game_type(), agreement, host)
        draft = await self._entries.kept(game, work.case.mail.digest)
        if draft is None:
            invite = entry_kinds.Invite(name, parse_public_key(kept.invited))
            draft = await self._entries.open(work.case, game, invite, work.orders, work.grade)
        entered = await self._entries.submit(work.case, game, draft)
        work.outcome.games = [game]
        work.outcome.forget_drafts = True
        return self._on_record(entered, work.outcome)

    async def _key_of(self, name: str, address: str, work: OrderWork) -> str:
        """Returns the key of whom a `new` invites. The address is for somebody who is new here."""
        player = await self._store.player(name)
        if player is not None:
            return player.key
        return (await self._players.invite(name, address, work.mailbox.lang, work.case.mailbox.name)).key.text

    async def _offer(self, game: str, ruleset: Ruleset, agreement: Agreement, host: str) -> None:
        """Offers a game to the player, unless that was done already."""
        if await self._store.head(game) is not None:
            return
        try:
            await self._games.offer(ruleset, agreement, host, game_id=game)
        except HkojiError:
            if await self._store.head(game) is None:
                raise

    def _on_record(self, entered: Entered, outcome: MailOutcome) -> AnswerPart:
        outcome.evidence = entered.evidence
        return part(AnswerKind.ON_RECORD, seq=entered.seq)

    # --- what writes no entry -------------------------------------------------------------------------------------

    async def _confirm(self, work: OrderWork) -> AnswerPart:
        if not work.case.fields.about.startswith(UNLOCK):
            return part(AnswerKind.NOT_YET, command=work.order.kind.value)
        if work.case.mailbox.state == "locked":
            work.outcome.mailbox = replace(work.case.mailbox, state="active", since=work.case.now)
        return part(AnswerKind.STARTED)

    async def _lock(self, work: OrderWork) -> AnswerPart:
        if work.case.mailbox.state in ("active", "stopped"):
            work.outcome.mailbox = replace(work.case.mailbox, state="locked", since=work.case.now)
        elif work.case.mailbox.state == "invited":
            work.outcome.mailbox = replace(work.case.mailbox, state="blocked", since=work.case.now)
            return part(AnswerKind.STOPPED)
        return part(AnswerKind.LOCKED)

    async def _stop(self, work: OrderWork) -> AnswerPart:
        work.outcome.mailbox = stopped(work.mailbox, work.case.now)
        return part(AnswerKind.STOPPED)

    async def _start(self, work: OrderWork) -> AnswerPart:
        mailbox = work.mailbox
        if mailbox.state == "stopped":
            work.outcome.mailbox = replace(mailbox, state="active", since=work.case.now)
        elif mailbox.state == "blocked":
            work.outcome.mailbox = replace(mailbox, state="invited", since=work.case.now)
        return part(AnswerKind.STARTED)

    async def _set_language(self, work: OrderWork) -> AnswerPart:
        work.outcome.mailbox = replace(work.mailbox, lang=work.order.words[0])
        return part(AnswerKind.SETTING, name="lang", value=work.order.words[0])

    async def _set_cards(self, work: OrderWork) -> AnswerPart:
        work.outcome.mailbox = replace(work.mailbox, cards=work.order.words[0] == "on")
        return part(AnswerKind.SETTING, name="cards", value=work.order.words[0])

    async def _set_quiet(self, work: OrderWork) -> AnswerPart:
        wished = await self._wished_quiet(work.case, work.order)
        await self._store.set_channel_settings(work.case.mailbox.channel, wished.text)
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
        mailbox = work.mailbox
        mailbox = work.outcome.mailbox = replace(mailbox, counter=mailbox.counter + 1)
        issued = await self._tokens.make(command_fields(mailbox))
        work.outcome.replies.append(kept_token(issued, mailbox, work.case.now, None))
        # The letter makes the address again: no row has a token in plain text.
        return part(AnswerKind.SETTING, name=COMMANDS)


COMMANDS: Final = "commands"
"""The setting that is the command address."""
UNLOCK: Final = "unlock."
"""With what the id of a confirmation begins that unlocks a mailbox."""


def not_done(line: str, error: HkojiError) -> AnswerPart:
    """Returns what a letter says about a line that cannot be done."""
    return part(AnswerKind.NOT_DONE, line=shown_line(line), reason=error.message)


def stopped(mailbox: Mailbox, now: str) -> Mailbox:
    """Returns a mailbox whose owner wants no more letters; of one who was only invited, no more invitations."""
    if mailbox.state in ("invited", "blocked"):
        return mailbox if mailbox.state == "blocked" else replace(mailbox, state="blocked", since=now)
    return replace(mailbox, state="stopped", since=now) if mailbox.state == "active" else mailbox


def command_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token of a player's command address is for."""
    return TokenFields(Purpose.COMMAND, mailbox.name, about=str(mailbox.counter))


def stop_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token is for by which the letters to a mailbox are stopped; the same in all of them."""
    return TokenFields(Purpose.STOP, mailbox.name)
