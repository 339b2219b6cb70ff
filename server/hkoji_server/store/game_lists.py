"""The statements that list games, for both backends. Each walks an index; none scans all games.

A query asks for one of a limited number of statements, each of which is compiled once. Everything else in the query is
a parameter of the statement.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, func, literal_column, or_, select, tuple_, union_all

from hkoji.game.course import STATUSES
from hkoji_server.store.contract import GameSummary, Query
from hkoji_server.store.tables import GAME

Columns = tuple[ColumnElement[Any], ...]  # Any: of any type, here and below
Conditions = tuple[ColumnElement[bool], ...]

SUMMARY_COLUMNS: Final = tuple(GAME.c[name] for name in GameSummary._fields)

_PLAYER: Final[ColumnElement[Any]] = bindparam("b_player")
_START: Final[ColumnElement[Any]] = literal_column("0")  # stated, because the compiler would add it as a parameter
# Statuses are written out, because the planner uses a partial index only if it sees the status in the statement.
_SHOWN: Final = GAME.c.status != literal_column("'offered'")
# An invited player who has joined is the guest: no game is found twice.
_SEATS: Final[tuple[Conditions, ...]] = (
    (GAME.c.host == _PLAYER,),
    (GAME.c.guest == _PLAYER,),
    (GAME.c.invite == _PLAYER, GAME.c.guest.is_(None)),
)
_PLACE: Final[Columns] = (GAME.c.game, GAME.c.seq, GAME.c.updated, GAME.c.status, GAME.c.created)
_NEWEST: Final = (GAME.c.created.desc(), GAME.c.game.desc())


class ListStatement(NamedTuple):
    """Which statement a query needs: what it asks for, without the parameters."""

    status: str | None
    player: bool
    waiting: bool
    prefix: bool
    after: bool
    limit: int
    """Not a parameter: PostgreSQL plans for few rows only if it knows the limit."""


def statement_of(query: Query) -> ListStatement:
    """Returns which statement a query needs."""
    return ListStatement(
        query.status,
        query.player is not None,
        query.waiting,
        query.prefix is not None,
        query.after is not None,
        query.limit,
    )


def values_of(query: Query) -> dict[str, Any]:  # Any: column values
    """Returns the parameters of a query's statement."""
    created, _, game = (query.after or "").partition("~")
    return {
        "b_player": query.player,
        "b_prefix": query.prefix,
        "b_beyond": f"{query.prefix}g",
        "b_created": created,
        "b_game": game,
    }


def listed(form: ListStatement) -> Select[Any]:
    """Selects the games that match, newest first. Games that have not been opened are in no list."""
    if form.player and not (form.waiting or form.prefix):
        older = (_older(GAME.c.created),) if form.after else ()
        statuses = (form.status,) if form.status else STATUSES
        walks = [_walk(SUMMARY_COLUMNS, seat, each, older, form.limit) for seat in _SEATS for each in statuses]
        return _merged(walks, form.limit)
    wanted = [_SHOWN]
    alone = not (form.waiting or form.prefix)
    if form.status:
        status = GAME.c.status if alone else _unindexed(GAME.c.status)
        wanted.append(status == literal_column(f"'{form.status}'"))
    if form.after:
        wanted.append(_older(_unindexed(GAME.c.created) if form.prefix else GAME.c.created))
    if form.prefix:  # finds a handful of games, however many the player has
        wanted.append(GAME.c.game.between(bindparam("b_prefix"), bindparam("b_beyond")))
        if form.player and not form.waiting:
            seats = (GAME.c.host, GAME.c.guest, GAME.c.invite)
            wanted.append(or_(*(_unindexed(column) == _PLAYER for column in seats)))
        if form.waiting:
            wanted.append(_unindexed(GAME.c.to_move) == _PLAYER)
    elif form.waiting:
        wanted.append(GAME.c.to_move == _PLAYER)
    return _limited(select(*SUMMARY_COLUMNS).where(*wanted).order_by(*_NEWEST), form.limit)


def going_on(limit: int) -> Select[Any]:
    """Selects the places of a player's listed games that go on or ended at `b_since` or later, newest first."""
    going = [_walk(_PLACE, seat, status, (), limit) for seat in _SEATS for status in ("open", "playing")]
    ended = [select(*_PLACE).where(*seat, GAME.c.ended >= bindparam("b_since")) for seat in _SEATS]
    return _merged([*going, *ended], limit)


def _walk(columns: Columns, seat: Conditions, status: str, wanted: Conditions, limit: int) -> Select[Any]:
    """Selects the newest games of a player by seat and status: an ordered walk of at most `limit` steps in an index."""
    found = select(*columns).where(*seat, GAME.c.status == literal_column(f"'{status}'"), *wanted)
    return select(_limited(found.order_by(*_NEWEST), limit).subquery())


def _merged(walks: list[Select[Any]], limit: int) -> Select[Any]:
    """Selects the newest of what several walks find."""
    found = union_all(*walks).subquery()
    return _limited(select(found).order_by(found.c.created.desc(), found.c.game.desc()), limit)


def _older(created: ColumnElement[Any]) -> ColumnElement[bool]:
    return tuple_(created, GAME.c.game) < tuple_(bindparam("b_created"), bindparam("b_game"))


def _unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Hides a column from the planner, so that it does not choose the column's index: another one finds fewer rows."""
    return func.coalesce(column, literal_column("''"))


def _limited(found: Select[Any], limit: int) -> Select[Any]:
    return found.limit(literal_column(str(limit))).offset(_START)
