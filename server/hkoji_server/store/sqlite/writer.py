"""One writer for all that waits: one transaction, one commit and one sync for the batch.

A job that fails takes nothing of the others with it. Nearly all that fail (a move that came second) have written
nothing, and are just left out; after one that fails in its middle the batch is taken back and its jobs are written one
by one. That is cheaper than a savepoint for each, which doubles the statements of a move.

A job may have to be prepared; that is done in the same thread before the transaction begins. It would be no gain to
do it elsewhere: then two threads, and the loop, would fight for the interpreter, and batches be smaller.

Nobody is answered before the commit has returned, so an answer means "on disk". One thread owns the writing
connection; other processes may write too and are waited for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.batch_thread import BatchThread, Job

T = TypeVar("T")
Work = Callable[[Connection], T]
Prepare = Callable[[], Work[Any]]  # Any: each job has a result type of its own

_MOST_JOBS: Final = 64
_DATABASE_ERRORS: Final = (SQLAlchemyError, sqlite3.Error)


_Job = Job[Prepare]
Prepared = tuple[_Job, Work[Any]]


class SqliteWriter:
    """Runs jobs on a connection of its own, in a thread of its own; the statement `begin` opens a transaction."""

    def __init__(self, connect: Callable[[], Connection], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._connection: Connection | None = None
        self._version: int | None = None
        self.written = 0
        """How many batches have been committed."""
        self.foreign = 0
        """How many of them found that somebody else had written since the one before."""
        self._worker: BatchThread[Prepare] = BatchThread("hkoji-writer", self._handle, self._discard, most=_MOST_JOBS)

    async def run(self, work: Work[T]) -> T:
        """Runs `work` in a transaction; returns when it is durable. Raises what it raises, or `StorageError`.

        `work` may be run a second time after its first has been taken back.
        """
        return await self.run_prepared(lambda: work)

    async def run_prepared(self, prepare: Callable[[], Work[T]]) -> T:
        """The same with work that is made in the writer's thread. Raises what `prepare` raises too."""
        result: T = await self._worker.run(prepare)
        return result

    def close(self) -> None:
        """Finishes the jobs that wait and ends the thread."""
        self._worker.close()

    def _handle(self, batch: list[_Job]) -> None:
        prepared: list[Prepared] = []
        for job in batch:
            try:
                prepared.append((job, job.work()))
            except Exception as error:  # it is the caller's, and is raised there
                job.error = error
        try:
            self._connection = self._connection or self._connect()
            if prepared:
                self._write(self._connection, prepared)
        except Exception as error:  # whatever broke, every caller must get an answer
            self._discard()
            for job, _ in prepared:
                job.error = _unwritten(error)

    def _write(self, connection: Connection, batch: list[Prepared]) -> None:
        # The driver's own execute, since these run for every batch. What SQLAlchemy believes of the transaction does
        # not matter: the driver is in autocommit mode and does what these statements say.
        own = driver(connection)
        torn = False
        own.execute(self._begin)
        try:
            (version,) = own.execute("PRAGMA data_version").fetchone()  # changes with what others write, not with ours
            self.foreign += version != self._version
            self._version = version
            for job, work in batch:
                changes = own.total_changes
                try:
                    job.result = work(connection)
                except Exception as error:  # it is the caller's, and is raised there
                    job.error = _unwritten(error) if isinstance(error, _DATABASE_ERRORS) else error
                    if own.total_changes != changes or not own.in_transaction:
                        torn = True
                        break
            if torn:
                own.rollback()
            else:
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

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.invalidate()
                connection.close()
            except SQLAlchemyError:
                return


def driver(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection."""
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def _unwritten(cause: Exception) -> StorageError:
    error = StorageError(tell("the database could not be written; nothing was changed"), hint=tell("try again later"))
    error.__cause__ = cause
    return error
