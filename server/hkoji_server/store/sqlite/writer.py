"""The one writer of the SQLite file in this process: one transaction, one commit and one sync for each batch of jobs.

A job that fails does not affect the others. Nearly all jobs that fail (a move that came second) have written nothing,
and the batch goes on without them. After a job that fails when it has written something, the batch is rolled back and
its jobs are written one by one. That is cheaper than a savepoint for each job, which doubles the statements of a move.

No caller gets a result before the commit has returned, so a result means "on disk". One thread owns the writing
connection. Other processes may write too; each waits for the other.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.batch_thread import BatchThread, Job
from hkoji_server.store.sqlite.connections import driver

T = TypeVar("T")
Work = Callable[[Connection], T]

_MOST_JOBS: Final = 64
_PATIENCE: Final = 10.0
"""How many seconds a transaction waits for another process."""
_FIRST_PAUSE: Final = 0.0002
_LONGEST_PAUSE: Final = 0.005
_LONGER: Final = 1.2
_ERROR_CLASS: Final = 0xFF
"""The part of SQLite's extended error codes that says what kind of error it is."""
_DATABASE_ERRORS: Final = (SQLAlchemyError, sqlite3.Error)


_Job = Job[Work[Any]]  # Any: each job has a result type of its own


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
        self._thread: BatchThread[Work[Any]] = BatchThread("hkoji-writer", self._handle, self._discard, most=_MOST_JOBS)

    async def run(self, work: Work[T]) -> T:
        """Runs `work` in a transaction, and returns its result when it is on disk.

        Raises what `work` raises, or `StorageError`. `work` may run a second time after its first run was rolled back.
        """
        result: T = await self._thread.run(work)
        return result

    def close(self) -> None:
        """Finishes the jobs that wait, and ends the thread."""
        self._thread.close()

    def _handle(self, batch: list[_Job]) -> None:
        try:
            self._connection = self._connection or self._connect()
            self._write(self._connection, batch)
        except Exception as error:  # whatever has failed, every caller must get an answer
            # The state of the connection is not known. The next batch gets a new one.
            self._discard()
            for job in batch:
                job.error = _unwritten(error)

    def _write(self, connection: Connection, batch: list[_Job]) -> None:
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
            for job in batch:
                changes = own.total_changes
                try:
                    job.result = job.work(connection)
                except Exception as error:  # raised at the caller
                    job.error = _unwritten(error) if isinstance(error, _DATABASE_ERRORS) else error
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
            for job in batch:
                job.result = job.error = None
                self._write(connection, [job])

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


def _unwritten(cause: Exception) -> StorageError:
    error = StorageError(tell("the database could not be written; nothing was changed"), hint=tell("try again later"))
    error.__cause__ = cause
    return error
