"""A thread that does blocking work of any kind for event loops, in batches.

All work that arrives in one turn of an event loop is handed over together and answered together. Waking the thread, and
the loop again, for each piece of work would make the two compete for the interpreter, and batches would be smaller.
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
    """A piece of work, and later its result or its error."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: W, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None  # Any: each job has a result type of its own
        self.error: Exception | None = None


class _CurrentTurn(threading.local):
    """The jobs of the current turn of this thread's event loop. Each thread that runs a loop has its own."""

    loop: asyncio.AbstractEventLoop | None = None
    jobs: list[Job[Any]] | None = None


class BatchThread(Generic[W]):
    """Runs `handle` in a thread of its own, with a list of at least one job.

    A batch takes the jobs of complete turns of the loops until it has `most` jobs or more. `handle` gives each job its
    result or error, and raises nothing. `finish` runs when the thread ends.
    """

    def __init__(
        self, name: str, handle: Callable[[list[Job[W]]], None], finish: Callable[[], None], *, most: int
    ) -> None:
        self._handle = handle
        self._finish = finish
        self._most = most
        self._turn = _CurrentTurn()
        self._turns: queue.SimpleQueue[list[Job[W]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: W) -> Any:  # Any: what `handle` makes of the work
        """Returns the result of `work`, or raises its error. Raises `StorageError` after `close`."""
        if self._closed:
            raise StorageError(tell("the service is stopping"), hint=tell("try again later"))
        loop = asyncio.get_running_loop()
        job = Job(work, loop)
        turn = self._turn
        if turn.jobs is None or turn.loop is not loop:
            turn.loop, turn.jobs = loop, []
            # Runs after all callbacks that are ready now: by then they have added their jobs to the same list.
            loop.call_soon(self._hand_over, turn.jobs)
        turn.jobs.append(job)
        return await job.future

    def close(self) -> None:
        """Finishes the jobs that wait, and ends the thread."""
        self._closed = True
        if self._turn.jobs:
            self._hand_over(self._turn.jobs)
        self._turns.put(None)
        self._thread.join()

    def _hand_over(self, jobs: list[Job[W]]) -> None:
        # `close` may have handed the same list over already.
        if self._turn.jobs is jobs:
            self._turn.jobs = None
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


class CallThread(BatchThread[Callable[[], Any]]):  # Any: each job has a result type of its own
    """Runs functions in a thread of its own: the result of a job is what its function returns."""

    def __init__(self, name: str, *, most: int) -> None:
        super().__init__(name, _call_all, lambda: None, most=most)


def _call_all(batch: list[Job[Callable[[], Any]]]) -> None:
    for job in batch:
        try:
            job.result = job.work()
        except Exception as error:  # raised at the caller
            job.error = error


def _answer(batch: list[Job[W]]) -> None:
    """Wakes the callers in their loops, with one wake-up for all jobs of a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Job[W]]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            continue  # the loop has been closed, and its callers with it


def _resolve(jobs: list[Job[W]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # the caller has been cancelled
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
