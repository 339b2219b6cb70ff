"""An append on SQLite: its values, prepared before the transaction begins, and the statements that write them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, exists, insert, update

from hkoji.errors import ConflictError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.store import player_keys
from hkoji_server.store.contract import Append, Hint, hint_of
from hkoji_server.store.sqlite.connections import DIALECT, READS, driver
from hkoji_server.store.sqlite.writer import Work
from hkoji_server.store.statements import (
    OUTLINE,
    PLACE,
    Values,
    advance_values,
    compiled,
    entry_values,
    open_games_values,
    outline_values,
    verify_may_open,
)
from hkoji_server.store.tables import ENTRY, GAME, OPENING, RETIRED

# Compare-and-swap: the row changes only if the game's head is the one that the author of the append has seen, and the
# author's key has not been revoked.
ADVANCE: Final = compiled(
    update(GAME)
    .where(GAME.c.game == bindparam("b_game"), GAME.c.seq == bindparam("b_seq"), GAME.c.head == bindparam("b_head"))
    .where(~exists().where(RETIRED.c.key == bindparam("b_key"), RETIRED.c.revoked))
    .values({name: bindparam(f"s_{name}") for name in PLACE}),
    DIALECT,
)
# Not part of `ADVANCE`, because SQLite rewrites every index of a column that a statement sets, even to the same value.
SET_OUTLINE: Final = compiled(
    update(GAME).where(GAME.c.game == bindparam("b_game")).values({name: bindparam(f"s_{name}") for name in OUTLINE}),
    DIALECT,
)
ADD_ENTRY: Final = compiled(insert(ENTRY), DIALECT)
ADD_OPENING: Final = compiled(insert(OPENING), DIALECT)


def write_of(append: Append) -> Work[Hint]:
    """Returns the work that writes `append` in a transaction.

    The work raises `RevokedError`, `ConflictError`, `NotFoundError` or `TooManyGamesError` before it has written
    anything. So the writer can leave it out of a batch without rolling the batch back.
    """
    place = advance_values(append)
    outline = outline_values(append) if append.outline else None
    entries = [entry_values(line) for line in append.lines]
    openings = _opening_values(append)

    def work(connection: Connection) -> Hint:
        execute = driver(connection).execute
        # The transaction holds the write lock of the file: until its end nobody opens another game.
        if append.opens and execute(READS.head, place).fetchone() == (append.seq, append.head):
            verify_may_open(append, execute(READS.open_games, open_games_values(append)).fetchone())
        if execute(ADVANCE, place).rowcount != 1:
            if append.key and (row := execute(READS.retired_key, place).fetchone()):
                player_keys.verify_not_revoked(player_keys.read_retired(row))
            row = execute(READS.head, place).fetchone()
            if row is None:
                raise NotFoundError(tell("game"), append.game)
            raise ConflictError(append.game, seq=row[0], head=row[1])
        if outline:
            execute(SET_OUTLINE, outline)
        for entry in entries:
            execute(ADD_ENTRY, entry)
        for opening in openings:
            execute(ADD_OPENING, opening)
        return hint_of(append)

    return work


def _opening_values(append: Append) -> list[Values]:
    return [
        {"game": append.game, "seq": each.seq, "part": each.part, "cards": each.cards, "salt": each.salt}
        for each in append.openings
    ]
