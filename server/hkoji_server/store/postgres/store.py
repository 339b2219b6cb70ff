"""The store on PostgreSQL, which any number of processes on any number of machines may share.

It keeps the promises of the contract at READ COMMITTED, with locks on single rows, and one on the table of games while
an outage is recorded:

- *One append at a time for each game.* An append locks its game's row (`HOLD`), and so waits for any other append of
  that game. Then a statement that begins only now (`append_statement`) reads the current head, and changes it or
  changes nothing. In any case the primary key prevents two entries with the same (game, seq).
- *All or nothing.* That one statement does everything. Its transaction ends with the round trip, and the result counts
  only when the server has said that it is idle again, which it says after the commit.
- *On disk.* A connection whose commits do not wait for the disk is not used (`connections.check_safe`).
- *No stale reads.* Every read is a statement of its own on a server that takes writes, and sees all that was committed
  before it began. The rows that `history` reads in several statements are only ever added to, and are cut to the same
  length. It reads the deadline before them, and the statements about the game after them.
- *Nothing is appended for a revoked key.* `append_statement` checks whether the key is revoked, and so does
  `add_statement`, after the lock on the game's row. An append that checked before a revocation was committed has its
  transaction number from `HOLD` by then. After that commit the revocation waits as `drained` does. So after
  `revoke_key` has returned, no further entry of that key appears, and no append needs a lock on the player.
- *Nothing old is written after `drained`.* It takes a transaction number, and returns when all transactions with lower
  ones have ended. A write that is committed later has a higher number, or had none yet: a transaction that has begun,
  or waits for its lock, has no number until `HOLD` holds the row (for a new game: until `NUMBER`). In either case it
  gets its number after the call, and reads the clock for the age of its decision after that, in a later statement. So
  the decision is at most `OLDEST` seconds older than the call. A check before `HOLD` would not do.
- *No T lies within an outage of its way.* A recording locks the table (`ALONE`), which waits for all who hold a row of
  a game or are adding one, and keeps out the others, who wait in `HOLD` or `ENTER`. So it reads the newest T that there
  is. Those that waited count the outages in a later statement, which sees the new one. A transaction that waits to be
  alone makes the others wait too, and so gives up after 10 seconds.
- *A mail that was set aside leads to no append.* An append that a mail has led to holds the mail's row and closes the
  mail in the same transaction, and `set_aside` holds that row too: the one that comes second sees what the first has
  done. A mail is kept while its mailbox's row is held, which gives the transaction its number before it reads the
  clock; then `drained` holds for it too. Like an append it waits for a recording of an outage, and keeps one out.
- *No gift is missed.* A gift holds the game's row, and an append compares the deadline in the row that it holds.
- *No host opens more games than allowed.* The append that opens a game also locks the row of its host, after that of
  the game, and then counts the host's open games in a statement that begins only now. So of several such appends each
  sees the games of those before it.
- *A key belongs to one player for ever*, a key is replaced once, a code is used as often as it allows. These are
  decisions in several steps on a handful of rows, made at SERIALIZABLE (`connections`).
- *No game waits for a held key that is revoked.* The append that opens it looks at the invited key in the statement
  that counts the host's games. A recovery is alone with the games, and sees those that are opened. After a revocation
  by the operator the games of its time are marked when the appends have ended for which it waits.
- *An offer is removed or opened.* A removal locks the rows of its games, and leaves out those that an append holds.
- *No player asks for more games than allowed.* An addition with a quota holds the row of its player before it counts.
- *No letter is lost in its thread, and no more are counted than allowed.* The lease of a letter holds the row of its
  thread, or makes it, and that of the service if the letter counts, before it looks whether it may be sent.
- *A challenge is taken once.* Only one statement can delete a row.
- *Lost connections.* Reads are sent again. So are an append and a new game, because the store can recognise them: if
  the place is taken and contains exactly the lines that were to be written, byte for byte, they have been written. For
  other writes the caller learns that the outcome is not known; doing them again has the effect of doing them once.

No transaction touches two games, and every primary key of a game's data begins with the game. The store uses no
advisory locks, no sequences, and no numbers that PostgreSQL generates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

from psycopg.errors import UniqueViolation
from sqlalchemy import URL, Connection, func, select

from hkoji.errors import (
    ConflictError,
    HkojiError,
    NotFoundError,
    RevokedError,
    StorageError,
    TooManyGamesError,
)
from hkoji.log.line import Line
from hkoji.log.public_key import parse_public_key
from hkoji.messages.text import tell
from hkoji_server.store.batch_thread import CallThread
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, Decide, NewGame, OfferQuota
from hkoji_server.store.games import CountedOffers, quota_values, verify_may_offer
from hkoji_server.store.incoming import close_mail, verify_closing
from hkoji_server.store.location import show_location
from hkoji_server.store.player_tables import RetiredKey
from hkoji_server.store.players import look_at_invitations
from hkoji_server.store.postgres import statements
from hkoji_server.store.postgres.connections import PostgresConnection, PostgresConnections, SerializableTransactions
from hkoji_server.store.postgres.hints import PostgresHints
from hkoji_server.store.sql_steps import Row, Values
from hkoji_server.store.statements import hint_of, open_games_values, verify_may_open
from hkoji_server.store.time_contract import StaleDecisionError

T = TypeVar("T")

_MOST: Final = 10
"""How many connections there are for moves and reads. By default a server allows 100 connections in all."""
_MOST_DECISIONS: Final = 16
_PACE: Final = 0.005
_PATIENCE: Final = 10.0
_LOG_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


class PostgresStore(Store):
    """`Store` on the database at a URL. Made by `open_postgres`; used and closed in the same event loop."""

    _dialect = statements.DIALECT

    def __init__(self, url: URL, *, most: int = _MOST) -> None:
        self._transactions = SerializableTransactions(url, show_location(url))
        self._connections = PostgresConnections(url, most=most)
        self._hints: PostgresHints = PostgresHints(self._connections)
        self._rows = self._connections.rows
        # At READ COMMITTED each statement has a snapshot of its own: the rows are read one after the other.
        self._snapshot = self._connections.rows_of
        self._transaction, self._holding = self._transactions.run, self._transactions.run_locking
        self._entering = partial(self._transactions.run_locking, lock=statements.ENTER)
        self._alone = partial(self._transactions.run_locking, lock=statements.ALONE)
        # This store writes in the event loop, so decisions need a thread. Most of a decision is signatures, during
        # which other threads can run: requests are read and answers written meanwhile.
        self._decisions = CallThread("hkoji-decides", most=_MOST_DECISIONS)

    async def open(self) -> None:
        """Checks that the database is safe, migrates it, and connects. Raises `StorageError`."""
        await asyncio.to_thread(self._transactions.open)
        await self._connections.open()

    async def close(self) -> None:
        """Finishes the work that waits, and closes all connections."""
        await asyncio.to_thread(self._decisions.close)
        await self._hints.close()
        await self._connections.close()
        await asyncio.to_thread(self._transactions.close)

    # --- players and logins ---------------------------------------------------------------------------------------

    async def revoke_key(self, retired: RetiredKey) -> None:
        await super().revoke_key(retired)
        # Wait for the appends that may not have seen the revocation: see above.
        if not await self._wait_for_earlier():
            raise StorageError(
                tell("the key is revoked, but an entry signed with it just before may still appear"),
                hint=tell("repeat this later to be certain"),
            )
        # They may have opened games for it.
        await self._transaction(lambda connection: look_at_invitations(connection, retired))

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame, opening: Append | None = None) -> None:
        if opening is not None:
            await self._entering(lambda connection: _add_opened(connection, new, opening))
            self._hints.publish(hint_of(opening))
            return
        values = statements.game_values(new)
        game = new.summary.game
        tries = 0

        async def add(connection: PostgresConnection) -> Row | None:
            nonlocal tries
            tries += 1
            if new.quota is not None:
                return await self._add_counted(connection, new, new.quota, values)
            async with connection.pipeline(), connection.transaction():
                await connection.execute(statements.ENTER)
                await connection.execute(statements.NUMBER)
                added = await connection.execute(statements.ADD_GAME, values)
            return await added.fetchone()

        # After a lost connection, the first try may have added the game.
        try:
            added = await self._connections.again(add)
        except StorageError as error:
            if not isinstance(error.__cause__, UniqueViolation) or not await self._contains(game, new.line):
                raise
        except TooManyGamesError:
            if tries == 1 or not await self._contains(game, new.line):
                raise
        else:
            if added is None and not (tries > 1 and await self._contains(game, new.line)):
                raise StaleDecisionError(game)

    async def _add_counted(
        self, connection: PostgresConnection, new: NewGame, quota: OfferQuota, values: Values
    ) -> Row | None:
        """Adds a game and counts it, unless its player has asked for too many."""
        counted = quota_values(new, quota)
        async with connection.transaction():
            await connection.execute(statements.ENTER)
            await connection.execute(statements.NUMBER)
            # After the lock on the table, as in `_open`: in the other order an outage could not be recorded.
            await connection.execute(statements.HOLD_HOST, {"b_host": new.offered_to})
            row = await (await connection.execute(statements.COUNT, counted)).fetchone()
            assert row is not None
            verify_may_offer(new.offered_to, quota, CountedOffers._make(row))
            added = await (await connection.execute(statements.ADD_GAME, values)).fetchone()
            if added is not None:
                await connection.execute(statements.FORGET, counted)
                await connection.execute(statements.NOTE, counted)
        return added

    async def append(self, append: Append | Decide) -> None:
        if not isinstance(append, Append):
            decided: Append = await self._decisions.run(append)
            append = decided
        if append.closing is not None:
            mailed = append
            await self._holding(lambda connection: _append_closing(connection, mailed))
            self._hints.publish(hint_of(append))
            return
        values = statements.append_values(append)
        statement = statements.append_statement(append)
        tries = 0

        async def work(connection: PostgresConnection) -> tuple[Row | None, Row | None]:
            nonlocal tries
            tries += 1
            if append.opens:
                return await self._open(connection, append, statement, values)
            async with connection.pipeline():  # one transaction, which ends with the block
                held = await connection.execute(statements.HOLD, values)
                done = await connection.execute(statement, values)
            return await held.fetchone(), await done.fetchone()

        held, done = await self._connections.again(work)
        assert done is not None
        moved, revoked = done
        # If nothing changed at a later try, the try before it may have been committed although its connection was lost.
        if not moved and not (tries > 1 and await self._contains(append.game, *append.lines)):
            raise _refusal(append, held, revoked)
        self._hints.publish(hint_of(append))

    async def _open(
        self, connection: PostgresConnection, append: Append, statement: str, values: Values
    ) -> tuple[Row | None, Row | None]:
        """Appends the entry that opens a game, unless its host has too many open games already."""
        async with connection.transaction():
            held = await (await connection.execute(statements.HOLD, values)).fetchone()
            if held == (append.seq, append.head):
                hosted = open_games_values(append)
                await connection.execute(statements.HOLD_HOST, hosted)
                row = await (await connection.execute(statements.HOSTED, hosted)).fetchone()
                assert row is not None
                verify_may_open(append, row)
            done = await connection.execute(statement, values)
            return held, await done.fetchone()

    # --- beats ----------------------------------------------------------------------------------------------------

    async def clock(self) -> str | None:
        return await self._transaction(self._own_clock)

    def _own_clock(self, connection: Connection) -> str | None:
        return self._time(connection).strftime(_LOG_TIME)

    async def drained(self) -> None:
        if not await self._wait_for_earlier():
            raise StorageError(
                tell("a transaction of the database has been under way for long"), hint=tell("try again later")
            )

    async def _wait_for_earlier(self) -> bool:
        """Waits for all transactions that have a number by now. Returns False if that takes too long."""
        ((number,),) = await self._rows(statements.NUMBER, {})
        try:
            async with asyncio.timeout(_PATIENCE):
                while not (await self._rows(statements.ENDED, {"number": number}))[0][0]:
                    await asyncio.sleep(_PACE)
        except TimeoutError:
            return False
        return True

    # --- other reads ----------------------------------------------------------------------------------------------

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        return dict(await self._read(statements.HEADS_OF, b_games=list(games)))

    # --- the steps of this backend --------------------------------------------------------------------------------

    def _time(self, connection: Connection) -> datetime:
        now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return now.astimezone(UTC)

    async def _contains(self, game: str, *lines: Line) -> bool:
        """Returns whether a game contains exactly these lines at their place."""
        first = lines[0].entry.seq
        return (await self.lines(game, first - 1))[: len(lines)] == lines


def _append_closing(connection: Connection, append: Append) -> None:
    """Appends what a mail has led to, and closes the mail."""
    run, values, closing = connection.exec_driver_sql, statements.append_values(append), append.closing
    row = run(statements.HOLD, values).first()
    held = None if row is None else tuple(row)
    if held == (append.seq, append.head):
        if append.opens:
            hosted = run(statements.HOSTED, open_games_values(append)).one()
            verify_may_open(append, tuple(hosted))
        if closing is not None:
            verify_closing(connection, closing)
            close_mail(connection, closing)
    moved, revoked = run(statements.append_statement(append), values).one()
    if not moved:
        raise _refusal(append, held, revoked)


def _add_opened(connection: Connection, new: NewGame, opening: Append) -> None:
    """Adds a game and opens it."""
    run, game = connection.exec_driver_sql, {"b_game": new.summary.game}
    run(statements.NUMBER)
    run(statements.HOLD_HOST, {"b_host": new.offered_to})
    if run(statements.PLACE_OF, game).first() is not None:
        raise ConflictError(new.summary.game, seq=0, head="")
    if new.quota is not None:
        counted = quota_values(new, new.quota)
        verify_may_offer(new.offered_to, new.quota, CountedOffers._make(run(statements.COUNT, counted).one()))
        run(statements.FORGET, counted)
        run(statements.NOTE, counted)
    # If another process has just added it, this transaction begins again, and finds it.
    if run(statements.ADD_GAME, statements.game_values(new)).first() is None:
        raise StaleDecisionError(new.summary.game)
    _append_closing(connection, opening)


def _refusal(append: Append, held: Row | None, revoked: str | None) -> HkojiError:
    """Returns why an append has changed nothing. `held` is the game's place, and `revoked` the owner of its key."""
    if revoked:
        return RevokedError(revoked, parse_public_key(append.key).fingerprint)
    if held is None:
        return NotFoundError(tell("game"), append.game)
    if held != (append.seq, append.head):
        return ConflictError(append.game, seq=held[0], head=held[1])
    return StaleDecisionError(append.game)


async def open_postgres(url: URL) -> PostgresStore:
    """Returns the store at `url`, migrated and connected. Raises `StorageError` if it cannot be used."""
    store = PostgresStore(url)
    try:
        await store.open()
    except BaseException:
        await store.close()
        raise
    return store
