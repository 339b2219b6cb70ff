"""Deadlines, and the signed statements about games that are kept beside their logs.

docs/spec/log.md, "Statements". Each function that compares something holds the game's row first. Each of its later
statements sees what was committed before the row was held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, delete, insert, literal_column, select, update

from hkoji.errors import ConflictError, NotFoundError
from hkoji.game.clock import Way
from hkoji.messages.text import tell
from hkoji_server.store.closing import Closing
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.incoming import close_mail, verify_closing
from hkoji_server.store.mail_tables import EVIDENCE
from hkoji_server.store.notices import add_notices
from hkoji_server.store.outages import outage_number
from hkoji_server.store.players import verify_valid
from hkoji_server.store.sql_steps import SqlSteps, holding, within
from hkoji_server.store.tables import GAME, STATEMENT, KeptStatement, rows_of
from hkoji_server.store.time_contract import StaleDecisionError, latest

KEPT_STATEMENTS: Final = (
    select(*STATEMENT.c)
    .where(STATEMENT.c.game == bindparam("b_game"))
    .order_by(STATEMENT.c.head, STATEMENT.c.kind, STATEMENT.c.name)
)
_OVERDUE: Final = (
    select(GAME.c.game)
    .where(GAME.c.way == bindparam("b_way"), GAME.c.look_at < bindparam("b_before"))
    .order_by(GAME.c.look_at)
    .limit(bindparam("b_limit", type_=BigInteger))
    .offset(literal_column("0"))
)


class StatementStore(SqlSteps):
    """The area of the store that is about deadlines and statements."""

    async def overdue(self, way: Way, before: str, limit: int) -> tuple[str, ...]:
        """Returns the games that have to be looked at: all with a deadline of that way before that time, perhaps more.

        At most `limit`. The others had such a deadline since they were looked at last; `set_deadline` leaves them out
        from then on.
        """
        return tuple(game for (game,) in await self._read(_OVERDUE, b_way=way, b_before=before, b_limit=limit))

    @holding
    def set_deadline(self, connection: Connection, game: str, head: str, old: str | None, new: str | None) -> None:
        """Changes the deadline of a game from `old` to `new`, which may be the same: then it has been looked at.

        Changes nothing if it raises: `NotFoundError`, `ConflictError` for another head, or `StaleDecisionError` for
        another deadline.
        """
        if _held_deadline(connection, game, head) != old:
            raise StaleDecisionError(game)
        _change_deadline(connection, game, new)

    @within("_holding", wakes=True)
    def add_statement(
        self,
        connection: Connection,
        new: KeptStatement,
        *,
        deadline: str | None,
        after: str | None,
        outages: int,
        notices: Sequence[NewNotice] = (),
        closing: Closing | None = None,
        key: str = "",
    ) -> bool:
        """Keeps a statement about the head of a game that has that `deadline`, and sets the deadline `after`.

        `outages` is the number of outages it was decided with, and `new.at` the time. For an annulment `after` is the
        same as `deadline`. The `notices` are written if the statement is. Of the gifts of one player about one head,
        the largest is kept. Returns False if the same statement, or a larger gift, is kept already: then nothing
        changes. `closing` closes the mail that has led to it, and `key` is its author's key, as in `Append`.

        Changes nothing if it raises: `NotFoundError`; `ConflictError` for another head; `RevokedError`; what
        `verify_closing` and `close_mail` raise; `StaleDecisionError` also if another player's annulment of the same
        head is kept, because then the game ends instead.
        """
        if _held_deadline(connection, new.game, new.head) != deadline:
            raise StaleDecisionError(new.game)
        if connection.execute(select(outage_number())).scalar_one() > outages:
            raise StaleDecisionError(new.game)
        verify_valid(connection, key)
        # A statement that a mail has led to may be as old as the mail.
        if closing is None and self._time(connection) > latest(new.at):
            raise StaleDecisionError(new.game)
        if closing is not None:
            verify_closing(connection, closing)
        if not _makes_way(connection, new):
            return False
        if closing is not None:
            close_mail(connection, closing)
        connection.execute(insert(STATEMENT).values(new.model_dump()))
        if after != deadline:
            _change_deadline(connection, new.game, after)
        add_notices(connection, notices)
        return True

    async def statements(self, game: str) -> tuple[KeptStatement, ...]:
        """Returns the statements about a game that are kept, by head, kind and name."""
        return rows_of(KeptStatement, await self._read(KEPT_STATEMENTS, b_game=game))

    async def remove_statement(self, game: str, head: str, kind: str, name: str) -> bool:
        """Forgets a statement. Returns False if there is none."""
        return await self._transaction(lambda connection: _remove(connection, game, head, kind, name))


def _makes_way(connection: Connection, new: KeptStatement) -> bool:
    """Removes a smaller gift of the same player about the same head. Returns False if what is kept is not smaller.

    Raises `StaleDecisionError` if another player's annulment is kept.
    """
    same_head = select(*STATEMENT.c).where(STATEMENT.c.game == new.game, STATEMENT.c.head == new.head)
    about = rows_of(KeptStatement, connection.execute(same_head.where(STATEMENT.c.kind == new.kind)))
    if new.kind == "annul" and any(each.name != new.name for each in about):
        # Both players have agreed. Their agreement is an entry of the log, and not two statements beside it.
        raise StaleDecisionError(new.game)
    for kept in about:
        if kept.name == new.name:
            if (kept.seconds or 0) >= (new.seconds or 0):
                return False
            _remove(connection, kept.game, kept.head, kept.kind, kept.name)
            if kept.claim is not None:
                connection.execute(delete(EVIDENCE).where(EVIDENCE.c.commit == kept.claim.commit))
    return True


def _remove(connection: Connection, game: str, head: str, kind: str, name: str) -> bool:
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
