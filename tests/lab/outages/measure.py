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
of its turn, by a naive clock; no head is contradicted: no later entry has a time of record over 120 s before it. What
the players were told stands in the logs. `hkoji audit` accepts all logs together. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import uvloop
from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.store import open_postgres

from hkoji.log.private_key import PrivateKey
from tests.lab.outages.judgement import judged
from tests.lab.outages.planted import ON_POSTGRES, PLANTED
from tests.lab.outages.players import Company
from tests.lab.outages.service import TimedProcess
from tests.lab.outages.simulated_time import DatabaseTime, SimulatedTime
from tests.lab.outages.strikes import Tormentor
from tests.lab.races.judgement import Ask, asking
from tests.support.cluster import cluster
from tests.support.loops import run
from tests.support.service import Player
from tests.support.timed_logs import stored
from tests.support.wired_tables import Seated, Wires

_COMPANIES: Final = 4
_SHOWN: Final = 20
_ANSWERED: Final = (0.8, 2.5, 6.0, 6.0)
"""The seconds after which the players of a company send a request again; with a planted fault, the last of them."""
FOUND_BY: Final = {
    "decisions of any age are written": "one waits long before a transaction",
    "outages are recorded without the lock": "one stops within a transaction, then both",
    "outages begin after the last beat": "both stand still",
    "heads wait for nothing": "one waits long before its commit",
    "the clock is trusted": "a clock goes wrong by an hour",
}
"""The strike that shows each planted fault."""


class Done(NamedTuple):
    """What has happened, and what was wrong."""

    counts: Counter[str]
    wrong: list[str]


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
            processes.append(TimedProcess(number, data, database, shared, simulated, plan.fault))
        one, other = processes
        tormentor = Tormentor((one, other), simulated, rng, clock)
        where = database or data / "hkoji.sqlite3"
        patience = _ANSWERED if plan.fault is None else _ANSWERED[-1:]
        companies = _companies(processes, partial(_seed, asking(where)), rng, patience)
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
    processes: list[TimedProcess], seed_of: partial[str], rng: random.Random, patience: tuple[float, ...]
) -> list[Company]:
    def ports(some: list[TimedProcess]) -> tuple[int, ...]:
        return tuple(process.port for process in some)

    made = []
    for number in range(_COMPANIES):
        players = (_seat(processes[0], f"host{number}", rng), _seat(processes[0], f"guest{number}", rng))
        wires = Wires(partial(ports, processes), patience=120, answered=patience[number % len(patience)])
        observing = tuple(Wires(partial(ports, [process])) for process in processes)
        made.append(Company(wires, observing, players, seed_of, random.Random(rng.random())))
    return made


def _seed(ask: Ask, game: str) -> str:
    ((seed,),) = ask("SELECT seed FROM secret WHERE game = ?", (game,))
    return str(seed)


def _seat(process: TimedProcess, name: str, rng: random.Random) -> Seated:
    player = Player(process, name, PrivateKey.from_seed(rng.randbytes(32)), rng.randbytes(32).hex()).register()
    return Seated(name, player.key, player.entropy, player.token)


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


def migrated(server: str) -> str:
    """Gives the database at a URL its schema, and returns the URL."""
    run(run(open_postgres(parse_location(server))).close())
    return server


def main() -> int:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strikes", type=int, nargs="?", default=200, help="how many")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", choices=sorted(PLANTED), help="a fault in the service, to be found")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hkoji-outages-"))
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        database = None
        if given.postgres or given.planted in ON_POSTGRES:
            server = stack.enter_context(cluster())
            database = migrated(server.url(server.create()))
        only = (FOUND_BY[given.planted],) if given.planted else ()
        done = tormented(folder, Plan(given.strikes, only, given.planted, given.seed), database)
    for what, count in sorted(done.counts.items()):
        print(f"  {what:44} {count:12,}")
    print(f"{len(done.wrong)} wrong; {time.monotonic() - began:,.0f} s in all")
    for complaint in done.wrong[:_SHOWN]:
        print(f"  {complaint}")
    return 1 if done.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
