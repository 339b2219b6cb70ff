"""Decisions in a thread of their own, for a store that writes in the event loop.

Most of a decision is signatures, for which the interpreter is let go: requests are read and answers written meanwhile.
"""

from __future__ import annotations

from typing import Final

from hkoji_server.store.batch_thread import BatchThread, Job
from hkoji_server.store.contract import Append, Decide

_MOST_JOBS: Final = 16


class DecisionThread:
    """Decides what is to be appended, for many at once."""

    def __init__(self) -> None:
        self._worker: BatchThread[Decide] = BatchThread("hkoji-decides", _handle, lambda: None, most=_MOST_JOBS)

    async def decide(self, given: Decide) -> Append:
        """What `given` returns. Raises what it raises."""
        append: Append = await self._worker.run(given)
        return append

    def close(self) -> None:
        """Finishes what waits and ends the thread."""
        self._worker.close()


def _handle(batch: list[Job[Decide]]) -> None:
    for job in batch:
        try:
            job.result = job.work()
        except Exception as error:  # it is the caller's, and is raised there
            job.error = error
