"""An append on SQLite: its values, prepared before the transaction begins, and the statements that write them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from hkoji.errors import ConflictError, NotFoundError
from hkoji.game.course import OVER
from hkoji.messages.text import tell
from hkoji_server.store import player_keys
from hkoji_server.store.age import Clock, latest
from hkoji_server.store.contract import Append, Hint, hint_of
from hkoji_server.store.incoming import is_new
from hkoji_server.store.mail_values import ClosedMailError
from hkoji_server.store.notices import outbox_rows, wanting_values, writing
from hkoji_server.store.sqlite.connections import DIALECT, READS, driver
from hkoji_server.store.sqlite.writer import Work
from hkoji_server.store.statements import (
    OUTLINE,
    PLACE,
    Values,
    advance_values,
    compiled,
    entry_values,
    moves_look,
    open_games_values,
    outline_values,
    same_place,
    verify_may_open,
)
from hkoji_server.store.tables import ENTRY, GAME, OPENING, STATEMENT
from hkoji_server.store.time_contract import StaleDecisionError

# Compare-and-swap: the row changes only if the game's head and deadline are those that the append was decided with,
# there are no more outages, and the author's key has not been revoked.
ADVANCE: Final = compiled(
    update(GAME).where(*same_place()).values({name: bindparam(f"s_{name}") for name in PLACE}), DIALECT
)
# Not part of `ADVANCE`, because SQLite rewrites every index of a column that a statement sets, even to the same value.
SET_OUTLINE: Final = compiled(
    update(GAME).where(GAME.c.game == bindparam("b_game")).values({name: bindparam(f"s_{name}") for name in OUTLINE}),
    DIALECT,
)
SET_LOOK: Final = compiled(
    update(GAME)
    .where(GAME.c.game == bindparam("b_game"))
    .values(look_at=bindparam("s_deadline"), way=bindparam("s_way")),
    DIALECT,
)
ADD_ENTRY: Final = compiled(insert(ENTRY), DIALECT)
ADD_OPENING: Final = compiled(insert(OPENING), DIALECT)
ADD_NOTICE: Final = compiled(writing(DIALECT.name), DIALECT)
MAIL_NEW: Final = compiled(select(is_new()), DIALECT)
FORGET: Final = compiled(delete(STATEMENT).where(STATEMENT.c.game == bindparam("b_game")), DIALECT)


def write_of(append: Append, clock: Clock) -> Work[Hint]:
    """Returns the work that writes `append` in a transaction. `clock` judges how old the decision is by then.

    The work raises `RevokedError`, `ConflictError`, `StaleDecisionError`, `NotFoundError`, `TooManyGamesError` or
    `ClosedMailError` before it has written anything. So the writer can leave it out of a batch without rolling the
    batch back.
    """
    last = latest(append.at)
    place = advance_values(append)
    mail = append.mail
    outline = outline_values(append) if append.outline else None
    looks = moves_look(append)
    entries = [entry_values(line) for line in append.lines]
    openings = _opening_values(append)
    told = wanting_values(append.notices) if append.notices else None

    def work(connection: Connection) -> Hint:
        execute = driver(connection).execute
        # The transaction holds the write lock of the file: until its end nobody opens another game.
        if append.opens and execute(READS.head, place).fetchone() == (append.seq, append.head):
            verify_may_open(append, execute(READS.open_games, open_games_values(append)).fetchone())
        # The transaction has the write lock: whatever waits for the lock cannot have looked at the clock yet. Of what a
        # mail has led to, the mail says how old it may be.
        if mail is not None and not execute(MAIL_NEW, {"b_mail": mail}).fetchone()[0]:
            raise ClosedMailError(mail)
        if (mail is None and clock() > last) or execute(ADVANCE, place).rowcount != 1:
            if append.key and (row := execute(READS.retired_key, place).fetchone()):
                player_keys.verify_not_revoked(player_keys.read_retired(row))
            row = execute(READS.head, place).fetchone()
            if row is None:
                raise NotFoundError(tell("game"), append.game)
            if row != (append.seq, append.head):
                raise ConflictError(append.game, seq=row[0], head=row[1])
            raise StaleDecisionError(append.game)
        if looks:
            execute(SET_LOOK, place)
        if outline:
            execute(SET_OUTLINE, outline)
            if append.summary.status in OVER:
                execute(FORGET, outline)
        for entry in entries:
            execute(ADD_ENTRY, entry)
        for opening in openings:
            execute(ADD_OPENING, opening)
        # Most players have no channel. Then this one look is all that a notice costs.
        if told and (channels := execute(READS.wanting, told).fetchall()):
            for notice in outbox_rows(append.notices, channels):
                execute(ADD_NOTICE, notice)
        return hint_of(append)

    return work


def _opening_values(append: Append) -> list[Values]:
    return [
        {"game": append.game, "seq": each.seq, "part": each.part, "cards": each.cards, "salt": each.salt}
        for each in append.openings
    ]
