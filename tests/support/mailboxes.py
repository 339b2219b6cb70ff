"""Mailboxes whose owners have answered, and tokens, without a mail or a letter."""

from __future__ import annotations

from hkoji_server.store.letters import add_reply
from hkoji_server.store.mail_invitations import accept_mailbox
from hkoji_server.store.mail_values import ReplyToken
from hkoji_server.store.mailboxes import note_answered
from hkoji_server.store.player_tables import Player
from hkoji_server.store.sql_steps import SqlSteps


async def accept(store: SqlSteps, channel: str, player: Player) -> None:
    """Registers the owner of an invited mailbox, as the mail does with which they accept."""
    await store._holding(lambda connection: accept_mailbox(connection, channel, player))


async def answer(store: SqlSteps, channel: str, at: str) -> None:
    """Notes that the owner of an invited mailbox has answered, as their mail does."""
    await store._holding(lambda connection: note_answered(connection, channel, at))


async def keep_reply(store: SqlSteps, reply: ReplyToken) -> None:
    """Keeps a token, as a letter does with which it goes out."""
    await store._holding(lambda connection: add_reply(connection, reply))
