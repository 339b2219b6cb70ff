"""Lets clients race against two server processes on one database, and checks that exactly one wins each place.

    python -m tests.lab.races.measure --submissions 20000              a sample, in a minute
    python -m tests.lab.races.measure --submissions 1000000 --jobs 2   all of it
    python -m tests.lab.races.measure --store postgres                 on its own PostgreSQL server
    python -m tests.lab.races.measure --submissions 2000 --planted "no compare-and-swap"     must find it

Two real `hkoji serve` processes run on one database. Clients play many games at once; for each place of each game they
send several signed entries at the same time over persistent connections to both processes: from two devices of one
player, different moves, the same text twice, join against join and against cancel, resignations against moves. With
them come entries that were refused before, are signed for a later place, come from the wrong seat, or were accepted
long ago.

After each volley: exactly one was accepted; the same text again got 200 and the first receipt; every other was refused
with the current head, or with one of the two that were current during the request. In the end both processes stop, and
the database is read with plain SQL: the logs hold what was acknowledged, to the byte, and nothing else; the service's
entries (reveals, ends) are never apart from the entry that causes them; each log passes a naive reading of the
specification (tests/support/ledger.py), and `hkoji audit` accepts it. Exits with 1 if anything was wrong.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from hkoji.audit.keyring import ExpectedKeys
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from tests.lab.races.clients import Party, Racer, Told
from tests.lab.races.judgement import asking, judged, merged, strays
from tests.lab.races.unfair import PLANTS, Forked
from tests.support.cluster import cluster
from tests.support.load import Wire, connect
from tests.support.service import Player, Service, start

_FILE: Final = "hkoji.sqlite3"
_RACERS: Final = 12
_PIPES: Final = 4
_GUESTS: Final = 3
_SHOWN: Final = 20
_PATIENT: Final = ("--keep-alive", "3600", "--request-timeout", "3600")
"""Generous, so that a stalled machine does not look like a service that closes idle connections."""


class Task(NamedTuple):
    """The work of one client process: the service's processes, how much, and with which seeds."""

    ports: tuple[int, ...]
    database: Path | str
    submissions: int
    seed: int
    job: int
    racers: int


class Done(NamedTuple):
    """The results."""

    counts: Counter[str]
    told: dict[str, Told]
    keys: dict[str, str]
    wrong: list[str]


def _parties(task: Task, racer: int, rng: random.Random) -> list[Party]:
    """Registered players of one racer: a host, who is logged in, and guests."""
    wire = Wire(lambda: task.ports[racer % len(task.ports)])
    made = []
    for number in range(1 + _GUESTS):
        name = f"{'guest' if number else 'host'}-{task.job}-{racer}-{number}"
        player = Player(wire, name, PrivateKey.from_seed(rng.randbytes(32)), rng.randbytes(32).hex())
        player.register()
        made.append(Party(player.name, player.key, player.entropy, player.token))
    wire.close()
    return made


async def _race(task: Task) -> Done:
    rng = random.Random(f"{task.seed} {task.job}")
    ask = asking(task.database)

    def seed_of(game: str) -> str:
        ((seed,),) = ask("SELECT seed FROM secret WHERE game = ?", (game,))
        return str(seed)

    everybody = [await asyncio.to_thread(_parties, task, number, rng) for number in range(task.racers)]
    racers = []
    for parties in everybody:  # only now, so that no connection is idle while the others are registered
        pipes = [[await connect(port) for _ in range(_PIPES)] for port in task.ports]
        racers.append(Racer(parties, pipes, seed_of, random.Random(rng.getrandbits(64))))

    def enough() -> bool:
        return sum(racer.counts["submissions"] for racer in racers) >= task.submissions

    began = time.monotonic()
    await asyncio.gather(*(racer.play(enough) for racer in racers))
    counts = sum((racer.counts for racer in racers), Counter[str]())
    counts["seconds"] = round(time.monotonic() - began)
    for racer in racers:
        for pipe in (pipe for pipes in racer.pipes for pipe in pipes):
            pipe.close()
    keys = {party.name: party.key.public.text for racer in racers for party in racer.parties}
    return Done(
        counts,
        merged(racer.told for racer in racers),
        keys,
        [complaint for racer in racers for complaint in racer.wrong],
    )


