"""Mails that answer no letter: their player gets the letters again that wait for an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from hkoji.errors import UnreadableMailError
from hkoji.game.clock import add_seconds
from hkoji.mail.commands import OrderKind
from hkoji.mail.fields import split_mail
from hkoji.mail.letters.facts import AskedWhy
from hkoji.mail.mail_types import MailHeader
from hkoji.mail.order_lines import order_lines
from hkoji.mail.orders import read_orders
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji_server.service.mail_cases import AGAIN_SECONDS, MailOutcome
from hkoji_server.service.mail_results import AnswerKind, part, shown_line
from hkoji_server.service.mail_settings_commands import stop_fields
from hkoji_server.service.mail_tokens import MailTokens, kept_token
from hkoji_server.service.mail_verdicts import MailSender, sender_of
from hkoji_server.store.contract import Query, Store
from hkoji_server.store.mail_values import NO_GAME, IncomingMail, Mailbox, ReplyToken

_CURRENT: Final = "current"
_STOP: Final = "stop"


class CurrentLetters:
    """Decides what a player gets who writes to the bare address."""

    def __init__(self, store: Store, tokens: MailTokens) -> None:
        self._store = store
        self._tokens = tokens

    async def outcome(self, mail: IncomingMail, mailbox: Mailbox, header: MailHeader, now: str) -> MailOutcome:
        """Sends a player the letters that they have to answer now, once a day.

        Anybody can write in the name of somebody else. So whoever was only invited gets nothing: they have not agreed
        to any letter, or have said that they want none. And `stop` is asked back: where addresses have no token, mail
        programs that unsubscribe send it so.
        """
        player = mailbox.state in ("active", "stopped")
        if not player or sender_of(header, mailbox.address) is not MailSender.REGISTERED:
            return MailOutcome()
        # The token by which letters are stopped stands for the mailbox: there is one, and it is never spent.
        issued = await self._tokens.issue(stop_fields(mailbox), mailbox, now)
        kept = await self._store.reply(kept_token(issued, mailbox, now, None).digest)
        assert kept is not None  # it has just been issued
        said = json.loads(kept.answers)
        line = _stop_in(mail)
        once = _STOP if line else _CURRENT
        if said.get(once) == now[:10] or (line and mailbox.state == "stopped"):
            return MailOutcome()
        replies = [replace(kept, answers=json.dumps({**said, once: now[:10]}, sort_keys=True))]
        if line:
            return await self._ask_back(mail, mailbox, line, now, replies)
        waiting = await self._store.games(Query(player=mailbox.name, waiting=True, own=True))
        if not waiting:
            return MailOutcome([part(AnswerKind.GAMES)], games=[NO_GAME], replies=replies)
        return MailOutcome([part(AnswerKind.CURRENT)], games=[each.game for each in waiting], replies=replies)

    async def _ask_back(
        self, mail: IncomingMail, mailbox: Mailbox, line: str, now: str, replies: list[ReplyToken]
    ) -> MailOutcome:
        until = add_seconds(mail.received, AGAIN_SECONDS)
        issued = await self._tokens.make(TokenFields(Purpose.AGAIN, mailbox.name, about=mail.digest))
        why = AskedWhy.NO_LETTER.value
        said = part(AnswerKind.ASKED_BACK, order=shown_line(line), why=why, sender="", until=until)
        return MailOutcome([said], games=[NO_GAME], replies=[*replies, kept_token(issued, mailbox, now, until)])


def _stop_in(mail: IncomingMail) -> str:
    """Returns the line that orders no more letters, if a mail orders nothing else."""
    try:
        read = read_orders(order_lines(split_mail(mail.raw)), None)
    except UnreadableMailError:
        return ""
    return read[0].line if isinstance(read, tuple) and [each.kind for each in read] == [OrderKind.STOP] else ""
