"""Names that are reserved for the owners of mailboxes, who are invited and have not answered.

Conditions, and statements in an open transaction. They read the games of the inviting player: so an invitation stands
as long as its game is open, however that ends.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Connection, Text, bindparam, exists, literal_column, or_, select

from hkoji.errors import ExistsError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import MAILBOX
from hkoji_server.store.mail_values import CONFIRM_SECONDS, REGISTERS, RESERVED_SECONDS, UNASKED_DAYS
from hkoji_server.store.tables import GAME

Time: TypeAlias = ColumnElement[str] | str


def literal(word: str) -> Any:  # Any: an expression
    """Returns a word of ours as it stands in statements, so that these are compiled once."""
    return literal_column(f"'{word}'")


_OPEN: Final = literal("open")
_CANCELLED: Final = literal("cancelled")
_INVITED: Final = literal("invited")
_ASKED: Final = literal("asked")
_REGISTERS: Final = literal(f"{REGISTERS}%")


def used() -> ColumnElement[bool]:
    """Returns the condition that a game has been opened with the invitation of a mailbox."""
    # Two looks into the index of invitations, rather than one among all games that invite the name.
    since = GAME.c.updated >= MAILBOX.c.invited
    return or_(*(exists().where(*_inviting(), GAME.c.status == each, since) for each in (_OPEN, _CANCELLED)))


def _inviting() -> tuple[ColumnElement[bool], ...]:
    # Without a guest, so that the database sees that its index of invitations has all of them.
    return GAME.c.invite == MAILBOX.c.name, GAME.c.guest.is_(None), GAME.c.host == MAILBOX.c.invited_by


def _standing(unasked: Time, reserved: Time, asked: Time) -> ColumnElement[bool]:
    """Returns the condition that a mailbox is invited, or asks to register, and has time to answer.

    Then its name is reserved.

    With a game it is reserved while the game is open. Without one, if the mailbox was invited after `reserved`, or by
    the operator after `unasked`. A name that its owner has asked for is reserved if that was after `asked`.
    """
    waits = exists().where(*_inviting(), GAME.c.status == _OPEN)
    invited = (
        (MAILBOX.c.state == _INVITED)
        & MAILBOX.c.invited.is_not(None)
        & or_(
            MAILBOX.c.invited_by.is_(None) & (MAILBOX.c.invited > unasked),
            MAILBOX.c.invited_by.is_not(None) & (MAILBOX.c.invited > reserved),
            waits,
        )
    )
    registers = (MAILBOX.c.state == _ASKED) & MAILBOX.c.confirm.like(_REGISTERS) & (MAILBOX.c.since > asked)
    return or_(invited, registers)


STANDS: Final = _standing(*(bindparam(f"b_{each}", type_=Text) for each in ("unasked", "reserved", "asked")))
"""The condition of a statement with `reserved_values`."""
RESERVED: Final = select(MAILBOX.c.invited_by, used()).where(MAILBOX.c.name == bindparam("b_name"), STANDS)
"""Finds for whom a name is reserved: the players who have invited them, and whether a game has been opened with it."""


def standing_at(now: str) -> ColumnElement[bool]:
    """Returns the condition of `STANDS` at a time."""
    return _standing(*_times(now))


def reserved_values(name: str, now: str) -> dict[str, str]:
    """Returns the parameters of a statement about a name that may be reserved."""
    unasked, reserved, asked = _times(now)
    return {"b_name": name, "b_unasked": unasked, "b_reserved": reserved, "b_asked": asked}


def _times(now: str) -> tuple[str, str, str]:
    return (
        add_seconds(now, -UNASKED_DAYS * DAY),
        add_seconds(now, -RESERVED_SECONDS),
        add_seconds(now, -CONFIRM_SECONDS),
    )


def verify_not_reserved(connection: Connection, name: str, key: str, now: str) -> None:
    """Raises `ExistsError` if a name is reserved for the owner of a mailbox with another held key."""
    found = select(MAILBOX.c.held_key).where(MAILBOX.c.name == name, standing_at(now))
    if any(held != key for (held,) in connection.execute(found)):
        raise ExistsError(
            tell("player"), name, hint=tell("somebody is invited to play by mail under that name; choose another")
        )
