"""The mails file of a player in a game: what the service has kept of the mails that the log commits to.

docs/spec/mails.md, "Mails files". It is for that player and for the operator, for nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.game.held_keys import Gateway
from hkoji.log.canonical import encode
from hkoji.log.line import Line
from hkoji.mail.claimed_mails import certificates_of, claimed_mails
from hkoji.mail.mails_file import ProvedMailbox, ProvingMail, format_mails
from hkoji.mail.tokens import Purpose
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailEvidence


async def mails_of(store: Store, lines: Sequence[Line], name: str) -> bytes:
    """Returns the mails file of the player `name` in the game with these lines; empty if no mail of theirs is kept."""
    kept = await store.evidence(lines[0].entry.game, name)
    certificates = certificates_of(lines, name)
    if not kept or not certificates:
        return b""
    behind = {claim.commit: claim.gateway for claim in claimed_mails(lines)}
    found = []
    for gateway in certificates:
        # What is behind no entry, like a wish that was not shared, is proved with the newest certificate.
        mails = [each for each in kept if behind.get(each.commit, certificates[-1]) == gateway]
        mailbox = await _mailbox(store, gateway, name)
        if mails and mailbox is not None:
            found.append(mailbox._replace(mails=tuple(map(_line, mails))))
    return format_mails(found)


async def _mailbox(store: Store, gateway: Gateway, name: str) -> ProvedMailbox | None:
    """Returns the mailbox of a certificate; None if it was erased."""
    text = encode(gateway.to_json())
    for each in await store.certificates(gateway.key.text):
        if each.text == text and each.mailbox:
            return ProvedMailbox(each.salt, each.mailbox, name)
    return None


def _line(kept: MailEvidence) -> ProvingMail:
    return ProvingMail(
        about=kept.about,
        dns=kept.dns,
        game=kept.game,
        head=kept.head,
        nonce=kept.nonce,
        purpose=Purpose(kept.purpose),
        raw=kept.raw,
        reader=kept.reader,
        salt=kept.salt,
    )
