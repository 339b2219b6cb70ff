"""Checks, in many moments of random games, that the service reveals to no viewer what that viewer cannot know.

    python -m tests.lab.leaks.measure --states 2000 --seed 1
    python -m tests.lab.leaks.measure --states 100000 --seed 1 --jobs 2
    python -m tests.lab.leaks.measure --states 0 --mail 30

A state is a moment of a game, a viewer, and another deal that this viewer cannot distinguish from the true one; every
answer must be the same in both (docs/quality.md, "Promises"). Prints each answer that differed and how much was
compared. Exits with 1 if an answer differed. The same seed and number of states give the same comparisons, with any
number of jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.leaks.comparison import Tally

_CHUNK = 2000
_EVERY = 200
_SHOWN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--states", type=int, default=2000, help="how many states to compare")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random games")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument(
        "--processes", type=int, default=0, metavar="STORIES", help="compare this many more over real sockets"
    )
    parser.add_argument(
        "--mail", type=int, default=0, metavar="STORIES", help="compare this many more in which the guest plays by mail"
    )
    parser.add_argument("--kinds", action="store_true", help="also count the answers by what was asked")
    given = parser.parse_args()
    os.environ["HKOJI_CONFIG"] = os.devnull  # the command must not read the user's settings
    from tests.lab.leaks.comparison import Tally

    tally = Tally()
    started, spent = time.monotonic(), 0.0
    for found, took in _all(given.states, given.seed, given.jobs):
        tally.add(found)
        spent += took
        for leak in found.leaks:
            print(f"{leak.place}: {leak.what}", flush=True)
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{tally.states} states, {len(tally.leaks)} leaks", end=end, file=sys.stderr, flush=True)
    for number in range(given.processes):
        tally.add(_served(given.seed + number))
    for number in range(given.mail):
        tally.add(_mailed(given.seed * 1000 + number))
    if given.kinds:
        for kind, count in sorted(tally.kinds.items()):
            print(f"{count:8} {kind}")
    kept = sum(count for kind, count in tally.kinds.items() if kind.startswith("rows"))
    posted = sum(count for kind, count in tally.kinds.items() if kind.startswith(("webhook", "push")))
    others = ("hkoji", "process", "rows", "webhook", "push", "by mail")
    mailed = sum(count for kind, count in tally.kinds.items() if kind.startswith("by mail"))
    over_http = [kind for kind in tally.kinds.elements() if not kind.startswith(others)]
    statuses = Counter(kind.rpartition(": ")[2] for kind in over_http)
    print(f"{tally.states} states, {tally.early} before the first card, {tally.alike} with the same deal by chance")
    print(f"{len(over_http)} answers over HTTP: {', '.join(f'{n} of {s}' for s, n in sorted(statuses.items()))}")
    print(f"{kept} looks at rows beside the log, {posted} posts to webhooks and browsers")
    print(f"{mailed} letters, and looks at the outbox, log and metrics of a mail process")
    print(f"{tally.answers - len(over_http) - kept - posted - mailed} outputs of the command and files")
    print(f"{len(tally.leaks)} differ")
    wall = time.monotonic() - started
    print(f"{wall:.0f} s, {spent:.0f} s of processor time: {1000 * spent / max(1, tally.states):.1f} ms a state")
    sys.exit(bool(tally.leaks))


def _all(states: int, seed: int, jobs: int) -> Iterator[tuple[Tally, float]]:
    work = [
        (seed * 1000 + number, min(_CHUNK, states - start)) for number, start in enumerate(range(0, states, _CHUNK))
    ]
    if jobs == 1:
        yield from map(_some, work)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=4) as pool:
        yield from pool.imap(_some, work)


def _served(seed: int) -> Tally:
    """Compares stories in real processes."""
    from tests.lab.leaks.processes import compare
    from tests.lab.leaks.stories import VIEWERS

    with tempfile.TemporaryDirectory(prefix="hkoji-leaks-") as folder:
        tally = asyncio.run(compare(seed, Path(folder), VIEWERS[seed % 3]))
    for leak in tally.leaks:
        print(f"{leak.place}: {leak.what}", flush=True)
    return tally


def _mailed(seed: int) -> Tally:
    """Compares a story with a mail process."""
    from tests.lab.leaks.by_mail import compare

    with tempfile.TemporaryDirectory(prefix="hkoji-leaks-") as folder:
        tally = compare(seed, Path(folder))
    for leak in tally.leaks:
        print(f"{leak.place}: {leak.what}", flush=True)
    return tally


def _some(work: tuple[int, int]) -> tuple[Tally, float]:
    """The tally of one part, and its processor time in seconds."""
    from tests.lab.leaks.commands import look
    from tests.lab.leaks.comparison import sample

    gc.set_threshold(50_000, 20, 100)  # nearly everything made here is short-lived
    started = time.process_time()
    tally = sample(*work, look=look, every=_EVERY)
    return tally, time.process_time() - started


if __name__ == "__main__":
    main()
