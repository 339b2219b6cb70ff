"""Work on groups of files or logs in several processes, with the results in order.

Memory is bounded: at any time about two groups for each process are in memory.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def map_in_processes(
    groups: Iterable[Batch], work: Callable[[Batch], list[Result]], jobs: int, *, here: Callable[[Batch], bool]
) -> Iterator[Result]:
    """Yields the results of `work` for every group, in the order of the groups, from `jobs` processes.

    `work` must be picklable: a module's function or a partial of one. Groups for which `here` is true, such as
    standard input, are processed in this process.
    """
    window: deque[Future[list[Result]]] = deque()
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            for group in groups:
                if here(group):
                    window.append(Future())
                    window[-1].set_result(work(group))
                else:
                    window.append(pool.submit(work, group))
                while window and (len(window) > 2 * jobs or window[0].done()):
                    yield from window.popleft().result()
            while window:
                yield from window.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
