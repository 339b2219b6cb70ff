"""Stops, kills and delays two processes of the service, sets their clocks, and judges logs, outages and signed heads.

    python -m tests.lab.outages.measure 200                 ten minutes
    python -m tests.lab.outages.measure 200 --postgres      on its own PostgreSQL server
    python -m tests.lab.outages.measure 8 --planted "heads wait for nothing"      must find it

Two real processes of the service run in a simulated time, 90 times as fast as the real one. Players go on with their
games, and observers ask for signed heads. Strike after strike, a process is killed or stands still, or both for so long
that this is an outage; one waits two minutes before, in or after a commit, or stops within a transaction; one is
stopped, is killed or waits while it records an outage; clocks go wrong by an hour, forward or back, in a running
process or from its start.

In the end the database is read with plain SQL. No time of record lies in an outage; each credit has exactly the outages
of its turn, by a naive clock; no head is contradicted: no later entry has a time of record over 120 s before it. The
answers to the players stand in the logs. `hkoji audit` accepts all logs together. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from tests.lab.outages.planted import PLANTED
from tests.lab.outages.players import Company, judged
from tests.lab.outages.service import TimedProcess
from tests.lab.outages.simulated_time import DatabaseTime, SimulatedTime
from tests.lab.outages.strikes import Tormentor
from tests.support.timed_laboratory import Done, Wanted, main, seated, seeds
from tests.support.timed_logs import stored
from tests.support.wired_tables import Wires

_COMPANIES: Final = 4
_ANSWERED: Final = (0.8, 2.5, 6.0, 6.0)
"""The seconds after which the players of a company send a request again; with a planted fault, the last of them."""


class Plan(NamedTuple):
    """The strikes by name; without any, all in turn, in a random order."""

    strikes: int
    only: tuple[str, ...] = ()
    fault: str | None = None
    seed: int = 1


def tormented(folder: Path, plan: Plan, database: str | None = None) -> Done:
    """Strikes a service, and judges. A PostgreSQL `database` must have the schema."""
    rng = random.Random(plan.seed)
    data, shared = folder / "data", folder / "time"
    simulated = SimulatedTime(shared, made=True)
    clock = None if database is None else DatabaseTime(database, simulated)
    processes: list[TimedProcess] = []
    try:
        for number in range(2):
            processes.append(TimedProcess(number, data, database, shared, plan.fault))
            processes[-1].wait_until_ready()  # the first one makes the database
        one, other = processes
        tormentor = Tormentor((one, other), simulated, rng, clock)
        where = database or data / "hkoji.sqlite3"
        patience = _ANSWERED if plan.fault is None else _ANSWERED[-1:]
        companies = _companies(processes, seeds(where), rng, patience)
        server = one.ask("GET", "/v1/service").json["key"]
        began = time.monotonic()
        uvloop.run(_torment(companies, tormentor, plan, rng))
        seconds = round(time.monotonic() - began)
    finally:
        for process in processes:
            process.go_on()
            process.kill()
    kept = stored(where)
    tables = [table for company in companies for table in company.tables]
    heads = [head for company in companies for head in company.heads]
    counts = sum((company.wires.counts for company in companies), tormentor.counts)
    counts.update({"seconds": seconds, "heads": len(heads), "games": len(kept.games), "outages": len(kept.outages)})
    counts["entries"] = sum(map(len, kept.games.values()))
    counts["credits"] = sum(entry.kind == "credit" for entries in kept.games.values() for entry in entries)
    return Done(counts, list(judged(kept, tables, heads, server)))


def _companies(
    processes: list[TimedProcess], seed_of: Callable[[str], str], rng: random.Random, patience: tuple[float, ...]
) -> list[Company]:
    def ports(some: list[TimedProcess]) -> tuple[int, ...]:
        return tuple(process.port for process in some)

    made = []
    for number in range(_COMPANIES):
        players = seated(processes[0], number, rng)
        wires = Wires(partial(ports, processes), patience=120, answered=patience[number % len(patience)])
        observing = tuple(Wires(partial(ports, [process])) for process in processes)
        made.append(Company(wires, observing, players, seed_of, random.Random(rng.random())))
    return made


async def _torment(companies: list[Company], tormentor: Tormentor, plan: Plan, rng: random.Random) -> None:
    names: list[str] = []
    playing = [asyncio.create_task(company.play()) for company in companies]
    await asyncio.sleep(1)
    try:
        for _ in range(plan.strikes):
            if not names:
                names = list(plan.only) or list(tormentor.strikes)
                rng.shuffle(names)
            await asyncio.to_thread(tormentor.strike, names.pop())
            if failed := [task for task in playing if task.done()]:
                failed[0].result()
    finally:
        for company in companies:
            company.over.set()
        await asyncio.gather(*playing)


def measured(folder: Path, wanted: Wanted, database: str | None) -> Done:
    """Does what the command line says: all strikes, or the one that shows a planted fault."""
    only = (PLANTED[wanted.fault].shown_by,) if wanted.fault else ()
    return tormented(folder, Plan(wanted.size, only, wanted.fault, wanted.seed), database)


if __name__ == "__main__":
    sys.exit(main(measured, __doc__, "strikes", PLANTED))
