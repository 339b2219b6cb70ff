"""The store on one SQLite file. `connections` has the settings that make it durable.

The values of an append are prepared before its transaction begins.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from hkoji.errors import ConflictError, NotFoundError, StorageError
from hkoji.game.course import OVER
from hkoji.messages.text import tell
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, Decide, Hint, NewGame
from hkoji_server.store.games import (
    COUNTED_OFFERS,
    FORGET_OFFERS,
    HEAD,
    NOTE_OFFER,
    CountedOffers,
    quota_values,
    verify_may_offer,
)
from hkoji_server.store.incoming import close_mail, verify_closing
from hkoji_server.store.migrate import migrate
from hkoji_server.store.notices import WANTING, outbox_rows, wanting_values, writing
from hkoji_server.store.outages import outage_number
from hkoji_server.store.player_tables import RetiredKey
from hkoji_server.store.players import RETIRED_KEY, verify_not_revoked
from hkoji_server.store.sql_steps import compiled
from hkoji_server.store.sqlite.connections import DIALECT, SqliteReader, driver, open_engine
from hkoji_server.store.sqlite.durable import verify_durable
from hkoji_server.store.sqlite.writer import SqliteHints, SqliteWriter, Work
from hkoji_server.store.statements import (
    OPEN_GAMES,
    OUTLINE,
    PLACE,
    advance_values,
    deposit_rows,
    entry_values,
    hint_of,
    moves_look,
    open_games_values,
    outline_values,
    same_place,
    summary_values,
    verify_may_open,
)
from hkoji_server.store.tables import DEPOSIT, ENTRY, GAME, OPENING, SECRET, STATEMENT, one_of
from hkoji_server.store.time_contract import UTC_CLOCK, Clock, StaleDecisionError, latest

T = TypeVar("T")
_text: Final = partial(compiled, dialect=DIALECT)

ENOUGH: Final = 1 << 20
"""How many bytes must be free beside the file. On a full disk a small write may still succeed, because it fits into the
space that the write-ahead log already has, while moves, which are larger, fail."""
# The games are one parameter, a JSON array, so that the statement is the same for any number of games and stays
# prepared in the driver.
_HEADS: Final = select(GAME.c.game, GAME.c.seq).where(
    GAME.c.game.in_(select(func.json_each(bindparam("b_games")).table_valued("value").c.value))
)
# Compare-and-swap: the row changes only if the game's head and deadline are those that the append was decided with,
# there are no more outages, and the author's key has not been revoked.
ADVANCE: Final = _text(update(GAME).where(*same_place()).values({name: bindparam(f"s_{name}") for name in PLACE}))
# Not part of `ADVANCE`, because SQLite rewrites every index of a column that a statement sets, even to the same value.
SET_OUTLINE: Final = _text(
    update(GAME).where(GAME.c.game == bindparam("b_game")).values({name: bindparam(f"s_{name}") for name in OUTLINE}),
)
SET_LOOK: Final = _text(
    update(GAME)
    .where(GAME.c.game == bindparam("b_game"))
    .values(look_at=bindparam("s_deadline"), way=bindparam("s_way")),
)
ADD_ENTRY: Final = _text(insert(ENTRY))
ADD_OPENING: Final = _text(insert(OPENING))
ADD_DEPOSIT: Final = _text(insert(DEPOSIT))
DELETE_DEPOSIT: Final = _text(
    delete(DEPOSIT).where(
        DEPOSIT.c.game == bindparam("b_game"),
        DEPOSIT.c.round == bindparam("b_round"),
        DEPOSIT.c.at == bindparam("b_at"),
    )
)
ADD_NOTICE: Final = _text(writing(DIALECT.name))
FORGET: Final = _text(delete(STATEMENT).where(STATEMENT.c.game == bindparam("b_game")))
_HEAD: Final = _text(HEAD)
_OPEN_GAMES: Final = _text(OPEN_GAMES)
_RETIRED_KEY: Final = _text(RETIRED_KEY)
_WANTING: Final = _text(WANTING)


class SqliteStore(Store):
    """`Store` on the file at `path`, which is made if it is missing. Raises `StorageError` if it cannot be used.

    `clock` judges the age of decisions.
    """

    _dialect = DIALECT

    def __init__(self, path: Path, clock: Clock = UTC_CLOCK) -> None:
        self._clock = clock
        self._folder = path.parent
        self._engine = open_engine(path)
        try:
            with self._engine.connect() as connection:
                verify_durable(driver(connection))
                # The write lock is taken before the schema is read: of several processes that start at once, one
                # migrates and the others find the schema up to date.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                migrate(connection)
                connection.commit()
            self._reader = SqliteReader(self._engine)
        except (DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise StorageError(
                tell("cannot use {path}: {reason}", path=path, reason=str(cause)),
                hint=tell("is it an hkoji database?"),
            ) from error
        # IMMEDIATE: a transaction that began as a reader and then writes can fail because another process has written
        # in between; one that takes the write lock at once waits instead.
        self._writer = SqliteWriter(self._connect_impatiently, "BEGIN IMMEDIATE")
        self._rows, self._snapshot = self._reader.rows, self._reader.snapshot
        # One transaction writes at a time, so each holds every row, and is alone.
        self._transaction = self._holding = self._entering = self._alone = self._writer.run
        self._hints = SqliteHints(self._writer, self._reader.version)

    def _connect_impatiently(self) -> Connection:
        """Returns a connection that does not wait for other processes: the writer does that itself."""
        connection = self._engine.connect()
        connection.exec_driver_sql("PRAGMA busy_timeout = 0")
        return connection

    def close(self) -> None:
        """Finishes the writes that wait, moves the write-ahead log into the file, and closes the file."""
        self._hints.stop_hearing()
        self._writer.close()
        self._reader.close()
        # Failures do not matter here: what is in the write-ahead log is on disk, and the next start reads it there.
        with suppress(DBAPIError, sqlite3.Error), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self._engine.dispose()

    async def verify_ready(self) -> None:
        await super().verify_ready()
        self._verify_room()

    def _verify_room(self) -> None:
        """Raises `StorageError` if the disk is full or its free space cannot be read."""
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise StorageError(
                tell("cannot read {file}: {reason}", file=self._folder, reason=error.strerror)
            ) from error
        if free < ENOUGH:
            raise StorageError(
                tell("the disk is full"), hint=tell("free some space: on a full disk no move can be saved")
            )

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame, opening: Append | None = None) -> None:
        last = latest(new.at)

        def work(connection: Connection) -> None:
            game = new.summary.game
            if opening is not None and connection.execute(HEAD, {"b_game": game}).first() is not None:
                raise ConflictError(game, seq=0, head="")
            found = connection.execute(select(outage_number())).scalar_one()
            if found > new.outages or self._clock() > last:
                raise StaleDecisionError(game)
            if new.quota is not None:
                values = quota_values(new, new.quota)
                counted = CountedOffers._make(connection.execute(COUNTED_OFFERS, values).one())
                verify_may_offer(new.offered_to, new.quota, counted)
                connection.execute(FORGET_OFFERS, values)
                connection.execute(NOTE_OFFER, values)
            connection.execute(insert(GAME), summary_values(new.summary))
            connection.execute(insert(SECRET), {"game": game, "seed": new.seed, "offered_to": new.offered_to})
            connection.execute(insert(ENTRY), [entry_values(new.line)])
            if opening is not None:
                write_of(opening, self._clock)(connection)

        await self._transaction(work)
        if opening is not None:
            self._hints.publish(hint_of(opening))

    async def append(self, append: Append | Decide) -> None:
        # The decision is made in the writer's thread too, before the transaction begins: see `writer`.
        hint = await self._writer.run_prepared(
            lambda: write_of(append if isinstance(append, Append) else append(), self._clock)
        )
        self._hints.publish(hint)

    # --- beats ----------------------------------------------------------------------------------------------------

    async def clock(self) -> str | None:
        return None

    def _own_clock(self, connection: Connection) -> str | None:  # noqa: ARG002 # a file has no clock
        return None

    async def drained(self) -> None:
        # One transaction writes at a time, in all processes. This one begins when all that began before have ended, and
        # those that come later look at the clock after it: they have the lock then.
        await self._transaction(lambda _: None)

    # --- other reads ----------------------------------------------------------------------------------------------

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        return dict(await self._read(_HEADS, b_games=json.dumps(list(games))))

    # --- the steps of this backend --------------------------------------------------------------------------------

    def _time(self, connection: Connection) -> datetime:  # noqa: ARG002 # the process has a clock
        return self._clock()


def write_of(append: Append, clock: Clock) -> Work[Hint]:
    """Returns the work that writes `append` in a transaction. `clock` judges how old the decision is by then.

    The work raises `RevokedError`, `ConflictError`, `StaleDecisionError`, `NotFoundError`, `TooManyGamesError` or
    `ClosedMailError` before it has written anything. So the writer can leave it out of a batch without rolling the
    batch back. The few errors of `close_mail` come when the place is taken: then a batch is done again one by one.
    """
    last = latest(append.at)
    place = advance_values(append)
    closing = append.closing
    outline = outline_values(append) if append.outline else None
    looks = moves_look(append)
    entries = [entry_values(line) for line in append.lines]
    openings = [
        {"game": append.game, "seq": each.seq, "part": each.part, "cards": each.cards, "salt": each.salt}
        for each in append.openings
    ]
    given = [{"b_game": append.game, "b_round": number, "b_at": at} for number, at in append.given]
    deposits = [{"game": append.game, **row} for row in deposit_rows(append)]
    told = wanting_values(append.notices) if append.notices else None

    def work(connection: Connection) -> Hint:
        execute = driver(connection).execute
        # The transaction holds the write lock of the file: until its end nobody opens another game.
        if append.opens and execute(_HEAD, place).fetchone() == (append.seq, append.head):
            verify_may_open(append, execute(_OPEN_GAMES, open_games_values(append)).fetchone())
        # The transaction has the write lock: another that waits for it cannot have looked at the clock yet. An append
        # that a mail has led to may be as old as the mail.
        if closing is not None:
            verify_closing(connection, closing)
        if (closing is None and clock() > last) or execute(ADVANCE, place).rowcount != 1:
            if append.key and (row := execute(_RETIRED_KEY, place).fetchone()):
                verify_not_revoked(one_of(RetiredKey, [row]))
            row = execute(_HEAD, place).fetchone()
            if row is None:
                raise NotFoundError(tell("game"), append.game)
            if row != (append.seq, append.head):
                raise ConflictError(append.game, seq=row[0], head=row[1])
            raise StaleDecisionError(append.game)
        if closing is not None:
            close_mail(connection, closing)
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
        for each in given:
            execute(DELETE_DEPOSIT, each)
        for each in deposits:
            execute(ADD_DEPOSIT, each)
        # Most players have no channel. Then this one look is all that a notice costs.
        if told and (channels := execute(_WANTING, told).fetchall()):
            for notice in outbox_rows(append.notices, channels):
                execute(ADD_NOTICE, notice)
        return hint_of(append)

    return work
