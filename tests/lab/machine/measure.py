"""Runs the state machine for any number of steps: clients, the service and an independent naive model.

    python -m tests.lab.machine.measure --steps 5000 --seed 1
    python -m tests.lab.machine.measure --steps 300000 --seed 1 --jobs 2
    python -m tests.lab.machine.measure --planted --steps 20000      # bugs are planted, and each has to be found

Hypothesis draws the events (machine.py); a step is one action of a player, a stranger, the clock or the network. Steps
are divided into lots, each in its own process with its own seed, so that the lot's seed alone reproduces a failure;
Hypothesis then prints the shortest course of events that it has found. Exits with 1 if there is one, or if a planted
bug was not found.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from hkoji_server.log import configure_logging
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.lab.machine import machine, operations, world
from tests.lab.machine.planted import PLANTED

_LENGTH = 150
_LOT = 3000


class Lot(NamedTuple):
    """The results of one lot."""

    seed: int
    steps: Counter[str]
    ends: Counter[str]
    compared: int
    seconds: float
    failure: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="seed of the first lot; the others follow")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--planted", action="store_true", help="plant one bug after the other")
    given = parser.parse_args()
    sys.exit(_find_planted(given.steps, given.seed, given.jobs) if given.planted else _run(given))


def _run(given: argparse.Namespace) -> bool:
    steps: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    compared, seconds, lots, failures = 0, 0.0, 0, 0
    started = time.monotonic()
    with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1) as pool:
        for found in pool.map(run_lot, *zip(*_lots(given.steps, given.seed), strict=True)):
            lots, failures = lots + 1, failures + bool(found.failure)
            steps, ends = steps + found.steps, ends + found.ends
            compared, seconds = compared + found.compared, seconds + found.seconds
            print(f"lot {found.seed}: {found.steps.total()} steps, {found.failure or 'no difference'}", flush=True)
    total = steps.total()
    print(f"\n{total} steps in {lots} lots, {compared} answers compared, {failures} lots with a difference")
    print(f"{time.monotonic() - started:.0f} s, {1000 * seconds / max(1, total):.1f} ms of processor time a step")
    print("games ended by " + ", ".join(f"{end} {count}" for end, count in ends.most_common()))
    for name, count in sorted(steps.items()):
        print(f"{count:8} {name}")
    return failures > 0


def _lots(steps: int, first: int) -> Iterator[tuple[int, int, str]]:
    for number in range(-(-steps // _LOT)):
        yield first + number, min(_LOT, steps - number * _LOT), ""


def _find_planted(steps: int, first: int, jobs: int) -> bool:
    missed = 0
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        names = list(PLANTED)
        for name, found in zip(
            names, pool.map(run_lot, [first] * len(names), [steps] * len(names), names), strict=True
        ):
            missed += not found.failure
            print(
                f"{name}: {'found after ' if found.failure else 'NOT found in '}{found.steps.total()} steps", flush=True
            )
            if found.failure:
                print(f"    {found.failure}")
    print(f"\n{len(names)} bugs planted, {missed} not found")
    return missed > 0


def run_lot(number: int, steps: int, planted: str) -> Lot:
    """Runs about `steps` steps from a seed, perhaps with a bug; stops at a failure."""
    configure_logging("error")
    before = time.process_time()
    failure = ""
    plan = settings(
        max_examples=max(1, steps // _LENGTH),
        stateful_step_count=_LENGTH,
        deadline=None,
        database=None,
        phases=[Phase.generate] if planted else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.normal,
        report_multiple_bugs=False,
    )
    run = seed(number)(machine.Machine)
    try:
        if planted:
            with PLANTED[planted]():
                run_state_machine_as_test(run, settings=plan)
        else:
            run_state_machine_as_test(run, settings=plan)
    except Exception as error:
        failure = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        if not planted:
            traceback.print_exception(error)
            print("\n".join(getattr(error, "__notes__", [])), file=sys.stderr)
    return Lot(number, operations.STEPS, operations.ENDS, world.ANSWERS.total(), time.process_time() - before, failure)


if __name__ == "__main__":
    main()
