"""Connections to PostgreSQL, each checked before its use: its commits must wait for the disk.

Moves and reads use a pool of connections in the event loop. The caller decides, by `once` or `again`, whether a
statement may be sent again after its connection was lost.

Rare work (the keys of players, outages, and the service itself) runs in transactions in a thread. It is the same
functions as on SQLite, on the same kind of connection. They read and then write. So they run at SERIALIZABLE:
PostgreSQL lets no transaction see or do anything that could not have happened in some order of the transactions, one
after the other. When it refuses a transaction, the work begins again. A violation of a unique key counts as such a
refusal: the next try sees who has the key.

Work that begins with a lock that appends take too runs at READ COMMITTED. At SERIALIZABLE it would see the state before
it waited for the lock, since appends, which are not serializable, do not make PostgreSQL refuse it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal, TypeVar

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import URL, Connection, ExceptionContext, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.migrate import migrate_together
from hkoji_server.store.sql_steps import Row, Values, unwritten

T = TypeVar("T")
PostgresConnection = AsyncConnection[Row]
Isolation = Literal["SERIALIZABLE", "READ COMMITTED"]

SETTINGS: Final = {
    # Every statement sees what was committed before it began.
    "default_transaction_isolation": "read committed",
    # A statement or transaction that hangs would keep its locks, and others would wait for them.
    "statement_timeout": "20s",
    "idle_in_transaction_session_timeout": "20s",
}
_SAFE: Final = {"fsync": ("on",), "synchronous_commit": ("on", "remote_apply")}
"""The settings that make a commit wait for the disk, with their safe values."""
_SAFE_QUERIES: Final = {
    "fsync": "current_setting({})",
    # Set for the session to what it is now: a later change of the server's settings does not reach this connection.
    "synchronous_commit": "set_config({0}, current_setting({0}), false)",
}
_OLDEST: Final = 150000
_PATIENCE: Final = 5.0
"""How many seconds a caller waits for a connection."""
_TRIES: Final = 4
_RUNS: Final = 12
"""How often a transaction is tried that PostgreSQL refuses."""
_LOCK_PATIENCE: Final = "SET LOCAL lock_timeout = '10s'"
_REFUSED: Final = ("40001", "40P01", "23505")
"""SQLSTATEs: serialization failure, deadlock, violation of a unique key."""
_DEFAULT_ARGUMENTS: Final = {
    "connect_timeout": "5",
    "application_name": "hkoji",
    # If the URL names several servers, use the one that takes writes: a replica may return old data.
    "target_session_attrs": "read-write",
    "tcp_user_timeout": "20000",
}


class LostError(StorageError):
    """The connection was lost, and it is not known whether the statement was executed."""

    def __init__(self) -> None:
        super().__init__(
            "the connection to the database was lost, and it is not known whether the change was made",
            hint="send the same request again: the change is made only once",
        )


def is_end(error: BaseException | None) -> bool:
    """Returns whether an error is the last message of a connection, which may not appear to be closed yet.

    A server that shuts down, or ends all its processes because one of them crashed, sends such an error first.
    """
    if not isinstance(error, psycopg.Error):
        return False
    last = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    return last or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)


def arguments(url: URL) -> dict[str, str]:
    """Returns the driver's arguments for a connection to `url`."""
    given = {name: values[-1] for name, values in url.normalized_query.items()}
    named = {
        "host": url.host,
        "port": str(url.port) if url.port else None,
        "user": url.username,
        "password": url.password,
        "dbname": url.database,
    }
    return {**_DEFAULT_ARGUMENTS, **given, **{name: str(value) for name, value in named.items() if value}}


