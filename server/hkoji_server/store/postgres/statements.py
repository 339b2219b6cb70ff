"""The PostgreSQL statements that differ from those of SQLite, compiled once, for the driver to prepare.

An append is two statements in one transaction and one round trip. `HOLD` locks the game's row, which also gives the
transaction its number, and returns the game's head. `append_statement` sees everything that was committed before it
began, because at READ COMMITTED every statement has a snapshot of its own. It writes everything or nothing: nothing if
the game has another head or deadline, if there are more outages, if the decision is old, or if the key has been
revoked. A new game takes its number, and the lock that outages exclude, in two statements before the one that writes.
`postgres.store` explains why that is enough.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    DateTime,
    Dialect,
    Integer,
    LargeBinary,
    Text,
    any_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_or
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from hkoji.game.course import OVER
from hkoji_server.store.choices import working
from hkoji_server.store.game_values import Append, GameSummary, NewGame
from hkoji_server.store.games import COUNTED_OFFERS, FORGET_OFFERS, HEAD, NOTE_OFFER
from hkoji_server.store.notices import KEY, RENEWED, renewal
from hkoji_server.store.outages import no_more_outages
from hkoji_server.store.player_tables import PLAYER, RETIRED
from hkoji_server.store.sql_steps import Values, compiled
from hkoji_server.store.statements import (
    OPEN_GAMES,
    OUTLINE,
    PLACE,
    advance_values,
    deposit_rows,
    entry_values,
    moves_look,
    outline_values,
    same_place,
    summary_values,
)
from hkoji_server.store.tables import CHANNEL, DEPOSIT, ENTRY, GAME, OPENING, OUTBOX, SECRET, STATEMENT
from hkoji_server.store.time_contract import latest

DIALECT: Final[Dialect] = PGDialect_psycopg()  # type: ignore[no-untyped-call] # SQLAlchemy's
_ENTRY: Final = {"seq": Integer, "text": Text, "sig": LargeBinary, "receipt": Text, "receipt_sig": LargeBinary}
_OPENING: Final = {"seq": Integer, "part": Integer, "cards": Text, "salt": Text}
_DEPOSIT: Final = {"round": Integer, "at": Integer, "seat": Integer, "shares": LargeBinary}
_PLACE_GIVEN: Final = {"round": Integer, "at": Integer}
_NOTICE: Final = {"seq": Integer, "event": Text, "player": Text, "not_before": Text}
_SPACE: Final[Any] = literal_column("' '")
_text: Final = partial(compiled, dialect=DIALECT)


def _list(name: str, kind: Any) -> Any:  # Any: SQL types and expressions, here and below
    return bindparam(name, type_=ARRAY(kind))


def _rows(name: str, prefix: str, columns: dict[str, Any]) -> Any:
    """Returns the rows of a list for each column, as a table."""
    lists = (_list(f"{prefix}_{column}", kind) for column, kind in columns.items())
    return func.unnest(*lists).table_valued(*columns, name=name).render_derived()


def _given() -> Any:
    """Returns one line as single parameters. They are cheaper than lists, and nearly every append has one line."""
    return (bindparam(f"e_{name}", type_=ENTRY.c[name].type) for name in _ENTRY)


def _is_fresh() -> Any:
    """Returns the condition that the time of the decision is not too old, by the database's clock.

    The clock is read when the statement runs. By then the transaction has its number: see `postgres.store`.
    """
    return func.clock_timestamp() <= bindparam("b_latest", type_=DateTime(timezone=True))


def _noted(moved: Any) -> Any:
    """Returns what writes the notices: `store.notices.add_notices` in one statement."""
    given = _rows("told", "t", _NOTICE)
    wanted = func.strpos(CHANNEL.c.events, func.concat(_SPACE, given.c.event, _SPACE)) > literal_column("0")
    rows = (
        select(
            moved.c.game,
            given.c.seq,
            given.c.event,
            CHANNEL.c.id,
            CHANNEL.c.kind,
            given.c.not_before,
            given.c.not_before,
            literal_column("0"),
        )
        .select_from(moved, given, CHANNEL)
        .where(CHANNEL.c.player == given.c.player, *working(), wanted)
    )
    added = insert_or(OUTBOX).from_select([*KEY, *RENEWED], rows)
    return added.on_conflict_do_update(index_elements=KEY, set_=renewal(dict(added.excluded)))


# When it is first used: there are 512, each takes milliseconds to make, and a process needs about a dozen.
@cache
def _appends(
    *,
    outline: bool,
    openings: bool,
    single: bool,
    ends: bool,
    looks: bool,
    tells: bool,
    mailed: bool,
    deposits: bool,
    given: bool,
) -> str:
    """Returns the statement of an append, which contains only the parts that the append has."""
    names = (*PLACE, *OUTLINE) if outline else PLACE
    values: dict[str, Any] = {name: bindparam(f"s_{name}") for name in names}
    if looks:
        values["look_at"], values["way"] = values["deadline"], bindparam("s_way")
    moved = (
        update(GAME)
        .where(*same_place(), *(() if mailed else (_is_fresh(),)))
        .values(values)
        .returning(GAME.c.game)
        .cte("moved")
    )
    if single:
        rows = select(moved.c.game, *_given())
    else:
        lines = _rows("line", "e", _ENTRY)
        rows = select(moved.c.game, *(lines.c[name] for name in _ENTRY)).select_from(moved, lines)
    added = insert(ENTRY).from_select(["game", *_ENTRY], rows)
    answer = select(
        select(func.count()).select_from(moved).scalar_subquery(),
        select(RETIRED.c.name).where(RETIRED.c.key == bindparam("b_key"), RETIRED.c.revoked).scalar_subquery(),
    ).add_cte(added.cte("added"))
    if openings:
        kept = _rows("kept", "o", _OPENING)
        opened = insert(OPENING).from_select(
            ["game", *_OPENING], select(moved.c.game, *(kept.c[name] for name in _OPENING)).select_from(moved, kept)
        )
        answer = answer.add_cte(opened.cte("opened"))
    if deposits:
        new = _rows("deposited", "d", _DEPOSIT)
        rows = select(moved.c.game, *(new.c[name] for name in _DEPOSIT)).select_from(moved, new)
        answer = answer.add_cte(insert(DEPOSIT).from_select(["game", *_DEPOSIT], rows).cte("held"))
    if given:
        used = _rows("used", "g", _PLACE_GIVEN)
        gone = delete(DEPOSIT).where(
            DEPOSIT.c.game == moved.c.game, *(DEPOSIT.c[name] == used.c[name] for name in _PLACE_GIVEN)
        )
        answer = answer.add_cte(gone.cte("gone"))
    if ends:
        forgotten = delete(STATEMENT).where(STATEMENT.c.game.in_(select(moved.c.game)))
        answer = answer.add_cte(forgotten.cte("forgotten"))
    if tells:
        answer = answer.add_cte(_noted(moved).cte("noted"))
    return _text(answer)


PLACE_OF: Final = _text(HEAD)
HOLD: Final = _text(HEAD.with_for_update(key_share=True))
HOSTED: Final = _text(OPEN_GAMES)
HOLD_HOST: Final = _text(
    select(PLAYER.c.name).where(PLAYER.c.name == bindparam("b_host")).with_for_update(key_share=True)
)


def append_statement(append: Append) -> str:
    """Returns the second statement of an append.

    By whether it has an outline, openings, and exactly one line, ends the game, sets when the keeper looks at it, has
    notices, was led to by a mail, and keeps or deletes deposits.
    """
    return _appends(
        outline=append.outline,
        openings=bool(append.openings),
        single=len(append.lines) == 1,
        ends=append.outline and append.summary.status in OVER,
        looks=moves_look(append),
        tells=bool(append.notices),
        mailed=append.closing is not None,
        deposits=bool(append.deposits),
        given=bool(append.given),
    )


def _adds_game() -> str:
    names = (*GameSummary._fields, "ended", "look_at", "way")
    given = (bindparam(f"s_{name}", type_=GAME.c[name].type) for name in names)
    row = select(*given).where(no_more_outages(), _is_fresh())
    game = insert(GAME).from_select(list(names), row).returning(GAME.c.game).cte("made")
    secret = insert(SECRET).from_select(
        ["game", "seed", "offered_to"],
        select(game.c.game, bindparam("n_seed", type_=Text), bindparam("n_offered_to", type_=Text)),
    )
    entry = insert(ENTRY).from_select(["game", *_ENTRY], select(game.c.game, *_given()))
    return _text(select(game.c.game).add_cte(secret.cte("kept"), entry.cte("added")))


NUMBER: Final = "SELECT pg_current_xact_id()::text"
"""Takes a transaction number, which is higher than all that were taken before. A snapshot alone would not do: it knows
only the numbers up to the last transaction that has ended, and a transaction with a higher one may be running."""
ENDED: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %(number)s::xid8"
"""Whether all transactions with lower numbers have ended."""
ENTER: Final = "LOCK TABLE game IN ROW EXCLUSIVE MODE"
"""Waits for the end of `ALONE`, as `HOLD` does. Others that append or add games do not wait for each other."""
ALONE: Final = "LOCK TABLE game IN EXCLUSIVE MODE"
"""Waits until nobody appends, adds a game or keeps a statement, and keeps them out; readers and backups go on."""
ADD_GAME: Final = _adds_game()
"""Returns a row if it has added the game."""
COUNT: Final = _text(COUNTED_OFFERS)
FORGET: Final = _text(FORGET_OFFERS)
NOTE: Final = _text(NOTE_OFFER)
HEADS_OF: Final = select(GAME.c.game, GAME.c.seq).where(GAME.c.game == any_(_list("b_games", Text)))


def append_values(append: Append) -> Values:
    """Returns the parameters of `HOLD` and of `append_statement`."""
    values = advance_values(append)
    values["b_latest"] = latest(append.at)
    if append.outline:
        values.update(outline_values(append))
    rows = [entry_values(line) for line in append.lines]
    if len(rows) == 1:
        values.update({f"e_{name}": rows[0][name] for name in _ENTRY})
    else:
        values.update({f"e_{name}": [row[name] for row in rows] for name in _ENTRY})
    values.update({f"o_{name}": [getattr(each, name) for each in append.openings] for name in _OPENING})
    values.update({f"t_{name}": [getattr(each, name) for each in append.notices] for name in _NOTICE})
    rows = deposit_rows(append)
    values.update({f"d_{name}": [row[name] for row in rows] for name in _DEPOSIT})
    values.update(g_round=[number for number, _ in append.given], g_at=[at for _, at in append.given])
    return values


def game_values(new: NewGame) -> Values:
    """Returns the parameters of `ADD_GAME`."""
    values: Values = {f"s_{name}": value for name, value in summary_values(new.summary).items()}
    values.update({f"e_{name}": value for name, value in entry_values(new.line).items()})
    values.update(n_seed=new.seed, n_offered_to=new.offered_to, b_latest=latest(new.at), b_outages=new.outages)
    return values
