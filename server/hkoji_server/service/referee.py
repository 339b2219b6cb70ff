"""Refereeing in a thread of its own.

Most of what a submission costs is verifying one signature and making another, and both let the interpreter go: so
requests are read and answers written meanwhile. Games are values, and the store decides which move was first; nothing
here needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.game import host
from hkoji_server.store.worker import Job, Worker

Work = Callable[[], host.Accepted]

_MOST_JOBS: Final = 16


class Referee:
    """Runs `host.accept` for many submissions."""

    def __init__(self) -> None:
        self._worker: Worker[Work] = Worker("hkoji-referee", _handle, lambda: None, most=_MOST_JOBS)

    async def accept(self, work: Work) -> host.Accepted:
        """What `work` returns. Raises what it raises."""
        accepted: host.Accepted = await self._worker.run(work)
        return accepted

    def close(self) -> None:
        """Finishes what waits and ends the thread."""
        self._worker.close()


def _handle(batch: list[Job[Work]]) -> None:
    for job in batch:
        try:
            job.result = job.work()
        except Exception as error:  # it is the caller's, and is raised there
            job.error = error
