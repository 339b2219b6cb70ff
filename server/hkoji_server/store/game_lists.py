"""The statements that list games, for both backends. Each walks an index; none scans all games.

A query asks for one of a limited number of statements, each of which is compiled once. Everything else in the query is
a parameter of the statement. Values in columns that hold JSON are read by each database with functions of its own.

Anyone may invite anyone. So in the lists of a player, invitations stand behind the games that the player has opened or
joined, and the walks through an index that find those read no invitation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Integer,
    Select,
    Subquery,
    Text,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeEngine

from hkoji.game.agreement import DAY
from hkoji.game.course import OVER
from hkoji_server.store.game_values import GameSummary, OpenFilter, Query
from hkoji_server.store.player_tables import BLOCK
from hkoji_server.store.tables import GAME

Columns = tuple[ColumnElement[Any], ...]  # Any: of any type, here and below
Conditions = tuple[ColumnElement[bool], ...]

SUMMARY_COLUMNS: Final = tuple(GAME.c[name] for name in GameSummary._fields)

_PLAYER: Final[ColumnElement[Any]] = bindparam("b_player")
_START: Final[ColumnElement[Any]] = literal_column("0")  # stated, because the compiler would add it as a parameter
# Statuses are written out, because the planner uses a partial index only if it sees the status in the statement.
_SHOWN: Final = GAME.c.status != literal_column("'offered'")
_HOST: Final[Conditions] = (GAME.c.host == _PLAYER,)
_GUEST: Final[Conditions] = (GAME.c.guest == _PLAYER,)
# An invited player who has joined is the guest: no game is found twice.
_INVITED: Final[Conditions] = (GAME.c.invite == _PLAYER, GAME.c.guest.is_(None))
_OWES: Final[Conditions] = (GAME.c.to_move == _PLAYER,)
_OWN: Final = ((_HOST, "open"), (_HOST, "playing"), (_GUEST, "playing"))
_ENDED: Final = (
    *((seat, status) for seat in (_HOST, _GUEST) for status in ("finished", "cancelled")),
    (_INVITED, "cancelled"),
)
_PLACE: Final[Columns] = (GAME.c.game, GAME.c.seq, GAME.c.updated, GAME.c.status)
_NEVER: Final = "9999-12-31T23:59:59Z"
"""Stands for no deadline, in the order of deadlines."""
_JOINER: Final[ColumnElement[Any]] = bindparam("b_joiner", type_=Text)
_DAY: Final[ColumnElement[int]] = literal_column(str(DAY))
_MONTH: Final[ColumnElement[int]] = literal_column(str(31 * DAY))
_NEWEST: Final = (GAME.c.created.desc(), GAME.c.game.desc())


_TYPES: Final[dict[type, tuple[TypeEngine[Any], str]]] = {  # Any: of any type
    int: (Integer(), "bigint"),
    bool: (Boolean(), "boolean"),
    str: (Text(), "text"),
}


class JsonField(ColumnElement[Any]):  # Any: of the type that is asked for
    """The value of the field at `path`, of the type `kind`, in a column of JSON objects; NULL if there is none."""

    inherit_cache = False

    def __init__(self, column: ColumnElement[str], kind: type, *path: str) -> None:
        self.column = column
        self.path = path
        self.type, self.sql_type = _TYPES[kind]


@compiles(JsonField, "sqlite")
def _in_sqlite(field: JsonField, compiler: Any, **options: Any) -> str:  # Any: SQLAlchemy's compiler
    return f"json_extract({compiler.process(field.column, **options)}, '$.{'.'.join(field.path)}')"


@compiles(JsonField, "postgresql")
def _in_postgres(field: JsonField, compiler: Any, **options: Any) -> str:  # Any: SQLAlchemy's compiler
    column = compiler.process(field.column, **options)
    return f"(({column})::json #>> '{{{','.join(field.path)}}}')::{field.sql_type}"


class Rank(IntEnum):
    """The parts of a player's list, in order. Within a part the newest game is first."""

    GOING_ON = 0
    INVITATION = 1
    OVER = 2


def cursor_of(query: Query, last: GameSummary) -> str:
    """Returns the cursor with which the page after the game `last` begins."""
    place = f"{(last.deadline or _NEVER) if query.by_deadline else last.created}~{last.game}"
    if query.player is None or query.prefix:
        return place
    if last.status in OVER:
        rank = Rank.OVER
    else:
        rank = Rank.INVITATION if last.guest is None and last.host != query.player else Rank.GOING_ON
    return f"{place}~{rank.value}"


