"""Deadlines, and the signed statements about games that are kept beside their logs, as statements in a transaction.

docs/spec/log.md, "Statements". Each function that compares something holds the game's row first. Each of its later
statements sees what was committed before the row was held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from hkoji.errors import ConflictError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.store import player_keys
from hkoji_server.store.incoming import hold_new
from hkoji_server.store.mail_values import ClosedMailError
from hkoji_server.store.notice_contract import NewNotice
from hkoji_server.store.notices import add_notices
from hkoji_server.store.statements import Row, outage_number
from hkoji_server.store.tables import GAME, STATEMENT
from hkoji_server.store.time_contract import KeptStatement, StaleDecisionError, latest


def read_statement(row: Row) -> KeptStatement:
    """Returns the statement of a row."""
    return KeptStatement(*row)


def add_statement(
    connection: Connection,
    new: KeptStatement,
    *,
    deadline: str | None,
    after: str | None,
    outages: int,
    notices: Sequence[NewNotice],
    mail: int | None,
    key: str,
    clock: Callable[[], datetime],
) -> bool:
    """Keeps a statement, and sets the game's deadline: see `TimeStore.add_statement`.

    `clock` judges the age of the decision, when the row is held.
    """
    if _held_deadline(connection, new.game, new.head) != deadline:
        raise StaleDecisionError(new.game)
    if connection.execute(select(outage_number())).scalar_one() > outages:
        raise StaleDecisionError(new.game)
    player_keys.verify_valid(connection, key)
    if mail is not None:
        # Of what a mail has led to, the mail says how old it may be.
        if connection.execute(hold_new(), {"b_mail": mail}).first() is None:
            raise ClosedMailError(mail)
    elif clock() > latest(new.at):
        raise StaleDecisionError(new.game)
    same_head = select(*STATEMENT.c).where(STATEMENT.c.game == new.game, STATEMENT.c.head == new.head)
    about = [read_statement(tuple(row)) for row in connection.execute(same_head.where(STATEMENT.c.kind == new.kind))]
    if new.kind == "annul" and any(each.name != new.name for each in about):
        # Both players have agreed. Their agreement is an entry of the log, and not two statements beside it.
        raise StaleDecisionError(new.game)
    for kept in about:
        if kept.name == new.name:
            if (kept.seconds or 0) >= (new.seconds or 0):
                return False
            _remove(connection, kept)
    connection.execute(insert(STATEMENT).values(**asdict(new)))
    if after != deadline:
        _change_deadline(connection, new.game, after)
    add_notices(connection, notices)
    return True


def set_deadline(connection: Connection, game: str, head: str, old: str | None, new: str | None) -> None:
    """Changes a deadline: see `TimeStore.set_deadline`."""
    if _held_deadline(connection, game, head) != old:
        raise StaleDecisionError(game)
    _change_deadline(connection, game, new)


def remove_statement(connection: Connection, game: str, head: str, kind: str, name: str) -> bool:
    """Forgets a statement: see `TimeStore.remove_statement`."""
    columns = STATEMENT.c
    gone = delete(STATEMENT).where(
        columns.game == game, columns.head == head, columns.kind == kind, columns.name == name
    )
    return connection.execute(gone).rowcount == 1


def _held_deadline(connection: Connection, game: str, head: str) -> str | None:
    """Holds the row of a game until the transaction ends, and returns its deadline. Raises if it has another head."""
    place = select(GAME.c.seq, GAME.c.head, GAME.c.deadline).where(GAME.c.game == game)
    row = connection.execute(place.with_for_update(key_share=True)).first()
    if row is None:
        raise NotFoundError(tell("game"), game)
    if row[1] != head:
        raise ConflictError(game, seq=row[0], head=row[1])
    deadline: str | None = row[2]
    return deadline


def _change_deadline(connection: Connection, game: str, new: str | None) -> None:
    connection.execute(update(GAME).where(GAME.c.game == game).values(deadline=new, look_at=new))


def _remove(connection: Connection, kept: KeptStatement) -> None:
    remove_statement(connection, kept.game, kept.head, kept.kind, kept.name)
