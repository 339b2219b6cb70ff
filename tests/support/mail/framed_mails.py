"""Mails files that somebody has changed so that the service looks guilty, and whom an audit names because of them."""

from __future__ import annotations

import random
from functools import lru_cache

from hkoji.audit.log_audit import Audit, audit
from hkoji.errors import MalformedError
from hkoji.log.public_key import PublicKey
from hkoji.mail.mails_audit import audit_mails, index_mails
from hkoji.mail.mails_file import ProvedMailbox, ProvingMail, format_mails, parse_mails
from hkoji.mail.tokens import Purpose
from tests.support.mail.proved_table import ProvedTable


def framed(rng: random.Random, table: ProvedTable) -> bytes:
    """The mails of a table with a change."""
    return frame(rng, table.mailbox())


def frame(rng: random.Random, mailbox: ProvedMailbox) -> bytes:
    """A mails file with a change: of a byte, of a field, or of which values stand together."""
    if rng.random() < 0.3:
        data = bytearray(format_mails([mailbox]))
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        return bytes(data)
    if rng.random() < 0.2:
        return format_mails([_other_mailbox(rng, mailbox)])
    mails = list(mailbox.mails)
    place = rng.randrange(len(mails))
    mails[place] = changed(rng, mails[place], rng.choice(mails))
    if rng.random() < 0.3:
        mails.append(rng.choice(mails))
    rng.shuffle(mails)
    return format_mails([mailbox._replace(mails=tuple(mails))])


def changed(rng: random.Random, mail: ProvingMail, other: ProvingMail) -> ProvingMail:
    """A mail with another value in one field, perhaps that of another mail."""
    name = rng.choice(ProvingMail._fields)
    if rng.random() < 0.4:
        return mail._replace(**{name: getattr(other, name)})
    raw, dns = bytearray(mail.raw), mail.dns
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    values = {
        "about": rng.randbytes(32).hex(),
        "dns": dns + rng.choice((b"\n", dns, b"x\tYQ==\n", b"\0")),
        "game": rng.randbytes(16).hex(),
        "head": rng.randbytes(32).hex(),
        "nonce": rng.randbytes(32).hex(),
        "purpose": rng.choice(tuple(Purpose)),
        "raw": bytes(raw),
        "reader": rng.randrange(5),
        "salt": rng.randbytes(32).hex(),
    }
    return mail._replace(**{name: values[name]})  # type: ignore[arg-type] # fields by name


def accused_by(table: ProvedTable, data: bytes | None) -> set[str]:
    """Whom the audit of a table's log names with a mails file; None: with the mails as they are."""
    try:
        mailboxes = (table.mailbox(),) if data is None else parse_mails(data)
    except MalformedError:
        return set()
    judged = audit_mails(_audited(table.text, table.server.public), index_mails(mailboxes))
    return {str(each.signer) for each in judged.audit.findings if each.signer is not None}


@lru_cache(maxsize=4)
def _audited(text: str, key: PublicKey) -> Audit:
    return audit(text, {"server": key})


def _other_mailbox(rng: random.Random, mailbox: ProvedMailbox) -> ProvedMailbox:
    return rng.choice(
        (
            mailbox._replace(mailbox="eve@evil.example"),
            mailbox._replace(name="alice"),
            mailbox._replace(address_salt=rng.randbytes(32).hex()),
        )
    )
