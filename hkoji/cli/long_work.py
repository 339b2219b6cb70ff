"""Work that takes long: a progress bar, steps that Ctrl-C does not split, and work in several processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from hkoji.cli.output import out
from hkoji.cli.terminal import beneath, screens


@contextmanager
def handling(number: int, handler: Callable[[int, FrameType | None], None], *, before: object) -> Iterator[None]:
    """Handles a signal in the block, if its handler is the usual one, `before`, and this is the main thread."""
    usual = signal.getsignal(number)
    if threading.current_thread() is not threading.main_thread() or usual is not before:
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, usual)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays an interrupt to the end of the block. A second one is not delayed: the reader of the output may hang."""
    came = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    with handling(signal.SIGINT, note, before=signal.default_int_handler):
        yield
    if came:
        raise KeyboardInterrupt


Advance = Callable[[int], None]


@contextmanager
def progress(total: int, *, sized: bool = False, hidden: bool = False) -> Iterator[Advance]:
    """Gives a function that advances the bar towards `total`, which is in bytes if `sized`.

    Results may be printed meanwhile: at a terminal they appear above the bar.
    """
    if hidden or not shows_progress():
        yield lambda done: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    count = DownloadColumn() if sized else MofNCompleteColumn()
    # Rich redirects stdout to stderr, which is right only if both are the terminal.
    same = sys.stdout.isatty()
    console = Console(file=beneath(sys.stderr))
    columns = (BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=same, redirect_stderr=False) as bar:
        task = bar.add_task("", total=total)
        with screens():  # results pass a screen before Rich gets them
            yield lambda done: bar.advance(task, done)


def shows_progress() -> bool:
    """Returns whether a bar would be visible."""
    return not (out.plain or out.keep) and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


Batch = TypeVar("Batch")
Result = TypeVar("Result")


def map_in_processes(
    groups: Iterable[Batch], work: Callable[[Batch], list[Result]], jobs: int, *, here: Callable[[Batch], bool]
) -> Iterator[Result]:
    """Yields the results of `work` for every group, in the order of the groups, from `jobs` processes.

    `work` must be picklable: a module's function or a partial of one. Groups for which `here` is true, such as
    standard input, are processed in this process.
    """
    # Loaded only where there is work for several processes: a short audit begins sooner without it.
    from concurrent.futures import Future, ProcessPoolExecutor

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
