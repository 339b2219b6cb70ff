"""One writer for all that waits: one transaction, one commit and one sync for the batch.

A job that fails takes nothing of the others with it. Nearly all that fail (a move that came second) have written
nothing, and are just left out; after one that fails in its middle the batch is taken back and its jobs are written one
by one. That is cheaper than a savepoint for each, which doubles the statements of a move.

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
from hkoji_server.store.worker import Job, Worker

T = TypeVar("T")
Work = Callable[[Connection], Any]  # Any: each job has a result type of its own

_MOST_JOBS: Final = 256
_DATABASE_ERRORS: Final = (SQLAlchemyError, sqlite3.Error)


class Writer:
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
        self._worker: Worker[Work] = Worker("hkoji-writer", self._handle, self._discard, most=_MOST_JOBS)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction; returns when it is durable. Raises what it raises, or `StorageError`.

        `work` may be run a second time after its first has been taken back.
        """
        result: T = await self._worker.run(work)
        return result

    def close(self) -> None:
        """Finishes the jobs that wait and ends the thread."""
        self._worker.close()

    def _handle(self, batch: list[Job[Work]]) -> None:
        try:
            self._connection = self._connection or self._connect()
            self._write(self._connection, batch)
        except Exception as error:  # whatever broke, every caller must get an answer
            self._discard()
            for job in batch:
                job.error = _unwritten(error)

    def _write(self, connection: Connection, batch: list[Job[Work]]) -> None:
        # The driver's own execute, since these run for every batch. What SQLAlchemy believes of the transaction does
        # not matter: the driver is in autocommit mode and does what these statements say.
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        torn = False
        driver.execute(self._begin)
        try:
            (version,) = driver.execute(
                "PRAGMA data_version"
            ).fetchone()  # changes with what others write, not with ours
            self.foreign += version != self._version
            self._version = version
            for job in batch:
                changes = driver.total_changes
                try:
                    job.result = job.work(connection)
                except Exception as error:  # it is the caller's, and is raised there
                    job.error = _unwritten(error) if isinstance(error, _DATABASE_ERRORS) else error
                    if driver.total_changes != changes or not driver.in_transaction:
                        torn = True
                        break
            if torn:
                driver.rollback()
            else:
                driver.execute("COMMIT")
                self.written += 1
        except BaseException:
            driver.rollback()
            raise
        finally:
            connection.rollback()
        if torn and len(batch) > 1:
            for job in batch:
                job.result = job.error = None
                self._write(connection, [job])

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.invalidate()
                connection.close()
            except SQLAlchemyError:
                return


def _unwritten(cause: Exception) -> StorageError:
    error = StorageError("the database could not be written; nothing was changed", hint="try again later")
    error.__cause__ = cause
    return error
