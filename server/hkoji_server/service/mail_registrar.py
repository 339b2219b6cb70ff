"""What the commands of mails need of whoever makes mail players."""

from __future__ import annotations

from typing import Protocol

from hkoji.game.held_keys import Gateway
from hkoji_server.store.mail_values import KeptCertificate, Mailbox


class Registrar(Protocol):
    """Who makes mail players (`hkoji_server.service.held_players`)."""

    async def invite(self, name: str, address: str, lang: str, by: str | None) -> Gateway:
        """Invites the owner of a mailbox to play under a name, and returns the certificate of the held key.

        The same invitation again changes nothing. Raises what `MailStore.invite_mailbox` raises, and `MalformedError`.
        """

    async def certify(self, name: str, key: str, address: str) -> KeptCertificate:
        """Returns a new certificate of a held key for another mailbox. It is not kept yet."""

    async def register(self, mailbox: Mailbox) -> None:
        """Registers the owner of an invited mailbox, who has accepted. If that is done already, nothing changes.

        Raises what `MailStore.accept_mailbox` raises.
        """
