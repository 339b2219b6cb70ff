"""The lists of games, as statements for every backend: walks in an index, never a scan of all games.

Each form that a query can have is a statement that is compiled once; what is asked for are its parameters.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, literal_column, or_, select, tuple_, union

from hkoji_server.store.contract import Query
from hkoji_server.store.statements import GAME, SUMMARY_COLUMNS, Values

_PLAYER: Final[ColumnElement[Any]] = bindparam("b_player")  # Any: of any type, here and below
_START: Final[ColumnElement[Any]] = literal_column("0")  # said, since else the compiler adds it as a parameter
# Statuses are written out where a partial index needs to see them.
_SHOWN: Final = GAME.c.status != literal_column("'offered'")
_SEATS: Final = (GAME.c.host, GAME.c.guest, GAME.c.invite)


class Form(NamedTuple):
    """What a query asks for, without the values."""

    status: str | None
    player: bool
    waiting: bool
    prefix: bool
    after: bool
    limit: int
    """Not a parameter: PostgreSQL plans for few rows only if it knows that they are."""


def form_of(query: Query) -> Form:
    """A query's form."""
    return Form(
        query.status,
        query.player is not None,
        query.waiting,
        query.prefix is not None,
        query.after is not None,
        query.limit,
    )


def values_of(query: Query) -> Values:
    """The parameters of a query's statement."""
    created, _, game = (query.after or "").partition("~")
    return {
        "b_player": query.player,
        "b_prefix": query.prefix,
        "b_beyond": f"{query.prefix}g",
        "b_created": created,
        "b_game": game,
    }


def listed(form: Form) -> Select[Any]:
    """Games that match, newest first. Games that have not been opened are in no list."""
    wanted = [_SHOWN]
    alone = not (form.player or form.waiting or form.prefix)
    if form.status:
        status = GAME.c.status if alone else _unindexed(GAME.c.status)
        wanted.append(status == literal_column(f"'{form.status}'"))
    if form.after:
        created = _unindexed(GAME.c.created) if form.prefix else GAME.c.created
        wanted.append(tuple_(created, GAME.c.game) < tuple_(bindparam("b_created"), bindparam("b_game")))
    if form.prefix:  # a handful of games, however many a player has
        wanted.append(GAME.c.game.between(bindparam("b_prefix"), bindparam("b_beyond")))
        if form.player and not form.waiting:
            wanted.append(or_(*(_unindexed(column) == _PLAYER for column in _SEATS)))
        if form.waiting:
            wanted.append(_unindexed(GAME.c.to_move) == _PLAYER)
        return _newest(wanted, form.limit)
    if form.waiting:
        return _newest([*wanted, GAME.c.to_move == _PLAYER], form.limit)
    return _newest_of(wanted, form.limit) if form.player else _newest(wanted, form.limit)


def going_on(limit: int) -> Select[Any]:
    """A player's listed games that are not over, or have ended at `b_since` or later, newest first."""
    going = GAME.c.status.in_((literal_column("'open'"), literal_column("'playing'")))
    ended = and_(GAME.c.status == literal_column("'finished'"), GAME.c.updated >= bindparam("b_since"))
    return _newest_of([_SHOWN, or_(going, ended)], limit)


def _unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column by whose index nothing is to be looked for: another one finds less."""
    return func.coalesce(column, literal_column("''"))


def _newest(wanted: list[ColumnElement[bool]], limit: int) -> Select[Any]:
    newest = (GAME.c.created.desc(), GAME.c.game.desc())
    return select(*SUMMARY_COLUMNS).where(*wanted).order_by(*newest).limit(literal_column(str(limit))).offset(_START)


def _newest_of(wanted: list[ColumnElement[bool]], limit: int) -> Select[Any]:
    """One ordered walk in an index for each part a player can have."""
    parts = [select(_newest([*wanted, column == _PLAYER], limit).subquery()) for column in _SEATS]
    found = union(*parts).subquery()
    return (
        select(found)
        .order_by(found.c.created.desc(), found.c.game.desc())
        .limit(literal_column(str(limit)))
        .offset(_START)
    )
