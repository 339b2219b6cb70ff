"""The PostgreSQL statements of every move and every view, compiled once, for the driver to prepare.

An append is two statements in one transaction and one round trip. `HOLD` locks the game's row, which also gives the
transaction its number, and tells how far the game has come. `append_statement` sees all that was committed before it
began, since at READ COMMITTED every statement has a snapshot of its own; and does everything or, if the game stands
elsewhere or the key has been revoked, nothing. `store/postgres.py` says why that is enough.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ClauseElement,
    Dialect,
    Integer,
    LargeBinary,
    Text,
    any_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_or
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from hkoji_server.store.contract import Append, NewGame
from hkoji_server.store.sqlite.statements import (
    CHALLENGE,
    ENTRY,
    GAME,
    OPENING,
    OUTLINE,
    PLACE,
    PLAYER,
    RETIRED,
    SECRET,
    SERVICE,
    SUMMARY,
    SUMMARY_COLUMNS,
    TOKEN,
    Values,
    advance_values,
    entry_values,
    outline_values,
    summary_values,
)

DIALECT: Final[Dialect] = PGDialect_psycopg()  # type: ignore[no-untyped-call] # SQLAlchemy's
_ENTRY: Final = ("seq", "text", "sig", "receipt", "receipt_sig")
_OPENING: Final = ("seq", "part", "cards", "salt")


def compiled(statement: ClauseElement) -> str:
    """A statement with named parameters, as the driver takes it."""
    return str(statement.compile(dialect=DIALECT))


def _list(name: str, kind: Any) -> Any:  # Any: SQL types and expressions, here and below
    return bindparam(name, type_=ARRAY(kind))


def _given() -> Any:
    """One line, as parameters of its own: cheaper than lists, and nearly every append has one."""
    return (bindparam(f"e_{name}", type_=ENTRY.c[name].type) for name in _ENTRY)


def _appends(*, outline: bool, openings: bool, single: bool) -> str:
    """Everything of an append; of what it does not have, nothing."""
    names = (*PLACE, *OUTLINE) if outline else PLACE
    revoked = exists().where(RETIRED.c.key == bindparam("b_key"), RETIRED.c.revoked)
    moved = (
        update(GAME)
        .where(GAME.c.game == bindparam("b_game"), GAME.c.seq == bindparam("b_seq"), GAME.c.head == bindparam("b_head"))
        .where(~revoked)
        .values({name: bindparam(f"s_{name}") for name in names})
        .returning(GAME.c.game)
        .cte("moved")
    )
    lines = (
        func.unnest(
            _list("e_seq", Integer),
            _list("e_text", Text),
            _list("e_sig", LargeBinary),
            _list("e_receipt", Text),
            _list("e_receipt_sig", LargeBinary),
        )
        .table_valued(*_ENTRY, name="line")
        .render_derived()
    )
    if single:
        rows = select(moved.c.game, *_given())
    else:
        rows = select(moved.c.game, *(lines.c[name] for name in _ENTRY)).select_from(moved, lines)
    added = insert(ENTRY).from_select(["game", *_ENTRY], rows)
    answer = select(
        select(func.count()).select_from(moved).scalar_subquery(),
        select(RETIRED.c.name).where(RETIRED.c.key == bindparam("b_key"), RETIRED.c.revoked).scalar_subquery(),
    ).add_cte(added.cte("added"))
    if openings:
        kept = (
            func.unnest(
                _list("o_seq", Integer), _list("o_part", Integer), _list("o_cards", Text), _list("o_salt", Text)
            )
            .table_valued(*_OPENING, name="kept")
            .render_derived()
        )
        opened = insert(OPENING).from_select(
            ["game", *_OPENING], select(moved.c.game, *(kept.c[name] for name in _OPENING)).select_from(moved, kept)
        )
        answer = answer.add_cte(opened.cte("opened"))
    return compiled(answer)


HOLD: Final = compiled(
    select(GAME.c.seq, GAME.c.head).where(GAME.c.game == bindparam("b_game")).with_for_update(key_share=True)
)
_APPENDS: Final = {
    which: _appends(outline=which[0], openings=which[1], single=which[2])
    for which in itertools.product((False, True), repeat=3)
}


def append_statement(append: Append) -> str:
    """The second statement of an append: by whether it has an outline, openings, and one line only."""
    return _APPENDS[append.outline, bool(append.openings), len(append.lines) == 1]


def _adds_game() -> str:
    game = (
        insert(GAME)
        .values({name: bindparam(f"s_{name}") for name in (*SUMMARY, "ended")})
        .returning(GAME.c.game)
        .cte("made")
    )
    secret = insert(SECRET).from_select(
        ["game", "seed", "offered_to"],
        select(game.c.game, bindparam("n_seed", type_=Text), bindparam("n_offered_to", type_=Text)),
    )
    entry = insert(ENTRY).from_select(["game", *_ENTRY], select(game.c.game, *_given()))
    return compiled(select(game.c.game).add_cte(secret.cte("kept"), entry.cte("added")))


ADD_GAME: Final = _adds_game()
HEAD_OF: Final = compiled(select(GAME.c.seq, GAME.c.head).where(GAME.c.game == bindparam("b_game")))
HEADS_OF: Final = compiled(select(GAME.c.game, GAME.c.seq).where(GAME.c.game == any_(_list("b_games", Text))))
GAME_OF: Final = compiled(select(*SUMMARY_COLUMNS).where(GAME.c.game == bindparam("b_game")))
LINES_OF: Final = compiled(
    select(ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
    .where(ENTRY.c.game == bindparam("b_game"), ENTRY.c.seq > bindparam("b_after", type_=BigInteger))
    .order_by(ENTRY.c.seq)
)
SECRET_OF: Final = compiled(select(SECRET.c.seed, SECRET.c.offered_to).where(SECRET.c.game == bindparam("b_game")))
OPENINGS_OF: Final = compiled(
    select(OPENING.c.seq, OPENING.c.part, OPENING.c.cards, OPENING.c.salt)
    .where(OPENING.c.game == bindparam("b_game"))
    .order_by(OPENING.c.seq, OPENING.c.part)
)
PLAYER_OF: Final = compiled(select(*PLAYER.c).where(PLAYER.c.name == bindparam("b_name")))
RETIRED_KEY: Final = compiled(select(*RETIRED.c).where(RETIRED.c.key == bindparam("b_key")))
RETIRED_OF: Final = compiled(
    select(*RETIRED.c).where(RETIRED.c.name == bindparam("b_name")).order_by(RETIRED.c.at, RETIRED.c.key)
)
IDENTITY: Final = compiled(select(SERVICE.c.private_key, SERVICE.c.origin))
NAME_OF_TOKEN: Final = compiled(
    select(TOKEN.c.name).where(TOKEN.c.digest == bindparam("b_digest"), TOKEN.c.expires > bindparam("b_now"))
)
DROP_TOKEN: Final = compiled(delete(TOKEN).where(TOKEN.c.digest == bindparam("b_digest")))
ADD_CHALLENGE: Final = compiled(insert_or(CHALLENGE).on_conflict_do_nothing())
TAKE_CHALLENGE: Final = compiled(
    delete(CHALLENGE)
    .where(CHALLENGE.c.digest == bindparam("b_digest"), CHALLENGE.c.expires > bindparam("b_now"))
    .returning(CHALLENGE.c.digest)
)
FORGET_CHALLENGES: Final = compiled(delete(CHALLENGE).where(CHALLENGE.c.expires <= bindparam("b_now")))


def append_values(append: Append) -> Values:
    """The parameters of `HOLD` and of `append_statement`."""
    values = advance_values(append)
    if append.outline:
        values.update(outline_values(append))
    rows = [entry_values(line) for line in append.lines]
    if len(rows) == 1:
        values.update({f"e_{name}": rows[0][name] for name in _ENTRY})
    else:
        values.update({f"e_{name}": [row[name] for row in rows] for name in _ENTRY})
    values.update({f"o_{name}": [getattr(each, name) for each in append.openings] for name in _OPENING})
    values["b_key"] = append.key
    return values


def game_values(new: NewGame) -> Values:
    """The parameters of `ADD_GAME`."""
    values: Values = {f"s_{name}": value for name, value in summary_values(new.summary).items()}
    values.update({f"e_{name}": value for name, value in entry_values(new.line).items()})
    values.update(n_seed=new.seed, n_offered_to=new.offered_to)
    return values
