"""Mails that have come.

- *What `add_incoming` has returned is on disk*, and stays there until it is closed or the operator removes it. The same
  mail is kept once. Only the first mail of one name with one Message-ID is kept, for ever. And of those that
  have the same signed text (`note_signed`) only the first is obeyed.
- *A mail is closed together with its answers.* So after a crash it is either processed again or has been answered.
- *An append that a mail has led to needs the mail* (`Append.mail`): in its transaction the mail is still `new`. So
  what was set aside, and no longer holds up timeouts and heads, does not get into a log with its early time.
- *Nothing old is kept late*: as of a decision, the time of a mail is at most `OLDEST` seconds old when it is kept.

A mail is kept while the row of its mailbox is held, so of two that come at once each sees the other. It is closed, or
set aside, while its own row is held, as in an append that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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
from hkoji_server.store.letters import add_reply, change_reply
from hkoji_server.store.mail_invitations import MailboxMove, move_mailbox
from hkoji_server.store.mail_tables import INCOMING, MAILBOX, IncomingMail
from hkoji_server.store.mail_values import (
    ANSWER_EVENT,
    MOST_WAITING,
    OTHER_BYTES,
    SET_ASIDE,
    KeptMail,
    Mailbox,
    NewAnswer,
    NewMail,
    ReplyToken,
    WaitingMail,
)
from hkoji_server.store.mailboxes import add_letter, change_mailbox
from hkoji_server.store.outages import outage_number
from hkoji_server.store.player_tables import OperatorCode
from hkoji_server.store.players import held_key_of, keep_code
from hkoji_server.store.sql_steps import SqlSteps, transaction, within
from hkoji_server.store.tables import one_of
from hkoji_server.store.time_contract import StaleDecisionError, latest

_NEW: Final = INCOMING.c.state == literal_column("'new'")
"""A literal, so that the database sees that its index has all of them."""
_NAMED: Final = INCOMING.c.message_id != literal_column("''")
_OTHER: Final = "!"
"""Before the Message-ID of a mail that was not processed because an earlier one has it. None begins so."""
_LED: Final = INCOMING.c.number == bindparam("b_mail", type_=Integer)
IS_NEW: Final[ColumnElement[bool]] = exists().where(_LED, _NEW)
"""The condition that the mail is still to be processed that has led to an append."""
HOLD_NEW: Final = select(INCOMING.c.number).where(_LED, _NEW).with_for_update(read=True)
"""Holds the row of that mail. Its bytes cannot go, and it cannot be set aside then."""
_MAIL: Final = select(*INCOMING.c).where(INCOMING.c.number == bindparam("b_number", type_=Integer))
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

    @transaction
    def note_signed(self, connection: Connection, number: int, signed: str) -> bool:
        """Notes by what a mail is known that is sent again, as `hkoji.mail.dkim_rules.signed_id` has it.

        Returns False, and notes nothing, if another mail of the same name is known by it.
        """
        name = select(INCOMING.c.name).where(INCOMING.c.number == number).scalar_subquery()
        known = select(INCOMING.c.number).where(INCOMING.c.name == name, INCOMING.c.signed == signed)
        if (first := connection.execute(known).scalar()) is not None:
            return bool(first == number)
        connection.execute(update(INCOMING).where(INCOMING.c.number == number).values(signed=signed))
        return True

    async def count_try(self, number: int, now: str) -> int:
        """Notes that a mail is being processed, before that is done. Returns how often that was so, with this time."""
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
    def close_incoming(
        self,
        connection: Connection,
        number: int,
        result: str,
        *,
        answers: Sequence[NewAnswer] = (),
        replies: Sequence[ReplyToken] = (),
        mailbox: Mailbox | None = None,
        was: Mailbox | None = None,
        move: MailboxMove | None = None,
        code: OperatorCode | None = None,
    ) -> bool:
        """Closes a `new` mail in one transaction: its bytes go, and its answers are written into the outbox.

        A `code` for another key is kept as by `add_code`, but only for a player whose valid key the service holds.
        Of `replies` that are known, `expires`, `spent` and `answers` are replaced, and the others are added. A
        `mailbox` is changed as by `change_mailbox`, which gets `was`. With `move`, another mailbox gets its address
        first. Returns False, and changes nothing, if the mail is not `new`. Raises `StaleDecisionError` if what `move`
        names cannot be moved any more.
        """
        if not _end(connection, number, {"state": "done", "raw": b"", "result": result}, answers):
            return False
        if move is not None and not move_mailbox(connection, move):
            raise StaleDecisionError
        for each in replies:
            add_reply(connection, each)
            change_reply(connection, each)
        if mailbox is not None:
            change_mailbox(connection, mailbox, was)
        if code is not None and code.name is not None and held_key_of(connection, code.name) is not None:
            keep_code(connection, code)
        return True


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
    made = {"number": last + 1, "state": "new", "tries": 0, "result": ""}
    connection.execute(insert(INCOMING).values({**values, **made, **changes}))
    return int(last + 1)


def _end(connection: Connection, number: int, values: dict[str, Any], answers: Sequence[NewAnswer]) -> bool:
    """Ends a new mail, with its answers. Returns False, and changes nothing, if it is not new."""
    if connection.execute(update(INCOMING).where(INCOMING.c.number == number, _NEW).values(values)).rowcount != 1:
        return False
    for each in answers:
        add_letter(connection, each.game, number, ANSWER_EVENT, each.channel, each.not_before)
    return True
