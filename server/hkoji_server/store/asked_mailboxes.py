"""Mailboxes whose owners are asked to confirm something, as statements in an open transaction. See `MailStore`."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select, update

from hkoji.errors import ExistsError
from hkoji.game.clock import add_seconds
from hkoji.messages.text import tell
from hkoji_server.store import mailboxes, operator_codes, player_keys
from hkoji_server.store.mail_tables import BOUNCE, CERTIFICATE, HELD_KEY, MAILBOX, REPLY
from hkoji_server.store.mail_values import (
    CONFIRM_EVENT,
    CONFIRM_SECONDS,
    NO_GAME,
    REGISTERS,
    TAKEN,
    AskedMailbox,
    KeptCertificate,
    Mailbox,
    MailboxMove,
)
from hkoji_server.store.reservations import verify_not_reserved
from hkoji_server.store.tables import CHANNEL, PLAYER


def repeated(connection: Connection, new: AskedMailbox) -> Mailbox | None:
    """Returns the mailbox whose owner is asked the same already, and has time to answer."""
    box = new.mailbox
    at = select(*mailboxes.COLUMNS).select_from(mailboxes.JOINED).where(MAILBOX.c.address == box.address.lower())
    row = connection.execute(at).first()
    found = None if row is None else mailboxes.read_mailbox(row)
    if found is None or found.state != "asked" or found.since <= add_seconds(box.since, -CONFIRM_SECONDS):
        return None
    same = (found.name, _kind(found)) == (box.name, _kind(box))
    return found if same else None


def ask(connection: Connection, new: AskedMailbox) -> Mailbox:
    """Adds a mailbox whose owner is asked something: see `MailStore.ask_mailbox`. The attempt has been counted."""
    box = new.mailbox
    if (same := repeated(connection, new)) is not None:
        return same
    registers = (box.confirm or "").startswith(REGISTERS)
    if registers:
        if connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == box.name)).first():
            raise ExistsError(tell("player"), box.name)
        verify_not_reserved(connection, box.name, "", box.since)
    earlier = mailboxes.idle_at(connection, box, box.since)
    if new.by is not None and not (box.confirm or "").startswith(TAKEN):
        mailboxes.must_answer(connection, new.by, box.since, box)
    for channel in (earlier, *_others(connection, box)):
        if channel is not None:
            mailboxes.forget(connection, channel)
    if new.held is not None:
        connection.execute(insert(HELD_KEY).values(**asdict(new.held)))
    if new.certificate is not None:
        connection.execute(insert(CERTIFICATE).values(**asdict(new.certificate)))
    mailboxes.add(connection, box, new.settings, box.since)
    mailboxes.add_letter(connection, NO_GAME, 0, CONFIRM_EVENT, box.channel, box.since)
    return box


def move(connection: Connection, moved: MailboxMove) -> bool:
    """Gives a mailbox the address of another one, whose owner has confirmed that. Returns False if they cannot now.

    The other one keeps the old address, so that one more letter can go there.
    """
    new, old = mailboxes.held(connection, moved.asked), mailboxes.held(connection, moved.channel)
    if new is None or old is None or new.state != "asked":
        return False
    left = {"address": f"left {moved.asked}", "state": "moved", "since": moved.at}
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.asked).values(left))
    got = {
        "address": new.address.lower(),
        "confirm": new.confirm,
        "dkim_seen": 0,
        "paused": None,
        "heard": moved.at,
    }
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.channel).values(got))
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.asked).values(address=old.address.lower()))
    for channel, address in ((moved.channel, new.address), (moved.asked, old.address)):
        connection.execute(update(CHANNEL).where(CHANNEL.c.id == channel).values(target=address))
    # What came to the letter that asked is answered to the new address, also when it comes again.
    connection.execute(update(REPLY).where(REPLY.c.channel == moved.asked).values(channel=moved.channel))
    connection.execute(delete(BOUNCE).where(BOUNCE.c.channel == moved.channel))
    if player_keys.holds(connection, old.name) is not None:
        operator_codes.void(connection, old.name)  # the letter with the code went to the old address
    mailboxes.note_answered(connection, moved.channel, moved.at)
    _add_certificate(connection, moved.certificate)
    return True


def _others(connection: Connection, box: Mailbox) -> list[str]:
    """Returns the other mailboxes of a player whose owners are asked the same kind of thing: the last one counts."""
    found = select(MAILBOX.c.channel, MAILBOX.c.confirm, MAILBOX.c.address).where(
        MAILBOX.c.name == box.name, MAILBOX.c.state == "asked"
    )
    rows = connection.execute(found).all()
    return [row[0] for row in rows if row[1].partition(".")[0] == _kind(box) and row[2] != box.address.lower()]


def _kind(box: Mailbox) -> str:
    return (box.confirm or "").partition(".")[0]


def _add_certificate(connection: Connection, certificate: KeptCertificate) -> None:
    if connection.execute(select(CERTIFICATE.c.text).where(CERTIFICATE.c.text == certificate.text)).first() is None:
        connection.execute(insert(CERTIFICATE).values(**asdict(certificate)))
