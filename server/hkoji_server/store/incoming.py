"""Mails that have come.

- *What `add_incoming` has returned is on disk*, and stays there until it is closed or the operator removes it. The same
  mail is kept once. Only the first mail of one name with one Message-ID is kept, for ever. And of those that
  have the same signed text (`Closing.signed`) only the first is obeyed.
- *A mail is closed together with what it leads to, and with its answers* (`Closing`). So after a crash it is either
  processed again, and has led to nothing, or has been answered. A mail that was set aside, and no longer holds up
  timeouts and heads, does not get into a log with its early time.
- *Nothing old is kept late*: as of a decision, the time of a mail is at most `OLDEST` seconds old when it is kept.

A mail is kept while the row of its mailbox is held, so of two that come at once each sees the other. It is closed, or
set aside, while its own row is held. Locks are taken in the order game, mail, mailbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Integer,
    Select,
    Text,
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
from hkoji_server.store.choices import set_settings
from hkoji_server.store.closing import Closing
from hkoji_server.store.letters import add_reply, change_reply
from hkoji_server.store.mail_invitations import accept_mailbox, move_mailbox
from hkoji_server.store.mail_tables import EVIDENCE, HELD_ENTROPY, INCOMING, MAILBOX, IncomingMail
from hkoji_server.store.mail_values import (
    ANSWER_EVENT,
    MOST_WAITING,
    OTHER_BYTES,
    SET_ASIDE,
    ClosedMailError,
    KeptMail,
    NewAnswer,
    NewMail,
    WaitingMail,
)
from hkoji_server.store.mailboxes import add_letter, change_mailbox, note_answered
from hkoji_server.store.outages import outage_number
from hkoji_server.store.players import held_key_of, keep_code
from hkoji_server.store.sql_steps import SqlSteps, within
from hkoji_server.store.tables import one_of
from hkoji_server.store.time_contract import StaleDecisionError, latest

_NEW: Final = INCOMING.c.state == literal_column("'new'")
"""A literal, so that the database sees that its index has all of them."""
_NAMED: Final = INCOMING.c.message_id != literal_column("''")
_OTHER: Final = "!"
"""Before the Message-ID of a mail that was not processed because an earlier one has it. None begins so."""
_NUMBER: Final = INCOMING.c.number == bindparam("b_number", type_=Integer)
_HOLD_NEW: Final = select(INCOMING.c.number).where(_NUMBER, _NEW).with_for_update()
_MAIL: Final = select(*INCOMING.c).where(_NUMBER)
_SAME: Final = INCOMING.alias("same")
_SIGNED_BEFORE: Final = (
    select(INCOMING.c.number)
    .join_from(INCOMING, _SAME, (_SAME.c.name == INCOMING.c.name) & (_SAME.c.number != INCOMING.c.number))
    .where(_NUMBER, _SAME.c.signed == bindparam("b_signed", type_=Text))
)
_OLDEST_NEW: Final = select(func.min(INCOMING.c.received)).where(_NEW)


def _waiting() -> Select[Any]:
    earlier = INCOMING.alias("earlier")
    same_name = (earlier.c.name == INCOMING.c.name, earlier.c.number < INCOMING.c.number)
    first = ~exists().where(earlier.c.state == literal_column("'new'"), *same_name)
    columns = (INCOMING.c[name] for name in WaitingMail._fields)
    found = select(*columns).where(_NEW, first).order_by(INCOMING.c.received, INCOMING.c.number)
    return found.limit(bindparam("b_limit", type_=Integer)).offset(literal_column("0"))


_WAITING: Final = _waiting()


class IncomingStore(SqlSteps):
    """The area of the store that is about mails that have come. `ArrivalStore` documents what is in it too."""

    @within("_entering", wakes=True)
    def add_incoming(self, connection: Connection, new: NewMail) -> KeptMail:
        held = select(MAILBOX.c.channel).where(MAILBOX.c.channel == new.channel).with_for_update()
        if connection.execute(held).first() is None:
            raise NotFoundError(tell("mailbox"), new.channel)
        if (kept := _not_kept(connection, new)) is not None:
            return kept
        outages = connection.execute(select(outage_number())).scalar_one()
        if outages > new.outages or self._time(connection) > latest(new.received):
            raise StaleDecisionError
        return KeptMail("added", _insert(connection, new))

    async def incoming(self, number: int) -> IncomingMail | None:
        """Returns a mail by its number."""
        return one_of(IncomingMail, await self._read(_MAIL, b_number=number))

    async def waiting_mails(self, limit: int) -> tuple[WaitingMail, ...]:
        """Returns the mails that are to be processed now: of each name the oldest, those that came first first."""
        return tuple(map(WaitingMail._make, await self._read(_WAITING, b_limit=limit)))

    async def oldest_unprocessed_mail(self) -> str | None:
        """Returns when the oldest mail came that is still to be processed; None if there is none."""
        ((oldest,),) = await self._read(_OLDEST_NEW)
        found: str | None = oldest
        return found

    async def signed_before(self, number: int, signed: str) -> bool:
        """Tells whether another mail of the same name was obeyed that is known by `signed`, if it is sent again."""
        return bool(await self._read(_SIGNED_BEFORE, b_number=number, b_signed=signed))

    async def count_try(self, number: int, now: str) -> int:
        """Counts a try of a mail, before it begins. Returns how often the mail was tried, with this time.

        The first try of a mail that is processed where it was kept is kept with it, by `add_incoming`.
        """
        values = {"tries": INCOMING.c.tries + 1, "tried": func.coalesce(INCOMING.c.tried, now)}
        counted = update(INCOMING).where(INCOMING.c.number == number, _NEW).values(values).returning(INCOMING.c.tries)
        return await self._holding(lambda connection: int(connection.execute(counted).scalar() or 0))

    @within("_holding", wakes=True)
    def set_aside(
        self, connection: Connection, number: int, result: str = SET_ASIDE, answers: Sequence[NewAnswer] = ()
    ) -> bool:
        """Sets a `new` mail aside, if no append that needs it is under way, or when that has ended.

        Returns False, and changes nothing, if it is not `new`.
        """
        return _end(connection, number, {"state": "failed", "result": result}, answers)

    @within("_holding", wakes=True)
    def close_incoming(self, connection: Connection, closing: Closing) -> None:
        """Closes a mail, and nothing else. Changes nothing if it raises, as `verify_closing` and `close_mail` do."""
        verify_closing(connection, closing)
        close_mail(connection, closing)


def verify_closing(connection: Connection, closing: Closing) -> None:
    """Holds the row of a mail, before anything is written. The game of what it leads to is held by then.

    Raises `ClosedMailError` if the mail is closed or was set aside, and `StaleDecisionError` if another mail of the
    name is known by `signed`.
    """
    if connection.execute(_HOLD_NEW, {"b_number": closing.mail}).first() is None:
        raise ClosedMailError(closing.mail)
    if closing.signed is not None:
        known = {"b_number": closing.mail, "b_signed": closing.signed}
        if connection.execute(_SIGNED_BEFORE, known).first() is not None:
            raise StaleDecisionError


def close_mail(connection: Connection, closing: Closing) -> None:
    """Closes a mail, which `verify_closing` holds, in the transaction of what it leads to.

    Raises `StaleDecisionError` if `move` cannot be done any more, and what `accept_mailbox` raises.
    """
    was = closing.was
    if closing.move is not None:
        move_mailbox(connection, closing.move)
    if closing.registers is not None and was is not None:
        accept_mailbox(connection, was.channel, closing.registers)
    if closing.answered is not None and was is not None:
        note_answered(connection, was.channel, closing.answered)
    values = {"state": "done", "raw": b"", "result": closing.result, "signed": closing.signed}
    _end(connection, closing.mail, values, closing.answers)
    for each in closing.replies:
        add_reply(connection, each)
        change_reply(connection, each)
    if closing.mailbox is not None:
        change_mailbox(connection, closing.mailbox, was)
    if closing.settings is not None and was is not None:
        set_settings(connection, was.channel, closing.settings)
    code = closing.code
    if code is not None and code.name is not None and held_key_of(connection, code.name) is not None:
        keep_code(connection, code)
    if closing.evidence is not None:
        connection.execute(insert(EVIDENCE).values(closing.evidence.model_dump()))
    if closing.entropy is not None:
        connection.execute(insert(HELD_ENTROPY).values(closing.entropy.model_dump()))


def _not_kept(connection: Connection, new: NewMail) -> KeptMail | None:
    """Returns why a mail is not kept, or is kept already; None if it is to be kept. Its mailbox is held."""
    same = select(INCOMING.c.number).where(INCOMING.c.digest == new.digest)
    if (number := connection.execute(same).scalar()) is not None:
        return KeptMail("repeated", number)
    mine = (INCOMING.c.name == new.name, INCOMING.c.message_id == new.message_id, _NAMED)
    known = bool(new.message_id) and connection.execute(select(INCOMING.c.number).where(*mine)).first() is not None
    waiting = select(func.count()).select_from(INCOMING).where(_NEW)
    if new.reply is None:
        # Anybody can write it in the name of somebody else.
        strange = waiting.where(INCOMING.c.channel == new.channel, INCOMING.c.reply.is_(None))
        return KeptMail("stranger", None) if known or connection.execute(strange).scalar_one() else None
    if known:
        return KeptMail("other bytes", _note_other(connection, new))
    good = waiting.where(INCOMING.c.name == new.name, INCOMING.c.reply.is_not(None))
    return KeptMail("full", None) if connection.execute(good).scalar_one() >= MOST_WAITING else None


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
    made = {"number": last + 1, "state": "new", "tries": new.tries, "result": ""}
    connection.execute(insert(INCOMING).values({**values, **made, **changes}))
    return int(last + 1)


def _end(connection: Connection, number: int, values: dict[str, Any], answers: Sequence[NewAnswer]) -> bool:
    """Ends a new mail, with its answers. Returns False, and changes nothing, if it is not new."""
    if connection.execute(update(INCOMING).where(INCOMING.c.number == number, _NEW).values(values)).rowcount != 1:
        return False
    for each in answers:
        add_letter(connection, each.game, number, ANSWER_EVENT, each.channel, each.not_before)
    return True
