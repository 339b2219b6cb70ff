"""Transactions on PostgreSQL for rare work: the keys of players, outages, and the service itself.

The work is the same functions as on SQLite, on the same kind of connection, in a thread. They read and then write. So
they run at SERIALIZABLE: PostgreSQL lets no transaction see or do anything that could not have happened in some order
of the transactions, one after the other. When it refuses a transaction, the work begins again. A violation of a unique
key counts as such a refusal: the next try sees who has the key.

Work that begins with a lock that appends take too runs at READ COMMITTED. At SERIALIZABLE it would see the state before
it waited for the lock, since appends, which are not serializable, do not make PostgreSQL refuse it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from sqlalchemy import URL, Connection, ExceptionContext, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.migrate import migrate_together
from hkoji_server.store.postgres.connections import LostError, arguments, check_safe, is_end
from hkoji_server.store.sql_steps import unwritten

T = TypeVar("T")

Isolation = Literal["SERIALIZABLE", "READ COMMITTED"]

_TRIES: Final = 12
_PATIENCE: Final = "SET LOCAL lock_timeout = '10s'"
_REFUSED: Final = ("40001", "40P01", "23505")
"""SQLSTATEs: serialization failure, deadlock, violation of a unique key."""


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
        """Closes the connections."""
        self._engine.dispose()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction, and returns its result when it is on disk.

        Raises what `work` raises, or `StorageError`. `work` may run several times, and one of its runs is committed.
        """
        return await asyncio.to_thread(self._run, work, "SERIALIZABLE")

    async def run_locking(self, work: Callable[[Connection], T]) -> T:
        """Runs `work`, whose first statement takes a lock, likewise at READ COMMITTED.

        Each statement sees what was committed before it began. No statement waits longer for a lock than 10 seconds.
        """

        def patient(connection: Connection) -> T:
            # Every append waits behind a transaction that waits to be alone.
            connection.exec_driver_sql(_PATIENCE)
            return work(connection)

        return await asyncio.to_thread(self._run, patient, "READ COMMITTED")

    def _run(self, work: Callable[[Connection], T], isolation: Isolation) -> T:
        for left in reversed(range(_TRIES)):
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