def statement_of(query: Query) -> Query:
    """Returns what stands for all queries that need the same statement: the query with no value of a parameter.

    A parameter that is given is one word there, and `after` is the number of the rank in which the page begins.
    """
    wanted = query.wanted
    if wanted is not None:
        joiner = _given(wanted.joiner) if wanted.joinable else None
        wanted = wanted._replace(joiner=joiner, ruleset=_given(wanted.ruleset))
    after = None if query.after is None else (*query.after.split("~")[2:], str(Rank.GOING_ON.value))[0]
    return replace(query, player=_given(query.player), prefix=_given(query.prefix), after=after, wanted=wanted)


def _given(value: str | None) -> str | None:
    return None if value is None else "given"


def _rank_after(form: Query) -> Rank | None:
    """Returns in which part of the list the page begins; None for the first page."""
    return None if form.after is None else Rank(int(form.after))


def values_of(query: Query) -> dict[str, Any]:  # Any: column values
    """Returns the parameters of a query's statement."""
    created, game, *_ = [*(query.after or "").split("~"), ""]
    return {
        "b_player": query.player,
        "b_prefix": query.prefix,
        "b_beyond": f"{query.prefix}g",
        "b_created": created,
        "b_game": game,
        "b_joiner": query.wanted.joiner if query.wanted else None,
        "b_ruleset": query.wanted.ruleset if query.wanted else None,
    }


def listed(form: Query) -> Select[Any]:
    """Selects the games that match a form of `statement_of`: a player's in the order of ranks, others newest first.

    Games that have not been opened are in no list.
    """
    if form.by_deadline:
        return _by_deadline(form)
    if form.player and not form.prefix:
        return _of_player(form)
    wanted = [_SHOWN]
    if not form.own:
        wanted.append((_unindexed(GAME.c.link) == literal_column("''")) if form.prefix else GAME.c.link.is_(None))
    if form.status:
        status = GAME.c.status if not form.prefix else _unindexed(GAME.c.status)
        wanted.append(status == literal_column(f"'{form.status}'"))
    if form.wanted is not None:
        wanted.extend(_open_conditions(form.wanted))
    if form.after is not None:
        wanted.append(_older(_unindexed(GAME.c.created) if form.prefix else GAME.c.created))
    if form.prefix:  # finds a handful of games, however many the player has
        wanted.append(GAME.c.game.between(bindparam("b_prefix"), bindparam("b_beyond")))
        if form.waiting:
            wanted.append(_unindexed(GAME.c.to_move) == _PLAYER)
        elif form.player:
            seats = (GAME.c.host, GAME.c.guest, GAME.c.invite)
            wanted.append(or_(*(_unindexed(column) == _PLAYER for column in seats)))
    return _limited(select(*SUMMARY_COLUMNS).where(*wanted).order_by(*_NEWEST), form.limit)


def _open_conditions(form: OpenFilter) -> Iterator[ColumnElement[bool]]:
    """Yields the conditions of a filter. They are looked at in the rows of open games, which are few."""
    if form.joiner:
        blocked = exists().where(BLOCK.c.player == _JOINER, BLOCK.c.other == GAME.c.host)
        yield GAME.c.host != _JOINER
        yield or_(GAME.c.invite.is_(None), GAME.c.invite == _JOINER)
        yield ~blocked
    elif form.joinable:
        yield GAME.c.invite.is_(None)
    if form.ruleset:
        yield JsonField(GAME.c.ruleset, str, "name") == bindparam("b_ruleset", type_=Text)
    if form.rated is not None:
        yield JsonField(GAME.c.agreement, bool, "rated").is_(form.rated)
    first = JsonField(GAME.c.agreement, int, "clock", "move") + JsonField(GAME.c.agreement, int, "clock", "bank")
    match form.speed:
        case "none":
            yield first.is_(None)
        case "fast":
            yield first < _DAY
        case "days":
            yield first >= _DAY
            yield first <= _MONTH
        case "slow":
            yield first > _MONTH


def _of_player(form: Query) -> Select[Any]:
    """Selects a page of a player's games. The walks read indexes only; the rows are read of the games on the page."""
    ranked = [(Rank.INVITATION, _INVITED, "open")]
    if form.waiting:
        ranked += [(Rank.GOING_ON, _OWES, "playing")]
    else:
        ranked += [(Rank.GOING_ON, seat, status) for seat, status in _OWN]
        ranked += [(Rank.OVER, seat, status) for seat, status in _ENDED]
    after = _rank_after(form)
    start = after or Rank.GOING_ON

    def wanted(rank: Rank, seat: Conditions, status: str) -> Conditions:
        # Only a host's games that nobody has joined can have a link. The other walks read no row to see that.
        unjoined = seat is _HOST and status in ("open", "cancelled")
        public = (GAME.c.link.is_(None),) if unjoined and not form.own else ()
        return (*public, _older(GAME.c.created)) if after is rank else public

    walks = [
        _walk(rank, seat, status, wanted(rank, seat, status), form.limit)
        for rank, seat, status in ranked
        if rank >= start and form.status in (None, status)
    ]
    if not walks:  # nothing can match, such as a finished game that waits for an entry
        walks = [_walk(start, _INVITED, "none", (), form.limit)]
    page = _first(walks, form.limit)
    return _rows(page, SUMMARY_COLUMNS).order_by(page.c.rank, page.c.created.desc(), page.c.game.desc())


