"""Measures signed, durable moves over HTTP against a raw sqlite3 loop that writes the same rows.

    python -m scripts.bench moves                              both of the following
    python -m scripts.bench.moves                              one process, on a core of its own
    python -m scripts.bench.moves --rounds 9 --games 8
    python -m scripts.bench.moves --free -- --workers 2        two processes, on all cores, as the system places them

A real `hkoji serve` on SQLite has the limits that are on by default; `--unlimited` shows what counting costs. A single
process has a core of its own; the load comes from another process on another core, where the raw loop runs too. Raw
loop and load take turns, a round each; the first round only warms up. Ratios are of each round, and their medians are
printed. The server's processor time counts all its threads and processes, kernel included: unlike moves a second it
hardly depends on other work on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import TypeVar

from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.log.private_key import PrivateKey
from scripts.bench.floor import Floor, RawMoves, rows_of
from scripts.bench.memory import server_seconds
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import Prepared, fill, prepare, requests
from scripts.bench.volley import Fire, generator
from tests.support.service import Service, serving

KEY = PrivateKey.from_seed(bytes(range(32)))
CONNECTIONS = (16, 32)

T = TypeVar("T")
Playing = AbstractContextManager[tuple[Service, Floor]]


@dataclass
class Found:
    """The results of the rounds with one number of connections."""

    raw: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """Processor time of the server, in seconds a move."""
    database: list[float] = field(default_factory=list)
    """The same of a database server beside it."""
    load: list[float] = field(default_factory=list)
    """The same of the load generator."""
    latencies: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Moves a second against raw moves."""
        return median(speed / raw for speed, raw in zip(self.speeds, self.raw, strict=True))

    @property
    def tail(self) -> float:
        """The 99th percentile of latencies against the median."""
        return quantiles(self.latencies, n=100)[98] / median(self.latencies)

    def keep(self, what: str, *, limits: bool, floor: str = "raw sqlite3 moves") -> None:
        """Keeps the speed for the page."""
        record(what, Figure(median(self.speeds), self.ratio, f"{shown(median(self.raw))} {floor}", limits))

    def tell(self, connections: int) -> None:
        """Prints the results."""
        p50, p99 = median(self.latencies), quantiles(self.latencies, n=100)[98]
        beside = f", database {median(self.database) * 1e6:.0f}" if any(self.database) else ""
        print(
            f"  {connections:3} connections: {median(self.speeds):7,.0f} moves/s, {self.ratio:.2f} of"
            f" {median(self.raw):,.0f} raw moves/s; server {median(self.processor) * 1e6:.0f} us of processor a move"
            f"{beside} (load {median(self.load) * 1e6:.0f});"
            f" p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, p99/p50 {self.tail:.1f}; {len(self.latencies):,} moves",
            flush=True,
        )


def in_turn(games: Iterable[Sequence[T]]) -> list[T]:
    """The first of each, then the second of each, and so on."""
    rest = [iter(each) for each in games]
    taken: list[T] = []
    while rest:
        turn = [(each, value) for each in rest for value in islice(each, 1)]
        taken.extend(value for _, value in turn)
        rest = [each for each, _ in turn]
    return taken


def make_database(path: Path, games: Sequence[Prepared]) -> None:
    """Makes a database of a service with this benchmark's key and games that wait for their first move."""

    async def make(store: SqliteStore) -> None:
        await store.add_identity(KEY.to_openssh().decode(), "http://127.0.0.1")
        await fill(store, games)

    store = SqliteStore(path)
    asyncio.run(make(store))
    store.close()


@contextmanager
def playing(
    folder: Path,
    games: Sequence[Prepared],
    options: Sequence[str] = (),
    log_level: str = "error",
    *,
    unlimited: bool = False,
) -> Iterator[tuple[Service, Floor]]:
    """A service with these games, and a raw loop with the same."""
    (folder / "data").mkdir()
    make_database(folder / "data" / "hkoji.sqlite3", games)
    shutil.copy(folder / "data" / "hkoji.sqlite3", folder / "raw.sqlite3")
    raw = RawMoves(folder / "raw.sqlite3")
    with serving(folder / "data", log_level=log_level, options=options, unlimited=unlimited) as service:
        yield service, raw
    raw.close()


