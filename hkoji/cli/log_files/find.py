"""Many log files: which ones sources name, and work on them in several processes with the answers in order.

Memory is bounded: no more is in hand than two groups a process, however many there are. What is in the files is not
known here.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TypeVar

from hkoji.errors import UsageError
from hkoji.messages.text import tell

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def log_files(sources: Iterable[str]) -> Iterator[str]:
    """The log files of sources, in their order: of a folder all `*.jsonl` in it and below, by name.

    A folder that cannot be listed is given like a file, so that opening it says why.
    """
    return chain.from_iterable(map(_files, sources))


def check_standard_input(sources: list[str], *, taken: bool) -> None:
    """Raises `UsageError` if `-` is there twice, or at all where standard input is `taken` by something else."""
    if sources.count("-") > 1 or ("-" in sources and taken):
        raise UsageError(tell("standard input can be read once"), hint=tell("give - one time, and not in a batch"))


def spread(
    groups: Iterable[Batch], work: Callable[[Batch], list[Result]], jobs: int, *, here: Callable[[Batch], bool]
) -> Iterator[Result]:
    """The answers of `work` to every group, in the order of the groups, from so many processes.

    `work` is a function of a module, or a partial one. Where `here` says so a group is worked on in this process.
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


def _files(source: str) -> Iterator[str]:
    if source == "-" or not Path(source).is_dir():
        yield source
        return
    failed: list[OSError] = []
    for folder, below, names in os.walk(source, onerror=failed.append):
        below.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl"))
    yield from (str(error.filename) for error in failed)
