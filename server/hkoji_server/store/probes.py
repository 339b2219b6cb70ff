"""Mails of the service to itself, which show its operator that mail comes in, as statements in a transaction."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, delete, insert, select, update

from hkoji_server.store.mail_tables import PROBE
from hkoji_server.store.mail_values import ProbeMail


def add(connection: Connection, digest: str, at: str, forgotten: str) -> None:
    """Begins to wait for a mail: see `MailStore.add_probe`."""
    connection.execute(delete(PROBE).where(PROBE.c.since < forgotten))
    connection.execute(insert(PROBE).values(digest=digest, since=at))


def take(connection: Connection, digest: str, mail: ProbeMail) -> bool:
    """Keeps a mail that is waited for: see `ArrivalStore.take_probe`."""
    if connection.execute(select(PROBE.c.digest).where(PROBE.c.digest == digest)).first() is None:
        return False
    waited_for = update(PROBE).where(PROBE.c.digest == digest, PROBE.c.raw.is_(None))
    connection.execute(waited_for.values(recipient=mail.recipient, raw=mail.raw))
    return True


def came(connection: Connection, digest: str) -> ProbeMail | None:
    """Returns what has come: see `MailStore.probe`."""
    row = connection.execute(select(PROBE.c.recipient, PROBE.c.raw).where(PROBE.c.digest == digest)).first()
    return None if row is None or row[1] is None else ProbeMail(row[0], bytes(row[1]))


def remove(connection: Connection, digests: Collection[str]) -> None:
    """Waits no longer: see `MailStore.remove_probes`."""
    connection.execute(delete(PROBE).where(PROBE.c.digest.in_(digests)))
