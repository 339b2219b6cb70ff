"""Letters that did not arrive, as statements in an open transaction, and what waits of mails and letters."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, literal_column, select, update

from hkoji_server.store.mail_tables import BOUNCE, INCOMING, MAILBOX
from hkoji_server.store.mail_values import MAIL_KIND, MailQueue, WaitingSum
from hkoji_server.store.tables import OUTBOX


def note(connection: Connection, channel: str, digest: str, at: str, since: str, enough: int) -> bool:
    """Notes that a letter did not arrive: see `MailStore.note_bounce`."""
    held = select(MAILBOX.c.paused).where(MAILBOX.c.channel == channel).with_for_update()
    row = connection.execute(held).first()
    if row is None:
        return False
    connection.execute(delete(BOUNCE).where(BOUNCE.c.at < since))
    if connection.execute(select(BOUNCE.c.digest).where(BOUNCE.c.digest == digest)).first() is not None:
        return False
    connection.execute(insert(BOUNCE).values(digest=digest, channel=channel, at=at))
    counted = select(func.count()).select_from(BOUNCE).where(BOUNCE.c.channel == channel)
    if row[0] is not None or connection.execute(counted).scalar_one() < enough:
        return False
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == channel).values(paused=at))
    # What has come before the pause does not begin another one after its end.
    connection.execute(delete(BOUNCE).where(BOUNCE.c.channel == channel, BOUNCE.c.digest != digest))
    return True


def queue(connection: Connection, now: str) -> MailQueue:
    """Returns what waits: see `MailStore.mail_queue`."""

    def mails(state: str) -> WaitingSum:
        # The state is in the text of the statement, so that it can use the index of the few rows that have it.
        is_so = INCOMING.c.state == literal_column(f"'{state}'")
        return WaitingSum(*connection.execute(select(func.count(), func.min(INCOMING.c.received)).where(is_so)).one())

    letters = select(func.count(), func.min(OUTBOX.c.due)).where(OUTBOX.c.kind == MAIL_KIND, OUTBOX.c.due <= now)
    return MailQueue(mails("new"), WaitingSum(*connection.execute(letters).one()), mails("failed"))
