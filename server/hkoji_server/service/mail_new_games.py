"""`new`: a player offers a game, opens it and invites somebody, in one mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hkoji.errors import HkojiError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY, parse_time_control
from hkoji.log.canonical import is_name, name_fault
from hkoji.log.public_key import parse_public_key
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.commands import DEFAULT_CLOCK, OrderKind
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS
from hkoji_server.service.games import Games
from hkoji_server.service.mail_cases import DraftText
from hkoji_server.service.mail_entries import MailEntries
from hkoji_server.service.mail_registrar import Registrar
from hkoji_server.service.mail_results import AnswerPart
from hkoji_server.service.mail_tokens import MailTokens
from hkoji_server.service.mail_work import NotDoneError, OrderWork, Step, on_record
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import NO_GAME, Mailbox

INVITATION_SECONDS: Final = 7 * DAY
"""For how long the invitation of a `new` stands."""


class NewGameCommands:
    """The commands that begin a game."""

    def __init__(
        self, store: Store, entries: MailEntries, games: Games, players: Registrar, tokens: MailTokens
    ) -> None:
        self._store = store
        self._entries = entries
        self._games = games
        self._players = players
        self._tokens = tokens

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {OrderKind.NEW: self._new}

    async def _new(self, work: OrderWork) -> AnswerPart:
        ruleset, name, address, *rest = work.order.words
        host = work.case.mailbox.name
        game_type = RULESETS.get(ruleset)
        if game_type is None:
            raise NotDoneError(
                tell("there is no game {name}; the games are {names}", name=ruleset, names=", ".join(RULESETS))
            )
        if not is_name(name):
            raise NotDoneError(name_fault(name))
        if name == host:
            raise NotDoneError(tell("a player cannot invite themselves"))
        if not is_mailbox(address):  # a clock in its place would be lost without a word, also where nobody needs it
            raise NotDoneError(
                tell("behind the name stands a mail address, as in: new hanamikoji bob bob@example.org 3d/14d")
            )
        await verify_host(self._store, work.mailbox)
        try:
            control = parse_time_control(rest[0] if rest else DEFAULT_CLOCK)
        except UsageError as error:
            raise NotDoneError(error.message) from error
        agreement = Agreement(control, add_seconds(work.case.mail.received, INVITATION_SECONDS))
        kept = await self._entries.kept(NO_GAME, work.case.mail.digest)
        if kept is None:
            # A mail that is processed twice makes one game, whoever does it.
            made = DraftText(work.orders, work.grade, offered=await self._tokens.new_game(work.case.mail.digest))
            try:
                await self._games.verify_invitation(agreement, host)
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
        return on_record(entered)

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


async def verify_host(store: Store, mailbox: Mailbox) -> None:
    """Raises `NotDoneError` if the owner of a mailbox cannot open a game by mail."""
    if mailbox.state not in ("active", "stopped"):
        # Before anything is made for it, or they would take a name and a mailbox without playing.
        raise NotDoneError(tell("you are invited only: accept the invitation first"))
    retired = await store.retired(mailbox.held_key)
    if retired is not None and retired.revoked:
        raise NotDoneError(tell("the key with which the service signs for you has been revoked"))