def race(task: Task) -> Done:
    """Does one client process's work."""
    return uvloop.run(_race(task))


def judge(database: Path | str, keys: Mapping[str, str], told: dict[str, Told]) -> list[str]:
    """Judges some of the games."""
    pins: ExpectedKeys = {name: parse_public_key(key) for name, key in keys.items()}
    return list(judged(asking(database), told, pins))


def _split(told: Mapping[str, Told], parts: int) -> list[dict[str, Told]]:
    games = sorted(told)
    return [{game: told[game] for game in games[part::parts]} for part in range(parts)]


def raced(
    services: Sequence[Service | Forked],
    database: Path | str,
    submissions: int,
    seed: int = 1,
    jobs: int = 1,
    racers: int = _RACERS,
) -> Done:
    """Races against running services on a database, stops them, and judges."""
    ports = tuple(service.port for service in services)
    wire = Wire(lambda: ports[0])
    server = wire.ask("GET", "/v1/service").json["key"]
    wire.close()
    tasks = [Task(ports, database, -(-submissions // jobs), seed, job, racers) for job in range(jobs)]
    with ProcessPoolExecutor(jobs) as pool:  # it starts no process before it has to
        done = [race(tasks[0])] if jobs == 1 else list(pool.map(race, tasks))
        codes = [service.stop() for service in services]
        counts = sum((each.counts for each in done), Counter[str]())
        told = merged(each.told for each in done)
        keys = {name: key for each in done for name, key in each.keys.items()}
        wrong = [complaint for each in done for complaint in each.wrong]
        wrong += [f"a service ended with {code}" for code in codes if code]
        wrong += strays(asking(database), told)
        work = partial(judge, database, {**keys, "server": server})
        parts = _split(told, max(1, jobs * 8)) if jobs > 1 else [told]
        for found in map(work, parts) if jobs == 1 else pool.map(work, parts):
            wrong += found
    return Done(counts, told, keys, wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=20_000, help="how many in all")
    parser.add_argument("--jobs", type=int, default=1, help="client processes")
    parser.add_argument("--racers", type=int, default=_RACERS, help="games at once of each client process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--planted", choices=sorted(PLANTS), help="a fault in the service, to be found")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hkoji-races-"))
    began = time.monotonic()
    data = folder / "data"
    services: list[Service | Forked] = []
    stack = ExitStack()
    database: Path | str = data / _FILE
    url: str | None = None
    if given.store == "postgres":
        server = stack.enter_context(cluster())
        database = url = server.url(server.create())
    try:
        for _ in range(2):
            if given.planted:
                services.append(Forked(data, given.planted, url))
            else:
                services.append(start(data, log_level="error", database=url, options=_PATIENT))
        done = raced(services, database, given.submissions, given.seed, given.jobs, given.racers)
    finally:
        for service in services:
            service.stop()
        stack.close()
        shutil.rmtree(folder)
    counts = done.counts
    seconds = max(1, counts.pop("seconds", 0) / given.jobs)
    submissions = counts["submissions"]
    accepted = sum(each.accepted for each in done.told.values())
    entries = sum(len(each.lines) for each in done.told.values())
    heads = sum(len(each.heads) for each in done.told.values())
    print(f"{submissions:,} submissions in {seconds:,.0f} s, {submissions / seconds:,.0f} a second")
    print(f"{len(done.told):,} games, {accepted:,} places won, {entries:,} entries, {heads:,} heads named to losers")
    for what, count in sorted(counts.items()):
        print(f"  {what:36} {count:12,}")
    wrong = done.wrong
    print(f"{len(wrong)} wrong; {time.monotonic() - began:,.0f} s in all")
    for complaint in wrong[:_SHOWN]:
        print(f"  {complaint}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
