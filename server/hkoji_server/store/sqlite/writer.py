"""The one writer of the SQLite file in this process, and the hints that something was written.

One transaction, one commit and one sync are made for each batch of jobs. A job that fails does not affect the others.
Nearly all jobs that fail (a move that came second) have written nothing, and the batch goes on without them. After a
job that fails when it has written something, the batch is rolled back and its jobs are written one by one. That is
cheaper than a savepoint for each job, which doubles the statements of a move.

A job may have to be prepared. That is done in the same thread, before the transaction begins. Another thread would be
no gain: two threads and the event loop would compete for the interpreter, and batches would be smaller.

No caller gets a result before the commit has returned, so a result means "on disk". One thread owns the writing
connection. Other processes may write too; each waits for the other.

Hints report this process's writes at once, and that another process has written, but not what. SQLite does not notify
anyone of writes. A connection can ask whether others have written since it last asked, by its `data_version`. But to
the connection that reads, this process's own writer is another connection too. So the writer asks as well, at each of
its transactions, and it counts only the writes of other processes. While there are listeners, both are read ten times a
second.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hkoji.errors import HkojiError
from hkoji_server.store.batch_thread import BatchThread, Job
from hkoji_server.store.game_values import ANYWHERE
from hkoji_server.store.sql_steps import Hints, unwritten
from hkoji_server.store.sqlite.connections import driver

T = TypeVar("T")
Work = Callable[[Connection], T]
Prepare = Callable[[], Work[Any]]  # Any: each job has a result type of its own

_MOST_JOBS: Final = 64
_PATIENCE: Final = 10.0
"""How many seconds a transaction waits for another process."""
_FIRST_PAUSE: Final = 0.0002
_LONGEST_PAUSE: Final = 0.005
_LONGER: Final = 1.2
_ERROR_CLASS: Final = 0xFF
"""The part of SQLite's extended error codes that says what kind of error it is."""
_DATABASE_ERRORS: Final = (SQLAlchemyError, sqlite3.Error)


_Job = Job[Prepare]
Prepared = tuple[_Job, Work[Any]]


class SqliteWriter:
    """Runs jobs on a connection of its own, in a thread of its own.

    The statement `begin` opens a transaction. On the connections that `connect` makes it does not wait for others.
    """

    def __init__(self, connect: Callable[[], Connection], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._connection: Connection | None = None
        self._version: int | None = None
        self.written = 0
        """How many batches have been committed."""
        self.foreign = 0
        """How many batches found that another process had written since the batch before."""
        self._thread: BatchThread[Prepare] = BatchThread("hkoji-writer", self._handle, self._discard, most=_MOST_JOBS)

    async def run(self, work: Work[T]) -> T:
        """Runs `work` in a transaction, and returns its result when it is on disk.

        Raises what `work` raises, or `StorageError`. `work` may run a second time after its first run was rolled back.
        """
        return await self.run_prepared(lambda: work)

    async def run_prepared(self, prepare: Callable[[], Work[T]]) -> T:
        """Runs the work that `prepare` makes in the writer's thread. Raises what `prepare` raises too."""
        result: T = await self._thread.run(prepare)
        return result

    def close(self) -> None:
        """Finishes the jobs that wait, and ends the thread."""
        self._thread.close()

    def _handle(self, batch: list[_Job]) -> None:
        prepared: list[Prepared] = []
        for job in batch:
            try:
                prepared.append((job, job.work()))
            except Exception as error:  # raised at the caller
                job.error = error
        try:
            self._connection = self._connection or self._connect()
            if prepared:
                self._write(self._connection, prepared)
        except Exception as error:  # whatever has failed, every caller must get an answer
            # The state of the connection is not known. The next batch gets a new one.
            self._discard()
            for job, _ in prepared:
                job.error = unwritten(error)

    def _write(self, connection: Connection, batch: list[Prepared]) -> None:
        # Runs for every batch, hence on the driver. It does not matter what SQLAlchemy believes of the transaction: the
        # driver is in autocommit mode, and these statements decide.
        own = driver(connection)
        torn = False
        self._begin_transaction(own)
        try:
            # The version changes when another connection writes, not when this one does. It is read inside the
            # transaction, which holds the write lock: nothing can be written between this look and the commit.
            (version,) = own.execute("PRAGMA data_version").fetchone()
            self.foreign += version != self._version
            self._version = version
            for job, work in batch:
                changes = own.total_changes
                try:
                    job.result = work(connection)
                except Exception as error:  # raised at the caller
                    job.error = unwritten(error) if isinstance(error, _DATABASE_ERRORS) else error
                    if own.total_changes != changes or not own.in_transaction:
                        torn = True
                        break
            if torn:
                own.rollback()
            else:
                # With synchronous=FULL this returns when the write-ahead log has been synced.
                own.execute("COMMIT")
                self.written += 1
        except BaseException:
            own.rollback()
            raise
        finally:
            connection.rollback()
        if torn and len(batch) > 1:
            for job, work in batch:
                job.result = job.error = None
                self._write(connection, [(job, work)])

    def _begin_transaction(self, own: sqlite3.Connection) -> None:
        """Begins a transaction, when no other process has one.

        SQLite would wait itself, 1 ms and then 2, 5, 10 and more. A transaction takes about a millisecond, so it would
        often sleep while nobody writes. Where a sync takes milliseconds, two processes then write less, and the longest
        wait is much longer: see `python -m scripts.bench.moves --free -- --workers 2`.
        """
        end, pause = time.monotonic() + _PATIENCE, _FIRST_PAUSE
        while True:
            try:
                own.execute(self._begin)
                return
            except sqlite3.OperationalError as error:
                code = getattr(error, "sqlite_errorcode", 0) & _ERROR_CLASS
                if code != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            time.sleep(pause)
            pause = min(pause * _LONGER, _LONGEST_PAUSE)

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.invalidate()
                connection.close()
            except SQLAlchemyError:
                return


_POLLING: Final = 0.1


class SqliteHints(Hints):
    """Gives hints to the listeners of this process.

    `version` returns a number that changes when anyone, this process included, has written to the database.
    """

    def __init__(self, writer: SqliteWriter, version: Callable[[], int]) -> None:
        super().__init__()
        self._writer = writer
        self._version = version

    async def _hear(self) -> None:
        """Gives a hint when another process has written.

        If the version has changed and this process has written nothing, another process has written. If this process
        has written too, either may have changed it. Then the writer's count decides, but it does not cover writes after
        the writer's last transaction. So the doubt remains until this process writes nothing between two polls.
        """
        before, unsure = self._state(), False
        while True:
            await asyncio.sleep(_POLLING)
            now = self._state()
            ours = now[1] != before[1]
            changed = unsure or now[0] != before[0]
            unsure = changed and ours
            if now[2] != before[2] or (changed and not ours):
                self.publish(ANYWHERE)
            before = now

    def _state(self) -> tuple[int | None, int, int]:
        """Returns the version, None if it cannot be read, and the counts of the writer."""
        try:
            version = self._version()
        except HkojiError:
            version = None
        return version, self._writer.written, self._writer.foreign
