"""The store on one SQLite file. `connections` has the settings that make it durable."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection, bindparam, delete, func, insert, select
from sqlalchemy.exc import DBAPIError

from hkoji.errors import StorageError
from hkoji.game.clock import Way
from hkoji.messages.text import tell
from hkoji_server.store import offers, outages
from hkoji_server.store.age import UTC_CLOCK, Clock, latest
from hkoji_server.store.contract import Append, Decide, Hint, NewGame, OnHint
from hkoji_server.store.migrate import migrate
from hkoji_server.store.sql import SqlStore
from hkoji_server.store.sqlite.append import write_of
from hkoji_server.store.sqlite.connections import DIALECT, MAIL_READS, READS, driver, open_engine
from hkoji_server.store.sqlite.durable import verify_durable
from hkoji_server.store.sqlite.hints import SqliteHints
from hkoji_server.store.sqlite.reader import SqliteReader
from hkoji_server.store.sqlite.writer import SqliteWriter
from hkoji_server.store.statements import Row, Values, compiled, entry_values, outage_number, summary_values
from hkoji_server.store.tables import CHALLENGE, ENTRY, GAME, SECRET, TOKEN
from hkoji_server.store.time_contract import Beat, StaleDecisionError

T = TypeVar("T")

ENOUGH: Final = 1 << 20
"""How many bytes must be free beside the file. On a full disk a small write may still succeed, because it fits into the
space that the write-ahead log already has, while moves, which are larger, fail."""
# The games are one parameter, a JSON array, so that the statement is the same for any number of games and stays
# prepared in the driver.
_HEADS: Final = compiled(
    select(GAME.c.game, GAME.c.seq).where(
        GAME.c.game.in_(select(func.json_each(bindparam("b_games")).table_valued("value").c.value))
    ),
    DIALECT,
)


class SqliteStore(SqlStore):
    """`Store` on the file at `path`, which is made if it is missing. Raises `StorageError` if it cannot be used.

    `clock` judges the age of decisions. The contract documents the methods.
    """

    _reads = READS
    _mail = MAIL_READS

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
        except DBAPIError as error:
            raise StorageError(
                tell("cannot use {path}: {reason}", path=path, reason=str(error.orig)),
                hint=tell("is it an hkoji database?"),
            ) from error
        # IMMEDIATE: a transaction that began as a reader and then writes can fail because another process has written
        # in between; one that takes the write lock at once waits instead.
        self._writer = SqliteWriter(self._connect_impatiently, "BEGIN IMMEDIATE")
        self._hints = SqliteHints(self._writer, self._reader.version)

    def _connect_impatiently(self) -> Connection:
        """Returns a connection that does not wait for other processes: the writer does that itself."""
        connection = self._engine.connect()
        connection.exec_driver_sql("PRAGMA busy_timeout = 0")
        return connection

    def close(self) -> None:
        """Finishes the writes that wait, moves the write-ahead log into the file, and closes the file."""
        self._hints.close()
        self._writer.close()
        self._reader.close()
        # Failures do not matter here: what is in the write-ahead log is on disk, and the next start reads it there.
        with suppress(DBAPIError), self._engine.connect() as connection:
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

    # --- logins ---------------------------------------------------------------------------------------------------

    async def add_challenge(self, digest: str, expires: str) -> None:
        await self._transaction(
            lambda connection: connection.execute(insert(CHALLENGE).values(digest=digest, expires=expires)).rowcount
        )

    async def take_challenge(self, digest: str, now: str) -> bool:
        def work(connection: Connection) -> bool:
            good = delete(CHALLENGE).where(CHALLENGE.c.digest == digest, CHALLENGE.c.expires > now)
            taken = connection.execute(good).rowcount == 1
            connection.execute(delete(CHALLENGE).where(CHALLENGE.c.expires <= now))
            return taken

        return await self._transaction(work)

    async def drop_token(self, digest: str) -> None:
        await self._transaction(
            lambda connection: connection.execute(delete(TOKEN).where(TOKEN.c.digest == digest)).rowcount
        )

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame) -> None:
        last = latest(new.at)

        def work(connection: Connection) -> None:
            game = new.summary.game
            found = connection.execute(select(outage_number())).scalar_one()
            if found > new.outages or self._clock() > last:
                raise StaleDecisionError(game)
            if new.quota is not None:
                values = offers.quota_values(new, new.quota)
                counted = offers.CountedOffers._make(connection.execute(offers.counting(), values).one())
                offers.verify_may_offer(new.offered_to, new.quota, counted)
                connection.execute(offers.forgetting(), values)
                connection.execute(offers.noting(), values)
            connection.execute(insert(GAME), summary_values(new.summary))
            connection.execute(insert(SECRET), {"game": game, "seed": new.seed, "offered_to": new.offered_to})
            connection.execute(insert(ENTRY), [entry_values(new.line)])

        await self._transaction(work)

    async def append(self, append: Append | Decide) -> None:
        # The decision is made in the writer's thread too, before the transaction begins: see `writer`.
        hint = await self._writer.run_prepared(
            lambda: write_of(append if isinstance(append, Append) else append(), self._clock)
        )
        self._hints.publish(hint)

    # --- beats ----------------------------------------------------------------------------------------------------

    async def clock(self) -> str | None:
        return None

    async def beat(self, way: Way, at: str) -> Beat:
        return Beat(await self._transaction(lambda connection: outages.note_beat(connection, way, at)), None)

    async def drained(self) -> None:
        # One transaction writes at a time, in all processes. This one begins when all that began before have ended, and
        # those that come later look at the clock after it: they have the lock then.
        await self._transaction(lambda _: None)

    # --- other reads ----------------------------------------------------------------------------------------------

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        return dict(self._reader.rows(_HEADS, {"b_games": json.dumps(list(games))}))

    def listen(self, listener: OnHint) -> Callable[[], None]:
        return self._hints.listen(listener)

    # --- the steps of this backend --------------------------------------------------------------------------------

    async def _rows(self, statement: str, values: Values) -> list[Row]:
        return self._reader.rows(statement, values)

    async def _snapshot(self, *statements: str, values: Values) -> list[list[Row]]:
        return self._reader.snapshot(statements, values)

    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        return await self._writer.run(work)

    # One transaction writes at a time, so each holds every row, and is alone.
    _holding = _transaction
    _entering = _transaction
    _alone = _transaction

    def _publish(self, hint: Hint) -> None:
        self._hints.publish(hint)

    def _time(self, connection: Connection) -> datetime:  # noqa: ARG002 # the process has a clock
        return self._clock()
