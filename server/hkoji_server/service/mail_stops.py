"""Letters are stopped by a web address in their header, as mail programs do it with one click (RFC 8058)."""

from __future__ import annotations

from hkoji.mail.addresses import is_token
from hkoji.mail.tokens import Purpose, token_digest
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.mail_settings_commands import stopped
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import STOPPED_EVENT


class MailStops:
    """Use cases of whoever has the address that stops letters to a mailbox."""

    def __init__(self, store: Store, sources: ClockAndEntropy) -> None:
        self._store = store
        self._sources = sources

    async def stop(self, token: str) -> bool:
        """Stops the letters to the mailbox of a token. Returns False if there is none; a second call changes nothing.

        A player gets a letter that says so. Somebody who has only been invited gets no more invitations.
        """
        token = token.lower()
        reply = await self._store.reply(token_digest(token)) if is_token(token) else None
        if reply is None or reply.purpose != Purpose.STOP:
            return False
        mailbox = await self._store.mailbox(reply.channel)
        if mailbox is None:
            return False
        changed = stopped(mailbox, self._sources.at())
        if changed != mailbox:
            letter = STOPPED_EVENT if changed.plays else None
            await self._store.change_mailbox(changed, mailbox, letter=letter)
        return True
