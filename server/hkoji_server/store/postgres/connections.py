"""Connections to PostgreSQL, none of which is used before it has shown that what it commits is safe.

Nothing here is retried that might be done twice: who calls says whether a statement may be given again when its
connection was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import URL

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.sqlite.statements import Row, Values

T = TypeVar("T")
Connection = AsyncConnection[Row]

SETTINGS: Final = {
    # Every statement sees what was committed before it began.
    "default_transaction_isolation": "read committed",
    # A statement that waits for ever would keep others waiting.
    "statement_timeout": "20s",
    "idle_in_transaction_session_timeout": "20s",
}
_SAFE: Final = {"fsync": ("on",), "synchronous_commit": ("on", "remote_apply")}
_ASKS: Final = {
    "fsync": "current_setting({})",
    # It stays what it is now, though the server's settings be changed and read again.
    "synchronous_commit": "set_config({0}, current_setting({0}), false)",
}
_OLDEST: Final = 150000
_PATIENCE: Final = 5.0
"""So many seconds a connection is waited for."""
_TRIES: Final = 4
_ASKED: Final = {
    "connect_timeout": "5",
    "application_name": "hkoji",
    # Of several servers in the URL the one that takes writes: what another shows may be old.
    "target_session_attrs": "read-write",
    "tcp_user_timeout": "20000",
}


class LostError(StorageError):
    """A connection was lost, and what became of the statement is not known."""

    def __init__(self) -> None:
        super().__init__(
            "the connection to the database was lost, and whether this was done is not known",
            hint="send the same again: it is done once",
        )


def unwritten(cause: BaseException) -> StorageError:
    """That nothing was changed."""
    error = StorageError(tell("the database could not be written; nothing was changed"), hint=tell("try again later"))
    error.__cause__ = cause
    return error


def unreadable(cause: BaseException) -> StorageError:
    """That nothing could be read."""
    error = StorageError(tell("the database could not be read"), hint=tell("try again later"))
    error.__cause__ = cause
    return error


def is_end(error: BaseException | None) -> bool:
    """Whether an error is the last that a connection says, though it may not be seen to be closed yet.

    A server that goes down, or that ends all its processes since one has crashed, says so in words first.
    """
    if not isinstance(error, psycopg.Error):
        return False
    last = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    return last or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)


def arguments(url: URL) -> dict[str, str]:
    """What the driver is given to connect to `url`."""
    given = {name: values[-1] for name, values in url.normalized_query.items()}
    named = {
        "host": url.host,
        "port": str(url.port) if url.port else None,
        "user": url.username,
        "password": url.password,
        "dbname": url.database,
    }
    return {**_ASKED, **given, **{name: str(value) for name, value in named.items() if value}}


def check_safe(read: Callable[[str], str], version: int) -> None:
    """Raises `StorageError` if what is committed could be lost. `read` gives a setting."""
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


async def configure(connection: Connection) -> None:
    """Makes a new connection ready for use. Raises `StorageError` if it is not safe."""
    names = [*SETTINGS, *_SAFE]
    asked = sql.SQL("SELECT {}").format(
        sql.SQL(", ").join(
            [
                *(sql.SQL("set_config({}, {}, false)").format(name, value) for name, value in SETTINGS.items()),
                *(sql.SQL(_ASKS[name]).format(name) for name in _SAFE),
            ]
        )
    )
    row = await (await connection.execute(asked)).fetchone()
    assert row is not None
    found = dict(zip(names, row, strict=True))
    check_safe(found.__getitem__, connection.info.server_version)


class Connections:
    """A pool of at most `most` connections. To be opened, used and closed in one event loop."""

    def __init__(self, url: URL, *, most: int) -> None:
        self._arguments = arguments(url)
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
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
        """Closes all connections, when those in use are given back."""
        await self._pool.close()

    async def connect(self) -> Connection:
        """A connection outside of the pool, for the caller to close."""
        connection = await AsyncConnection.connect(**self._arguments, autocommit=True)  # type: ignore[arg-type] # all are texts
        try:
            await configure(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def rows(self, statement: str, values: Values) -> list[Row]:
        """What a statement that only reads finds."""
        return (await self.rows_of((statement, values)))[0]

    async def rows_of(self, *asked: tuple[str, Values]) -> list[list[Row]]:
        """What several find, one after the other, in one round trip."""

        async def read(connection: Connection) -> list[list[Row]]:
            if len(asked) == 1:
                return [await (await connection.execute(*asked[0])).fetchall()]
            async with connection.pipeline():
                cursors = [await connection.execute(statement, values) for statement, values in asked]
            return [await cursor.fetchall() for cursor in cursors]

        try:
            return await self.again(read)
        except StorageError as error:
            raise unreadable(error) from error

    async def again(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """What `work` brings, which may be done more than once if its connection is lost."""
        for left in reversed(range(_TRIES)):
            try:
                return await self.once(work)
            except LostError:
                if not left:
                    raise
                await self._pool.check()  # after a restart of the server the others are lost too
        raise AssertionError

    async def once(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """What `work` brings on a connection. Raises `LostError` if that was lost, `StorageError` if nothing was done.

        `work` has ended only when its transaction has: a connection that is not idle then has not said so.
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
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    await connection.close()
                    raise LostError
                return result
        except PoolTimeout as error:
            raise unwritten(error) from error


@asynccontextmanager
async def closing(connection: Connection) -> AsyncIterator[Connection]:
    """A connection for the length of a block; that it cannot be closed in order does not matter."""
    try:
        yield connection
    finally:
        with suppress(psycopg.Error, asyncio.CancelledError):
            await connection.close()
