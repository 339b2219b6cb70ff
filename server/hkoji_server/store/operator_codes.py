"""Codes, as statements in an open transaction: each allows a registration, or a player's new key."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from hkoji.errors import ForbiddenError
from hkoji.messages.text import tell
from hkoji_server.store.player_contract import OperatorCode
from hkoji_server.store.tables import CODE


def store_code(connection: Connection, code: OperatorCode) -> None:
    """Keeps a code; one for a player's new key takes the place of an earlier one."""
    if code.name is not None:
        connection.execute(delete(CODE).where(CODE.c.name == code.name))
    connection.execute(insert(CODE).values(**asdict(code)))


def invitations(connection: Connection, now: str) -> tuple[OperatorCode, ...]:
    """Returns the codes for new players that are valid, the first to expire first."""
    valid = CODE.c.name.is_(None) & (CODE.c.expires > now)
    found = connection.execute(select(CODE.c.digest, CODE.c.expires, CODE.c.uses).where(valid))
    return tuple(sorted((OperatorCode(*row) for row in found), key=lambda code: (code.expires, code.digest)))


def withdraw(connection: Connection, digest: str) -> bool:
    """Forgets a code for new players. Returns False if there is none."""
    return connection.execute(delete(CODE).where(CODE.c.digest == digest, CODE.c.name.is_(None))).rowcount == 1


def verify_code(connection: Connection, digest: str, now: str, name: str | None = None) -> None:
    """Checks that a code can be used. Raises `ForbiddenError`."""
    if connection.execute(select(CODE.c.digest).where(_is_valid(digest, now, name))).first() is None:
        raise _invalid(name)


def use_code(connection: Connection, digest: str, now: str, name: str | None = None) -> None:
    """Uses a code for a registration, or for the new key of the player `name`, once.

    A code that cannot be used again is forgotten. Raises `ForbiddenError` if it is not valid.
    """
    # The row is changed before anything depends on it: of two transactions that use it, the second waits here.
    used = update(CODE).where(_is_valid(digest, now, name)).values(uses=CODE.c.uses - 1)
    if connection.execute(used).rowcount != 1:
        raise _invalid(name)
    connection.execute(delete(CODE).where(CODE.c.digest == digest, CODE.c.uses == 0))


def void(connection: Connection, name: str) -> None:
    """Forgets the code for another key of a player, if there is one."""
    connection.execute(delete(CODE).where(CODE.c.name == name))


def _is_valid(digest: str, now: str, name: str | None) -> ColumnElement[bool]:
    purpose = (CODE.c.digest == digest) & CODE.c.name.is_not_distinct_from(name)
    return purpose & (CODE.c.expires > now) & (CODE.c.uses > 0)


def _invalid(name: str | None) -> ForbiddenError:
    if name is None:
        return ForbiddenError(
            tell("the code is not one of this service's, or it has been used or has expired"),
            hint=tell("nothing was changed; ask the operator of the service for another code"),
        )
    return ForbiddenError(
        tell("the code is not the one that {name} was given, or it has been used or has expired", name=name),
        hint=tell(
            "nothing was changed; ask the operator of the service for another code, or, if you play by mail, write "
            "there: own key"
        ),
    )
