"""Mails that have come, as statements in an open transaction. See `MailStore`.

Whoever keeps a mail holds the row of its mailbox first, so of two that come at once each sees the other. Whoever
closes a mail, or sets it aside, holds its row, as an append does that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from hkoji.errors import NotFoundError
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import INCOMING, MAILBOX
from hkoji_server.store.mail_values import (
    ANSWER_EVENT,
    MOST_WAITING,
    OTHER_BYTES,
    IncomingMail,
    KeptMail,
    NewAnswer,
    NewMail,
    WaitingMail,
)
from hkoji_server.store.mailboxes import add_letter
from hkoji_server.store.statements import outage_number
from hkoji_server.store.time_contract import StaleDecisionError, latest

_NEW: Final = INCOMING.c.state == literal_column("'new'")
"""A literal, so that the database sees that its index has all of them."""
_NAMED: Final = INCOMING.c.message_id != literal_column("''")
_WAITING: Final = tuple(INCOMING.c[name] for name in WaitingMail._fields)
_OTHER: Final = "!"
"""Before the Message-ID of a mail that was not processed because an earlier one has it. None begins so."""


def add_incoming(connection: Connection, new: NewMail, clock: Callable[[], datetime]) -> KeptMail:
    """Keeps a mail: see `MailStore.add_incoming`. `clock` is asked while the mailbox is held."""
    held = select(MAILBOX.c.channel).where(MAILBOX.c.channel == new.channel).with_for_update()
    if connection.execute(held).first() is None:
        raise NotFoundError(tell("mailbox"), new.channel)
    same = select(INCOMING.c.number).where(INCOMING.c.digest == new.digest)
    if (number := connection.execute(same).scalar()) is not None:
        return KeptMail("repeated", number)
    mine = (INCOMING.c.name == new.name, INCOMING.c.message_id == new.message_id, _NAMED)
    known = bool(new.message_id) and connection.execute(select(INCOMING.c.number).where(*mine)).first() is not None
    waiting = select(func.count()).select_from(INCOMING).where(_NEW)
    if new.reply is None:
        # Anybody can write it in the name of somebody else.
        same = waiting.where(INCOMING.c.channel == new.channel, INCOMING.c.reply.is_(None))
        if known or connection.execute(same).scalar_one():
            return KeptMail("stranger", None)
    elif known:
        return KeptMail("other bytes", _note_other(connection, new))
    elif connection.execute(waiting.where(INCOMING.c.name == new.name, INCOMING.c.reply.is_not(None))).scalar_one() >= (
        MOST_WAITING
    ):
        return KeptMail("full", None)
    outages = connection.execute(select(outage_number())).scalar_one()
    if outages > new.outages or clock() > latest(new.received):
        raise StaleDecisionError
    return KeptMail("added", _insert(connection, new))


def _note_other(connection: Connection, new: NewMail) -> int | None:
    """Notes a mail whose Message-ID an earlier one has, and answers it, once. Returns its number."""
    marked = _OTHER + new.message_id
    noted = select(INCOMING.c.number).where(INCOMING.c.name == new.name, INCOMING.c.message_id == marked, _NAMED)
    if connection.execute(noted).first() is not None:
        return None
    values = {"raw": b"", "message_id": marked, "state": "done", "result": OTHER_BYTES}
    number = _insert(connection, new, **values)
    add_letter(connection, new.game, number, ANSWER_EVENT, new.channel, new.received)
    return number


def _insert(connection: Connection, new: NewMail, **changes: object) -> int:
    # No row is ever removed. Of two that take one number at once, PostgreSQL lets one begin again.
    last = connection.execute(select(func.max(INCOMING.c.number))).scalar() or 0
    names = ("digest", "via", "raw", "received", "name", "channel", "game", "message_id", "reply")
    values = {name: getattr(new, name) for name in names}
    made = {"number": last + 1, "state": "new", "tries": 0, "result": ""}
    connection.execute(insert(INCOMING).values({**values, **made, **changes}))
    return int(last + 1)


def waiting() -> Select[tuple[int, str, str, int, str]]:
    """Returns the statement that finds the mails that are to be processed now: see `MailStore.waiting_mails`."""
    earlier = INCOMING.alias("earlier")
    same_name = (earlier.c.name == INCOMING.c.name, earlier.c.number < INCOMING.c.number)
    first = ~exists().where(earlier.c.state == literal_column("'new'"), *same_name)
    found = select(*_WAITING).where(_NEW, first).order_by(INCOMING.c.received, INCOMING.c.number)
    return found.limit(bindparam("b_limit", type_=Integer)).offset(literal_column("0"))


def oldest() -> Select[tuple[str]]:
    """Returns the statement for when the oldest mail came that is still to be processed."""
    return select(func.min(INCOMING.c.received)).where(_NEW)


def one() -> Select[tuple[object, ...]]:
    """Returns the statement that finds a mail by its number."""
    columns = (INCOMING.c[name] for name in IncomingMail.__dataclass_fields__)
    return select(*columns).where(INCOMING.c.number == bindparam("b_number", type_=Integer))


def is_new() -> ColumnElement[bool]:
    """Returns the condition that the mail is still to be processed that has led to an append."""
    return exists().where(INCOMING.c.number == bindparam("b_mail", type_=Integer), _NEW)


def hold_new() -> Select[tuple[int]]:
    """Returns the statement that holds the row of that mail. Its bytes cannot go, and it cannot be set aside then."""
    mail = INCOMING.c.number == bindparam("b_mail", type_=Integer)
    return select(INCOMING.c.number).where(mail, _NEW).with_for_update(read=True)


def note_signed(connection: Connection, number: int, signed: str) -> bool:
    """Notes by what a mail is known that is sent again: see `MailStore.note_signed`."""
    name = select(INCOMING.c.name).where(INCOMING.c.number == number).scalar_subquery()
    known = select(INCOMING.c.number).where(INCOMING.c.name == name, INCOMING.c.signed == signed)
    if (first := connection.execute(known).scalar()) is not None:
        return bool(first == number)
    connection.execute(update(INCOMING).where(INCOMING.c.number == number).values(signed=signed))
    return True


def count_try(connection: Connection, number: int, now: str) -> int:
    """Notes that a mail is being processed: see `MailStore.count_try`."""
    values = {"tries": INCOMING.c.tries + 1, "tried": func.coalesce(INCOMING.c.tried, now)}
    counted = update(INCOMING).where(INCOMING.c.number == number, _NEW).values(values).returning(INCOMING.c.tries)
    return int(connection.execute(counted).scalar() or 0)


def end(connection: Connection, number: int, result: str, answers: Sequence[NewAnswer], *, done: bool) -> bool:
    """Closes a mail, or sets it aside, with its answers. Returns False, and changes nothing, if it is not new."""
    values = {"state": "done", "raw": b"", "result": result} if done else {"state": "failed", "result": result}
    if connection.execute(update(INCOMING).where(INCOMING.c.number == number, _NEW).values(values)).rowcount != 1:
        return False
    for each in answers:
        add_letter(connection, each.game, number, ANSWER_EVENT, each.channel, each.not_before)
    return True
