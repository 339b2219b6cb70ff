"""One writer for all that waits: one transaction, one commit and one sync for the batch.

A job that fails takes nothing of the others with it. Nearly all that fail (a move that came second) have written
nothing, and are just left out; after one that fails in its middle the batch is taken back and its jobs are written one
by one. That is cheaper than a savepoint for each, which doubles the statements of a move.

Nobody is answered before the commit has returned, so an answer means "on disk". One thread owns the writing
connection; other processes may write too and are waited for.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hkoji.errors import StorageError

T = TypeVar("T")
_MOST_JOBS = 256
_DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error)


class _Job:
    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[Connection], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None  # Any: each job has a result type of its own
        self.error: Exception | None = None


class _Gathered(threading.local):
    """The jobs of the current turn of this thread's loop."""

    loop: asyncio.AbstractEventLoop | None = None
    jobs: list[_Job] | None = None


class Writer:
    """Runs jobs on a connection of its own, in a thread of its own. `begin` is the statement that opens a transaction.

    Jobs that arrive in one turn of the event loop are handed over together: waking the thread for each would make it
    and the loop fight for the interpreter, and make the batches smaller.
    """

    def __init__(self, connect: Callable[[], Connection], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._gathered = _Gathered()
        self._turns: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="hkoji-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction; returns when it is durable. Raises what it raises, or `StorageError`.

        `work` may be run a second time after its first has been taken back.
        """
        if self._closed:
            raise StorageError("the database has been closed")
        loop = asyncio.get_running_loop()
        job = _Job(work, loop)
        gathered = self._gathered
        if gathered.jobs is None or gathered.loop is not loop:
            gathered.loop, gathered.jobs = loop, []
            loop.call_soon(self._hand_over, gathered.jobs)
        gathered.jobs.append(job)
        result: T = await job.future
        return result

    def close(self) -> None:
        """Finishes the jobs that wait and ends the thread."""
        self._closed = True
        if self._gathered.jobs:
            self._hand_over(self._gathered.jobs)
        self._turns.put(None)
        self._thread.join()

    def _hand_over(self, jobs: list[_Job]) -> None:
        if self._gathered.jobs is jobs:
            self._gathered.jobs = None
            self._turns.put(jobs)

    def _run(self) -> None:
        connection: Connection | None = None
        closing = False
        while not closing:
            batch: list[_Job] = []
            turn = self._turns.get()
            while turn is not None:
                batch.extend(turn)
                if len(batch) >= _MOST_JOBS:
                    break
                try:
                    turn = self._turns.get_nowait()
                except queue.Empty:
                    break
            closing = turn is None
            if batch:
                try:
                    connection = connection or self._connect()
                    self._write(connection, batch)
                except Exception as error:  # whatever broke, every caller must get an answer
                    _discard(connection)
                    connection = None
                    for job in batch:
                        job.error = _unwritten(error)
                _answer(batch)
        if connection is not None:
            connection.close()

    def _write(self, connection: Connection, batch: list[_Job]) -> None:
        # The driver's own execute, since these run for every batch. What SQLAlchemy believes of the transaction does
        # not matter: the driver is in autocommit mode and does what these statements say.
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        torn = False
        driver.execute(self._begin)
        try:
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
        except BaseException:
            driver.rollback()
            raise
        finally:
            connection.rollback()
        if torn and len(batch) > 1:
            for job in batch:
                job.result = job.error = None
                self._write(connection, [job])


def _unwritten(cause: Exception) -> StorageError:
    error = StorageError("the database could not be written; nothing was changed", hint="try again later")
    error.__cause__ = cause
    return error


def _discard(connection: Connection | None) -> None:
    if connection is not None:
        try:
            connection.invalidate()
            connection.close()
        except SQLAlchemyError:
            return


def _answer(batch: list[_Job]) -> None:
    """Wakes the callers, each in its own loop; one wake-up for all jobs of a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            continue  # the loop has been closed: its callers are gone


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
