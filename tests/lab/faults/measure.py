"""Makes every call that can fail during a game do so, once each, and checks that nothing is left incomplete.

    python -m tests.lab.faults.measure --step 20           each twentieth call of each kind, in a minute
    python -m tests.lab.faults.measure --jobs 2            all of it
    python -m tests.lab.faults.measure --list              what is counted, and how many of each
    python -m tests.lab.faults.measure --store postgres    the same on its own PostgreSQL server

The scenario (scenario.py) registers two players, logs them in, plays a game with hidden cards over the real application
and store, sends every entry twice, restarts the service in the middle, and ends with a clean audit. It is run once for
each call of the database driver, of SQLite to the system, of the store to its folder, of the server to its connections
and its clock, with that call failing. On PostgreSQL each call that speaks to the server fails in each of nine ways
(postgres.py). After the failure: the client gets a problem document of the right kind, or the connection drops; the
data on disk consists of complete transactions; the same request succeeds when it is repeated; and the game comes to the
same end. Clocks that jump change none of the answers, unless the service records an outage meanwhile, which is credited
to the player; the audit judges it. Exits with 1 if a check fails.

With --step N each kind begins one call further on than the kind before; so with --step 6 each call meets one of the six
refusals of PostgreSQL.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from hkoji_server.log import configure_logging

from tests.lab.faults import postgres, sqlite
from tests.lab.faults.fault import CLOCKS_SET
from tests.lab.faults.scenario import Scenario, run_on, run_with
from tests.support.cluster import cluster

_SHOWN: Final = 40


class Task(NamedTuple):
    """One run: the `at`th call of a kind fails, in a new folder or a new database of a server."""

    server: str | None
    kind: str = ""
    at: int = 0


class Told(NamedTuple):
    """The results of one run."""

    kind: str
    hit: str
    failures: int
    complaints: list[str]


def _run(task: Task) -> Scenario:
    if task.server is not None:
        name = f"fault_{os.getpid()}_{time.monotonic_ns()}"
        with postgres.fresh_database(task.server, name) as url:
            return run_on(postgres.OnPostgres(url), task.kind, task.at)
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    try:
        return run_with(folder, task.kind, task.at)
    finally:
        shutil.rmtree(folder)


def judge(scenario: Scenario, clean: list[tuple[str, int]]) -> list[str]:
    """The faults of a run, compared with the answers of one without a failure."""
    complaints = list(scenario.complaints)
    if not scenario.fault.hit:
        complaints.append("the call was not made")
    credited = scenario.fault.kind in CLOCKS_SET and scenario.credited_outages
    if not complaints and not credited and scenario.verdicts != clean:
        complaints.append("the answers differ from those without the fault")
    return complaints


def _without(server: str | None) -> tuple[Counter[str], list[tuple[str, int]]]:
    """The number of calls of each kind, and the answers when none fails."""
    configure_logging("error")
    scenario = _run(Task(server))
    if scenario.complaints:
        raise AssertionError(f"without a fault: {scenario.complaints}")
    return scenario.fault.calls, scenario.verdicts


def _try(given: tuple[Task, list[tuple[str, int]]]) -> Told:
    task, clean = given
    configure_logging("error")
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    scenario = _run(task)
    return Told(task.kind, f"{task.at}: {scenario.fault.hit}", scenario.failures, judge(scenario, clean))


def _tasks(server: str | None, kinds: Sequence[str], calls: Counter[str], step: int) -> Iterator[Task]:
    for number, kind in enumerate(kinds):
        for at in range(1 + number % step, calls[kind] + 1, step):
            yield Task(server, kind, at)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--step", type=int, default=1, help="one call in this many of each kind")
    parser.add_argument("--kind", action="append", help="only this kind, or these")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    configure_logging("error")
    started = time.monotonic()
    known = postgres.KINDS if given.store == "postgres" else sqlite.KINDS
    kinds = given.kind or known
    if strange := set(kinds) - set(known):
        parser.error(f"there is no kind {sorted(strange)[0]}; there are {', '.join(known)}")
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    wrong: list[str] = []
    with ExitStack() as stack:
        server = stack.enter_context(cluster()).url("postgres") if given.store == "postgres" else None
        pool = stack.enter_context(ProcessPoolExecutor(given.jobs))
        # Counting here would start threads, which a fork does not copy.
        calls, clean = pool.submit(_without, server).result()
        if given.list:
            for kind in kinds:
                print(f"{calls[kind]:6} {kind}")
            return
        tasks = list(_tasks(server, kinds, calls, given.step))
        for told in pool.map(_try, [(task, clean) for task in tasks], chunksize=8):
            runs[told.kind] += 1
            failed[told.kind] += bool(told.failures)
            for each in told.complaints[:3]:
                wrong.append(f"{told.kind} {told.hit}: {each}")
                if len(wrong) <= _SHOWN:
                    print(wrong[-1], flush=True)
            if not runs.total() % 100:
                print(f"{runs.total():,} of {len(tasks):,} runs", file=sys.stderr)
    print(f"{'':28}{'calls':>8}{'failed':>8}{'told':>8}")
    for kind in kinds:
        print(f"{kind:28}{calls[kind]:8}{runs[kind]:8}{failed[kind]:8}")
    print(f"{runs.total():,} runs in {time.monotonic() - started:.0f} s: {len(wrong)} complaints")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
