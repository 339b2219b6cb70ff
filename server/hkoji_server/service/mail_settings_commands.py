"""The commands by which a player changes a setting of their mailbox, or ends and begins its letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hkoji.errors import NotFoundError
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji.messages.text import tell
from hkoji_server.service.channel_settings import ChannelSettings, Quiet
from hkoji_server.service.mail_cases import MailCase
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_tokens import MailTokens, kept_token
from hkoji_server.service.mail_work import OrderWork, Step
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import Mailbox

COMMANDS: Final = "commands"
"""The setting that is the command address."""
_HOUR: Final = 3600


class SettingCommands:
    """The settings of mailboxes; they are written when the mail is closed."""

    def __init__(self, store: Store, tokens: MailTokens) -> None:
        self._store = store
        self._tokens = tokens

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {
            OrderKind.NOT_ME: self._lock,
            OrderKind.STOP: self._stop,
            OrderKind.START: self._start,
            OrderKind.LANG: self._set_language,
            OrderKind.CARDS: self._set_cards,
            OrderKind.QUIET: self._set_quiet,
            OrderKind.NEW_ADDRESS: self._replace_address,
        }

    async def verify(self, case: MailCase, order: MailOrder) -> None:
        """Raises `MalformedError` or `NotFoundError` if the command of this module could not be done."""
        if order.kind is OrderKind.QUIET:
            await self._wished_quiet(case, order)

    async def _lock(self, work: OrderWork) -> AnswerPart:
        if work.mailbox.state not in ("active", "stopped"):  # they play nothing that could be locked
            return await self._stop(work)
        work.outcome.mailbox = replace(work.mailbox, state="locked", since=work.case.now)
        return part(AnswerKind.LOCKED)

    async def _stop(self, work: OrderWork) -> AnswerPart:
        work.outcome.mailbox = stopped(work.mailbox, work.case.now)
        return part(AnswerKind.STOPPED)

    async def _start(self, work: OrderWork) -> AnswerPart:
        mailbox = work.mailbox
        if mailbox.state == "stopped":
            work.outcome.mailbox = replace(mailbox, state="active", since=work.case.now)
        elif mailbox.state == "blocked" and mailbox.confirm is None:
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
