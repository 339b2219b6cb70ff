"""The operator's codes, as statements in an open transaction: each allows a registration, or a player's new key."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select, update

from hkoji_server.store.contract import OperatorCode
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


def use_code(connection: Connection, digest: str, now: str, name: str | None = None) -> bool:
    """Uses a code for a registration, or for the new key of the player `name`, once. Returns False if it is not valid.

    A code that cannot be used again is forgotten.
    """
    valid = (CODE.c.digest == digest) & (CODE.c.name.is_not_distinct_from(name)) & (CODE.c.expires > now)
    # The row is changed before anything depends on it: of two transactions that use it, the second waits here.
    if connection.execute(update(CODE).where(valid, CODE.c.uses > 0).values(uses=CODE.c.uses - 1)).rowcount != 1:
        return False
    connection.execute(delete(CODE).where(CODE.c.digest == digest, CODE.c.uses == 0))
    return True