def one_round(service: Service, raw: Floor, fire: Fire, plans: Sequence[Sequence[Prepared]], found: Found) -> None:
    """The raw loop plays the games; then every connection plays the same games one after another."""
    order = in_turn([rows_of(move.append) for game in plan for move in game.moves] for plan in plans)
    sent = [[request for game in plan for request in requests(game)] for plan in plans]
    started = perf_counter()
    number = raw.write(order)
    found.raw.append(number / (perf_counter() - started))
    before, beside = server_seconds(service.process.pid), raw.database_seconds()
    fired = fire(service.port, sent)
    found.processor.append((server_seconds(service.process.pid) - before) / number)
    found.database.append((raw.database_seconds() - beside) / number)
    found.speeds.append(number / fired.seconds)
    found.load.append(fired.processor / number)
    found.latencies.extend(fired.latencies)


@contextmanager
def apart(pid: int) -> Iterator[None]:
    """Reserves one core for that process, and the others for this one and its children, for the duration of a block.

    It changes nothing if there is one core, or if the system cannot do it.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(cores) < 2:
        yield
        return
    for each in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(each.name), cores[:1])
    os.sched_setaffinity(0, cores[1:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def measure(
    rounds: int,
    games: int,
    options: Sequence[str] = (),
    playing: Callable[..., Playing] = playing,
    *,
    free: bool = False,
) -> dict[int, Found]:
    """Measures `games` games a connection in each round, on the service of `playing`; it has one core unless `free`."""
    prepared = iter(prepare((rounds * sum(CONNECTIONS) + max(CONNECTIONS)) * games, KEY))

    def take(connections: int) -> list[list[Prepared]]:
        return [[next(prepared) for _ in range(games)] for _ in range(connections)]

    warm_up = take(max(CONNECTIONS))
    plans = {connections: [take(connections) for _ in range(rounds)] for connections in CONNECTIONS}
    everything = [game for round_ in (warm_up, *chain(*plans.values())) for plan in round_ for game in plan]
    found = {connections: Found() for connections in CONNECTIONS}
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        playing(Path(name), everything, options) as (service, raw),
        nullcontext() if free else apart(service.process.pid),
        generator() as fire,
    ):
        one_round(service, raw, fire, warm_up, Found())
        for number in range(rounds):
            for connections in CONNECTIONS:
                one_round(service, raw, fire, plans[connections][number], found[connections])
    return found


def run(
    rounds: int = 5, games: int = 4, options: Sequence[str] = (), *, free: bool = False, unlimited: bool = False
) -> dict[int, Found]:
    """Prints moves a second and latency, and returns the results."""
    place = "on all cores" if free else "on a core of its own"
    limits = "without limits" if unlimited else "with the default limits"
    print(f"\nSigned durable moves over HTTP, the service {place} {limits} {' '.join(options)}".rstrip())
    every = measure(rounds, games, options, partial(playing, unlimited=unlimited), free=free)
    for connections, found in every.items():
        found.tell(connections)
    return every


def run_all() -> None:
    """Measures one process on a core of its own, and then two on all cores."""
    one = run()
    one[32].keep("signed moves over HTTP, 32 connections, one process with a core of its own", limits=True)
    record("the same, 16 connections: p99 over p50", Figure(one[16].tail, limits=True))
    two = run(options=("--workers", "2"), free=True)
    two[32].keep("signed moves over HTTP, 32 connections, `--workers 2`, all cores", limits=True)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=4, help="games a connection in each round, of twelve moves each")
    parser.add_argument("--unlimited", action="store_true", help="no limits for addresses and players")
    parser.add_argument("--free", action="store_true", help="the system places the processes")
    parser.add_argument("options", nargs="*", help="options of `hkoji serve`, after --")
    given = parser.parse_args()
    run(given.rounds, given.games, given.options, free=given.free, unlimited=given.unlimited)


if __name__ == "__main__":
    main()
