"""A thread that does blocking work for event loops, a whole turn's worth at a time.

Work that arrives in one turn of the loop is handed over together, and answered together: waking the thread, and the
loop again, for each piece would make the two fight for the interpreter, and batches smaller. It knows nothing of what
the work is.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from hkoji.errors import StorageError
from hkoji.messages.text import tell

W = TypeVar("W")


class Job(Generic[W]):
    """Work, and in the end its result or its error."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: W, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None  # Any: each job has a result type of its own
        self.error: Exception | None = None


class _Gathered(threading.local):
    """The jobs of the current turn of this thread's loop."""

    loop: asyncio.AbstractEventLoop | None = None
    jobs: list[Job[Any]] | None = None


class BatchThread(Generic[W]):
    """Runs `handle` in a thread of its own, with at least one and, but for a large turn, at most `most` jobs.

    `handle` gives each job its result or error, and raises nothing; `finish` runs when the thread ends.
    """

    def __init__(
        self, name: str, handle: Callable[[list[Job[W]]], None], finish: Callable[[], None], *, most: int
    ) -> None:
        self._handle = handle
        self._finish = finish
        self._most = most
        self._gathered = _Gathered()
        self._turns: queue.SimpleQueue[list[Job[W]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: W) -> Any:  # Any: what `handle` makes of the work
        """The result of `work`, or its error raised. Raises `StorageError` when closed."""
        if self._closed:
            raise StorageError(tell("the service is stopping"), hint=tell("try again later"))
        loop = asyncio.get_running_loop()
        job = Job(work, loop)
        gathered = self._gathered
        if gathered.jobs is None or gathered.loop is not loop:
            gathered.loop, gathered.jobs = loop, []
            loop.call_soon(self._hand_over, gathered.jobs)
        gathered.jobs.append(job)
        return await job.future

    def close(self) -> None:
        """Finishes the jobs that wait and ends the thread."""
        self._closed = True
        if self._gathered.jobs:
            self._hand_over(self._gathered.jobs)
        self._turns.put(None)
        self._thread.join()

    def _hand_over(self, jobs: list[Job[W]]) -> None:
        if self._gathered.jobs is jobs:
            self._gathered.jobs = None
            self._turns.put(jobs)

    def _run(self) -> None:
        closing = False
        while not closing:
            batch: list[Job[W]] = []
            turn = self._turns.get()
            while turn is not None:
                batch.extend(turn)
                if len(batch) >= self._most:
                    break
                try:
                    turn = self._turns.get_nowait()
                except queue.Empty:
                    break
            closing = turn is None
            if batch:
                self._handle(batch)
                _answer(batch)
        self._finish()


def _answer(batch: list[Job[W]]) -> None:
    """Wakes the callers, each in its own loop; one wake-up for all jobs of a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Job[W]]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            continue  # the loop has been closed: its callers are gone


def _resolve(jobs: list[Job[W]]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
