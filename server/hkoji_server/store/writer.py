"""One writer for all that waits: each job in a savepoint of its own, one commit and one sync for the batch.

A job that fails takes back its own savepoint and nothing else. Nobody is answered before the commit has returned, so
an answer means "on disk". One thread owns the writing connection; other processes may write too and are waited for.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from hkoji.errors import StorageError

T = TypeVar("T")
_MOST_JOBS = 256


class _Job:
    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[Connection], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None  # Any: each job has a result type of its own
        self.error: Exception | None = None


class Writer:
    """Runs jobs on `connection` in a thread of its own. `begin` is the statement that opens a transaction."""

    def __init__(self, connect: Callable[[], Connection], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hkoji-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction; returns when it is durable. Raises what it raises, or `StorageError`."""
        job = _Job(work, asyncio.get_running_loop())
        self._jobs.put(job)
        result: T = await job.future
        return result

    def close(self) -> None:
        """Finishes the jobs that wait and ends the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection: Connection | None = None
        closing = False
        while not closing:
            batch: list[_Job] = []
            first = self._jobs.get()
            while first is not None:
                batch.append(first)
                if len(batch) == _MOST_JOBS:
                    break
                try:
                    first = self._jobs.get_nowait()
                except queue.Empty:
                    break
            closing = first is None
            if batch:
                try:
                    connection = connection or self._connect()
                    self._write(connection, batch)
                except Exception as error:  # whatever broke, every caller must get an answer
                    _discard(connection)
                    connection = None
                    for job in batch:
                        job.error = StorageError("the database could not be written; nothing was changed")
                        job.error.__cause__ = error
                _answer(batch)
        if connection is not None:
            connection.close()

    def _write(self, connection: Connection, batch: list[_Job]) -> None:
        connection.exec_driver_sql(self._begin)
        try:
            for job in batch:
                connection.exec_driver_sql("SAVEPOINT job")
                try:
                    job.result = job.work(connection)
                except Exception as error:  # it is the caller's, and is raised there
                    job.error = error
                    connection.exec_driver_sql("ROLLBACK TO job")
                connection.exec_driver_sql("RELEASE job")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise


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
