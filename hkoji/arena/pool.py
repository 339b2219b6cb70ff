"""A pool of processes that play the deals of a match. With one job, this process plays them itself.

The games are the same with any number of processes; they come in any order, identified by their deal's number. Each
worker has a pipe and always one more deal waiting. A worker ignores the interrupt of a terminal, which the parent
handles; when the parent stops listening, for whatever reason, its workers end. Workers are spawned, not forked, so that
every bot gets a fresh interpreter on every system.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import perf_counter
from types import FrameType
from typing import Final, NamedTuple, NoReturn

from hkoji.arena.match import PlayedGame, play_deal
from hkoji.arena.plan import MatchPlan
from hkoji.errors import HkojiError, SeatedBotError
from hkoji.messages.text import tell

AHEAD: Final = 2
"""The number of deals that a worker has received but not yet played, including the current one."""

FAREWELL: Final = 5.0
"""The time that a worker has to end its bots' programs, in seconds."""


def play(plan: MatchPlan, *, jobs: int = 1, keep: bool = False) -> Generator[PlayedGame]:
    """Plays all deals of `plan`, in no particular order if `jobs` is more than 1.

    Raises `SeatedBotError` if a bot fails, and `HkojiError` if a process dies. Closing the generator ends all
    processes.
    """
    numbers = range(1, plan.deals + 1)
    if min(jobs, plan.deals) <= 1:
        return (play_deal(plan, number, perf_counter, keep=keep) for number in numbers)
    return _spread(plan, iter(numbers), min(jobs, plan.deals), keep)


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


def _spread(plan: MatchPlan, numbers: Iterator[int], jobs: int, keep: bool) -> Generator[PlayedGame]:
    workers: dict[Connection, _Worker] = {}
    waiting: dict[Connection, int] = {}
    try:
        with _uninterrupted():
            for _ in range(jobs):
                worker = _start(plan, keep)
                workers[worker.pipe] = worker
                waiting[worker.pipe] = 0
        for pipe in AHEAD * list(workers):
            _give(pipe, numbers, waiting)
        while any(waiting.values()):
            for ready in wait([pipe for pipe, count in waiting.items() if count]):
                assert isinstance(ready, Connection)
                pipe = ready
                answer = _receive(pipe)
                waiting[pipe] -= 1
                if isinstance(answer, SeatedBotError):
                    raise answer
                _give(pipe, numbers, waiting)
                yield answer
    finally:
        # All are terminated before any is joined, so that they close their bots at the same time.
        for worker in workers.values():
            worker.process.terminate()
        for worker in workers.values():
            worker.process.join(FAREWELL)
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()


def _start(plan: MatchPlan, keep: bool) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, plan, keep), daemon=True)
    process.start()
    # With a copy left open here, a worker's death would not end the pipe, and `_receive` would wait for ever.
    theirs.close()
    return _Worker(process, ours)


def _give(pipe: Connection, numbers: Iterator[int], waiting: dict[Connection, int]) -> None:
    number = next(numbers, None)
    if number is None:
        return
    try:
        pipe.send(number)
    except OSError as error:
        raise _died() from error
    waiting[pipe] += 1


def _receive(pipe: Connection) -> PlayedGame | SeatedBotError:
    try:
        answer: PlayedGame | SeatedBotError = pipe.recv()
    except (EOFError, OSError) as error:
        raise _died() from error
    return answer


def _died() -> HkojiError:
    return HkojiError(
        tell("a process of the match has died"), hint=tell("with --jobs 1 everything runs in this process")
    )


def _work(pipe: Connection, plan: MatchPlan, keep: bool) -> None:
    """Runs a worker until the parent closes its end of the pipe."""
    signal.signal(signal.SIGTERM, _leave)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(play_deal(plan, number, perf_counter, keep=keep))
        except SeatedBotError as error:
            pipe.send(error)
        except BrokenPipeError:
            return


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Exits through `SystemExit`, so that a worker closes its bots before it ends."""
    sys.exit(0)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignores interrupts within a `with` block. Processes that are started there keep ignoring them."""
    # Only the main thread may set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