def _by_deadline(form: Query) -> Select[Any]:
    """Selects a page of the games that wait for a player. Few do, so all of them are found and put in order."""
    due = func.coalesce(GAME.c.deadline, literal_column(f"'{_NEVER}'"))
    after = _rank_after(form)
    start = after or Rank.GOING_ON
    beyond = tuple_(due, GAME.c.game) > tuple_(bindparam("b_created"), bindparam("b_game"))
    parts = ((Rank.GOING_ON, _OWES, "playing"), (Rank.INVITATION, _INVITED, "open"))
    found = []
    # After the parts of waiting games nothing can match.
    for rank, seat, status in [part for part in parts if part[0] >= start] or [(start, _INVITED, "none")]:
        keys = select(literal_column(str(rank.value)).label("rank"), due.label("due"), GAME.c.game)
        wanted = (beyond,) if after is rank else ()
        found.append(keys.where(*seat, GAME.c.status == literal_column(f"'{status}'"), *wanted))
    every = union_all(*found).subquery()
    page = _limited(select(every).order_by(every.c.rank, every.c.due, every.c.game), form.limit).subquery()
    return _rows(page, SUMMARY_COLUMNS).order_by(page.c.rank, page.c.due, page.c.game)


def going_on(limit: int, invitations: int) -> Select[Any]:
    """Selects the places of a player's games that go on or ended at `b_since` or later.

    At most `limit` of the player's own games, and at most so many `invitations`: first those that go on, then the
    newest ones.
    """
    since = GAME.c.ended >= bindparam("b_since")

    def ended(seat: Conditions) -> Select[Any]:
        return _keys(Rank.OVER).where(*seat, since)

    own = [_walk(Rank.GOING_ON, seat, status, (), limit) for seat, status in _OWN]
    invited = _walk(Rank.INVITATION, _INVITED, "open", (), invitations)
    parts = (
        _first([*own, ended(_HOST), ended(_GUEST)], limit),
        _first([invited, ended(_INVITED)], invitations),
    )
    return _rows(union_all(*map(select, parts)).subquery(), _PLACE)


def finished(limit: int) -> Select[Any]:
    """Selects games that ended before `b_before` and after the place (`b_ended`, `b_game`), in the order of their end.

    The first column says when a game ended; the others are those of its summary.
    """
    beyond = tuple_(GAME.c.ended, GAME.c.game) > tuple_(bindparam("b_ended"), bindparam("b_game"))
    # The first condition follows from the others. A partial index is only used if the planner sees its condition.
    wanted = (GAME.c.ended.is_not(None), GAME.c.ended < bindparam("b_before"), beyond, GAME.c.link.is_(None))
    found = select(GAME.c.ended, *SUMMARY_COLUMNS).where(*wanted).order_by(GAME.c.ended, GAME.c.game)
    return _limited(found, limit)


def _keys(rank: Rank) -> Select[Any]:
    """Selects what every index of a player's games contains, so that a walk reads nothing but the index."""
    return select(literal_column(str(rank.value)).label("rank"), GAME.c.created, GAME.c.game)


def _walk(rank: Rank, seat: Conditions, status: str, wanted: Conditions, limit: int) -> Select[Any]:
    """Selects the newest games of a player by seat and status: an ordered walk of at most `limit` steps in an index."""
    found = _keys(rank).where(*seat, GAME.c.status == literal_column(f"'{status}'"), *wanted)
    return select(_limited(found.order_by(*_NEWEST), limit).subquery())


def _first(walks: list[Select[Any]], limit: int) -> Subquery:
    """Returns the keys of the first games that several walks find."""
    found = union_all(*walks).subquery()
    order = (found.c.rank, found.c.created.desc(), found.c.game.desc())
    return _limited(select(found).order_by(*order), limit).subquery()


def _rows(keys: Subquery, columns: Columns) -> Select[Any]:
    return select(*columns).select_from(keys.join(GAME, GAME.c.game == keys.c.game))


def _older(created: ColumnElement[Any]) -> ColumnElement[bool]:
    return tuple_(created, GAME.c.game) < tuple_(bindparam("b_created"), bindparam("b_game"))


def _unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Hides a column from the planner, so that it does not choose the column's index: another one finds fewer rows."""
    return func.coalesce(column, literal_column("''"))


def _limited(found: Select[Any], limit: int) -> Select[Any]:
    return found.limit(literal_column(str(limit))).offset(_START)