def check_safe(read: Callable[[str], str], version: int) -> None:
    """Raises `StorageError` if a committed transaction could be lost. `read` returns the value of a setting."""
    if version < _OLDEST:
        raise StorageError(
            tell("the database server is PostgreSQL {version}; hkoji needs 15 or newer", version=version // 10000),
            hint=tell("nothing was changed; use a newer server"),
        )
    for name, good in _SAFE.items():
        if (found := read(name)) not in good:
            raise StorageError(
                tell("PostgreSQL's {name} is {found}: acknowledged moves would not be safe", name=name, found=found),
                hint=tell(
                    "nothing was changed; set {name} to {good} for this database and start again",
                    name=name,
                    good=good[0],
                ),
            )


async def configure(connection: PostgresConnection) -> None:
    """Applies the settings to a new connection. Raises `StorageError` if it is not safe."""
    names = [*SETTINGS, *_SAFE]
    query = sql.SQL("SELECT {}").format(
        sql.SQL(", ").join(
            [
                *(sql.SQL("set_config({}, {}, false)").format(name, value) for name, value in SETTINGS.items()),
                *(sql.SQL(_SAFE_QUERIES[name]).format(name) for name in _SAFE),
            ]
        )
    )
    row = await (await connection.execute(query)).fetchone()
    assert row is not None
    found = dict(zip(names, row, strict=True))
    check_safe(found.__getitem__, connection.info.server_version)


class PostgresConnections:
    """A pool of at most `most` connections, which is opened, used and closed in one event loop."""

    def __init__(self, url: URL, *, most: int) -> None:
        self._arguments = arguments(url)
        self._pool: AsyncConnectionPool[PostgresConnection] = AsyncConnectionPool(
            # Every statement is prepared at its first use: there are few different ones, and each runs often.
            kwargs={**self._arguments, "autocommit": True, "prepare_threshold": 0},
            configure=configure,
            min_size=min(2, most),
            max_size=most,
            timeout=_PATIENCE,
            reconnect_timeout=1.0,
            open=False,
            name="hkoji",
        )

    async def open(self) -> None:
        """Begins to connect."""
        await self._pool.open()

    async def close(self) -> None:
        """Closes all connections, once those in use have been returned."""
        await self._pool.close()

    async def connect(self) -> PostgresConnection:
        """Returns a connection outside of the pool, which the caller closes."""
        connection = await AsyncConnection.connect(**self._arguments, autocommit=True)  # type: ignore[arg-type] # all are texts
        try:
            await configure(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def rows(self, statement: str, values: Values) -> list[Row]:
        """Returns the rows of a statement that only reads. Raises `StorageError`."""
        return (await self.rows_of((statement,), values))[0]

    async def rows_of(self, statements: Sequence[str], values: Values) -> list[list[Row]]:
        """Returns the rows of several such statements, executed one after the other in one round trip."""

        async def read(connection: PostgresConnection) -> list[list[Row]]:
            if len(statements) == 1:
                return [await (await connection.execute(statements[0], values)).fetchall()]
            async with connection.pipeline():
                cursors = [await connection.execute(statement, values) for statement in statements]
            return [await cursor.fetchall() for cursor in cursors]

        try:
            return await self.again(read)
        except StorageError as error:
            raise StorageError(tell("the database could not be read"), hint=tell("try again later")) from error

    async def again(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        """Returns the result of `work`, which runs again on another connection if its connection is lost."""
        for left in reversed(range(_TRIES)):
            try:
                return await self.once(work)
            except LostError:
                if not left:
                    raise
                # After a restart of the server all connections of the pool are lost, not only this one.
                await self._pool.check()
        raise AssertionError

    async def once(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        """Returns the result of `work` on a connection.

        Raises `LostError` if the connection was lost, and `StorageError` if nothing was done.
        """
        try:
            async with self._pool.connection() as connection:
                try:
                    result = await work(connection)
                except psycopg.Error as error:
                    if connection.closed or is_end(error):
                        await connection.close()
                        raise LostError from error
                    raise unwritten(error) from error
                # The rows of a statement arrive before its transaction has been committed. The server says that it is
                # idle only after the commit; before that, the result may still be lost.
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    await connection.close()
                    raise LostError
                return result
        except PoolTimeout as error:
            raise unwritten(error) from error


@asynccontextmanager
async def closing(connection: PostgresConnection) -> AsyncIterator[PostgresConnection]:
    """Gives a connection for a block, and closes it afterwards. A failure to close it does not matter."""
    try:
        yield connection
    finally:
        with suppress(psycopg.Error, asyncio.CancelledError):
            await connection.close()


class SerializableTransactions:
    """Runs work in transactions on the database at `url`; `name` stands for it in messages."""

    def __init__(self, url: URL, name: str) -> None:
        self._engine = create_engine(
            url.set(query={}, host=None, port=None, username=None, password=None, database=None),
            connect_args=arguments(url),
            isolation_level="SERIALIZABLE",
            # Parameters stay out of error messages: they are keys.
            hide_parameters=True,
            pool_size=1,
            max_overflow=3,
            pool_pre_ping=True,
            pool_timeout=10,
        )
        event.listen(self._engine, "handle_error", _note_end)
        self._name = name

    def open(self) -> None:
        """Migrates the database. Raises `StorageError` if it cannot be used or is not safe."""
        try:
            with self._engine.connect() as connection:

                def read(name: str) -> str:
                    return str(connection.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar())

                check_safe(read, int(read("server_version_num")))
            with self._engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
                migrate_together(connection)
        except DBAPIError as error:
            raise StorageError(
                tell("cannot use the {database}: {reason}", database=self._name, reason=str(error.orig).strip()),
                hint=tell(
                    "nothing was changed; is the server running, and is it the right database, name and password?"
                ),
            ) from error

    def close(self) -> None:
        self._engine.dispose()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction, and returns its result when it is on disk.

        Raises what `work` raises, or `StorageError`. `work` may run several times, and one of its runs is committed.
        """
        return await asyncio.to_thread(self._run, work, "SERIALIZABLE")

    async def run_locking(self, work: Callable[[Connection], T], lock: str | None = None) -> T:
        """Runs `lock` and then `work`, of which the first statement takes a lock, likewise at READ COMMITTED.

        Each statement sees what was committed before it began. No statement waits longer for a lock than 10 seconds.
        """

        def patient(connection: Connection) -> T:
            # Every append waits behind a transaction that waits to be alone.
            connection.exec_driver_sql(_LOCK_PATIENCE)
            if lock is not None:
                connection.exec_driver_sql(lock)
            return work(connection)

        return await asyncio.to_thread(self._run, patient, "READ COMMITTED")

    def _run(self, work: Callable[[Connection], T], isolation: Isolation) -> T:
        for left in reversed(range(_RUNS)):
            try:
                with self._engine.connect().execution_options(isolation_level=isolation) as connection:
                    committing = False
                    try:
                        result = work(connection)
                        committing = True
                        connection.commit()
                        return result
                    except DBAPIError as error:
                        # A connection that is lost during the commit leaves the outcome open: another run could do
                        # the work twice. One that is lost before the commit has changed nothing.
                        if error.connection_invalidated and committing:
                            raise LostError from error
                        again = error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _REFUSED
                        if not left or not again:
                            raise unwritten(error) from error
            except DBAPIError as error:  # could not connect
                raise unwritten(error) from error
            # A random pause, so that two transactions that refused each other do not meet again.
            time.sleep(random.random() * 0.01)  # noqa: S311 # the pause is no secret
        raise AssertionError


def _note_end(context: ExceptionContext) -> None:
    context.is_disconnect = context.is_disconnect or is_end(context.original_exception)
