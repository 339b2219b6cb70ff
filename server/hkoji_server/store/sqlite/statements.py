"""The SQLite statements of every move and every view, compiled once.

They are written with the tables' columns and handed to the driver as text with named parameters: the engine's own road
to the driver costs several times what SQLite takes to run them. Statements that run rarely are written where they run.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ClauseElement, Table, bindparam, func, insert, select, update
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlmodel import SQLModel

from hkoji.errors import HkojiError
from hkoji.log.line import Line, StoredLine
from hkoji_server.store.contract import Append, GameSummary
from hkoji_server.store.tables import (
    ChallengeTable,
    EntryTable,
    GameTable,
    OpeningTable,
    PlayerTable,
    RecoveryTable,
    RetiredKeyTable,
    SecretTable,
    ServiceTable,
    TokenTable,
)

Row = tuple[Any, ...]  # Any: a row has the columns that were asked for
Values = dict[str, Any]  # Any: column values


def _table(record: type[SQLModel]) -> Table:
    return SQLModel.metadata.tables[str(record.__tablename__)]


def compiled(statement: ClauseElement) -> str:
    """A statement with named parameters, as the driver takes it."""
    return str(statement.compile(dialect=SQLiteDialect(paramstyle="named")))


SERVICE: Final = _table(ServiceTable)
PLAYER: Final = _table(PlayerTable)
RETIRED: Final = _table(RetiredKeyTable)
RECOVERY: Final = _table(RecoveryTable)
CHALLENGE: Final = _table(ChallengeTable)
TOKEN: Final = _table(TokenTable)
GAME: Final = _table(GameTable)
SECRET: Final = _table(SecretTable)
ENTRY: Final = _table(EntryTable)
OPENING: Final = _table(OpeningTable)

SUMMARY: Final = GameSummary._fields
SUMMARY_COLUMNS: Final = tuple(GAME.c[name] for name in SUMMARY)
PLACE: Final = ("seq", "head", "round", "actor", "to_move", "updated")
OUTLINE: Final = ("status", "host", "guest", "invite", "reason", "winner", "ended")

# Compare-and-swap: the row changes only if the game still stands where the writer believed it to stand.
ADVANCE: Final = compiled(
    update(GAME)
    .where(GAME.c.game == bindparam("b_game"), GAME.c.seq == bindparam("b_seq"), GAME.c.head == bindparam("b_head"))
    .values({name: bindparam(f"s_{name}") for name in PLACE})
)
# What most moves leave as it is. Apart from `ADVANCE`, since SQLite rewrites every index of a column that is set.
SET_OUTLINE: Final = compiled(
    update(GAME).where(GAME.c.game == bindparam("b_game")).values({name: bindparam(f"s_{name}") for name in OUTLINE})
)
ADD_ENTRY: Final = compiled(insert(ENTRY))
ADD_OPENING: Final = compiled(insert(OPENING))
HEAD_OF: Final = compiled(select(GAME.c.seq, GAME.c.head).where(GAME.c.game == bindparam("b_game")))
# One parameter however many games, so that the statement stays compiled.
HEADS_OF: Final = compiled(
    select(GAME.c.game, GAME.c.seq).where(
        GAME.c.game.in_(select(func.json_each(bindparam("b_games")).table_valued("value").c.value))
    )
)
GAME_OF: Final = compiled(select(*SUMMARY_COLUMNS).where(GAME.c.game == bindparam("b_game")))
LINES_OF: Final = compiled(
    select(ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
    .where(ENTRY.c.game == bindparam("b_game"), ENTRY.c.seq > bindparam("b_after"))
    .order_by(ENTRY.c.seq)
)
SECRET_OF: Final = compiled(select(SECRET.c.seed, SECRET.c.offered_to).where(SECRET.c.game == bindparam("b_game")))
OPENINGS_OF: Final = compiled(
    select(OPENING.c.seq, OPENING.c.part, OPENING.c.cards, OPENING.c.salt)
    .where(OPENING.c.game == bindparam("b_game"))
    .order_by(OPENING.c.seq, OPENING.c.part)
)
IDENTITY: Final = compiled(select(SERVICE.c.private_key, SERVICE.c.origin))
PLAYER_OF: Final = compiled(select(*PLAYER.c).where(PLAYER.c.name == bindparam("b_name")))
RETIRED_OF: Final = compiled(
    select(*RETIRED.c).where(RETIRED.c.name == bindparam("b_name")).order_by(RETIRED.c.at, RETIRED.c.key)
)
RETIRED_KEY: Final = compiled(select(*RETIRED.c).where(RETIRED.c.key == bindparam("b_key")))
NAME_OF_TOKEN: Final = compiled(
    select(TOKEN.c.name).where(TOKEN.c.digest == bindparam("b_digest"), TOKEN.c.expires > bindparam("b_now"))
)


def advance_values(append: Append) -> Values:
    """The parameters of `ADVANCE`."""
    values: Values = {f"s_{name}": getattr(append.summary, name) for name in PLACE}
    values.update(b_game=append.game, b_seq=append.seq, b_head=append.head)
    return values


def outline_values(append: Append) -> Values:
    """The parameters of `SET_OUTLINE`."""
    values = summary_values(append.summary)
    return {"b_game": append.game, **{f"s_{name}": values[name] for name in OUTLINE}}


def opening_values(append: Append) -> list[Values]:
    """The parameters of `ADD_OPENING`, for each opening."""
    return [
        {"game": append.game, "seq": each.seq, "part": each.part, "cards": each.cards, "salt": each.salt}
        for each in append.openings
    ]


def summary_values(summary: GameSummary) -> Values:
    """A summary as a row; with it when a game that is over was."""
    return {**summary._asdict(), "ended": summary.updated if summary.status == "finished" else None}


def entry_values(line: Line) -> Values:
    """A line as a row: the parameters of `ADD_ENTRY`."""
    if line.receipt is None:
        raise HkojiError("a line is stored with its receipt")
    return {
        "game": line.entry.game,
        "seq": line.entry.seq,
        "text": line.entry.text,
        "sig": line.sig,
        "receipt": line.receipt.receipt.text,
        "receipt_sig": line.receipt.sig,
    }


def read_line(row: Row) -> Line:
    """A line from a row of `LINES_OF`."""
    return StoredLine._make(row).read()
