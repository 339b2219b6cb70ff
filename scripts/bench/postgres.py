"""Measures moves and views on PostgreSQL; moves against plain psycopg that writes the same rows.

    python -m scripts.bench postgres
    python -m scripts.bench.postgres --rounds 9 --games 4
    python -m scripts.bench.postgres --folder /dev/shm             in memory: no waiting for a disk

The benchmark has its own server, on disk, on the same machine, with the settings of the tests except for its buffers.
The floor is one connection that sends a move's statements together (a pipeline, one round trip, one transaction) and
waits for its commit before it sends the next. Each row shows the processor time of the service or the loop, and that of
the server separately.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final

from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.store import open_postgres

from scripts.bench import moves, views
from scripts.bench.floor import ADD_ENTRY, ADD_OPENING, ADVANCE, Floor, Rows, rows_of
from scripts.bench.memory import server_seconds
from scripts.bench.moves import KEY, in_turn
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import Prepared, fill, prepare
from scripts.bench.store import append_all, on_loop
from tests.support.cluster import Cluster, cluster
from tests.support.ledger import connected
from tests.support.service import Service, serving

_GAMES: Final = 64
_WAITING: Final = 32
_SETTINGS: Final = {"shared_buffers": "256MB", "max_wal_size": "2GB"}

Spent = tuple[float, float, float]
"""Seconds: on the clock, of this process's processor time, of the server's."""


class RawPostgres:
    """Plain psycopg on a database that the store has made, in the server with that process id."""

    def __init__(self, url: str, server: int) -> None:
        self._server = server
        self._connection = connected(url)
        self._connection.prepare_threshold = 0
        self._cursor = self._connection.cursor()

    def write(self, rows: Iterable[Rows]) -> int:
        """Writes moves, each in its own durable transaction. Returns how many."""
        execute, number = self._cursor.execute, 0
        for place, entries, openings in rows:
            with self._connection.pipeline():
                execute(_ADVANCE, place)
                for entry in entries:
                    execute(_ADD_ENTRY, entry)
                for opening in openings:
                    execute(_ADD_OPENING, opening)
            number += 1
        return number

    def database_seconds(self) -> float:
        """The processor time that the server has used so far."""
        return server_seconds(self._server)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


_ADVANCE, _ADD_ENTRY, _ADD_OPENING = (each.replace("?", "%s") for each in (ADVANCE, ADD_ENTRY, ADD_OPENING))


def _filled(server: Cluster, games: Sequence[Prepared]) -> str:
    """Makes a database of a service with this benchmark's key and games that wait for their first move.

    Returns its name.
    """
    name = server.create()

    async def make() -> None:
        store = await open_postgres(parse_location(server.url(name)))
        await store.add_identity(KEY.to_openssh().decode(), "http://127.0.0.1")
        await fill(store, games)
        await store.close()

    asyncio.run(make())
    with server.connect(name) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")
    return name


@contextmanager
def _playing(
    server: Cluster, folder: Path, games: Sequence[Prepared], options: Sequence[str] = ()
) -> Iterator[tuple[Service, Floor]]:
    """A service with these games, and a raw loop with the same."""
    name = _filled(server, games)
    raw = RawPostgres(server.url(server.create(name)), server.pid)
    with serving(folder / "data", log_level="error", options=options, database=server.url(name)) as service:
        yield service, raw
    raw.close()


def _measure_store(server: Cluster, rounds: int) -> None:
    games = prepare(_GAMES, KEY)
    appends = [[move.append for move in game.moves] for game in games]
    number = sum(map(len, appends))
    rows = [rows_of(append) for append in in_turn(appends)]
    master = _filled(server, games)

    def raw(url: str) -> Spent:
        floor = RawPostgres(url, server.pid)
        before = server_seconds(server.pid)
        started, spent = perf_counter(), process_time()
        floor.write(rows)
        took = perf_counter() - started, process_time() - spent, server_seconds(server.pid) - before
        floor.close()
        return took

    def stored(at_once: int) -> Callable[[str], Spent]:
        async def write(url: str) -> Spent:
            store = await open_postgres(parse_location(url))
            before = server_seconds(server.pid)
            started, spent = perf_counter(), process_time()
            await append_all(store, appends, at_once)
            took = perf_counter() - started, process_time() - spent, server_seconds(server.pid) - before
            await store.close()
            return took

        return lambda url: on_loop(write(url))

    contenders = {
        "raw psycopg move": raw,
        "store, one at a time": stored(1),
        f"store, {_WAITING} waiting": stored(_WAITING),
    }
    took: dict[str, list[Spent]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, contender in contenders.items():
            database = server.create(master)
            spent = contender(server.url(database))
            if turn:  # the first round warms up
                took[name].append(spent)
            server.drop(database)
    print(f"\nA durable move in the store on PostgreSQL ({number:,} moves, medians of {rounds} rounds)")
    floor = took["raw psycopg move"]
    for name, each in took.items():
        ratio = median(raw_clock / clock for (clock, _, _), (raw_clock, _, _) in zip(each, floor, strict=True))
        clock, own, database = (median(values) / number * 1e6 for values in zip(*each, strict=True))
        print(
            f"  {name:24} {1e6 / clock:8,.0f} /s   {ratio:.2f} of the floor   {own:.0f} us of processor a move,"
            f" database {database:.0f}",
            flush=True,
        )
        if each is not floor:
            raw_speed = number / median(seconds for seconds, _, _ in floor)
            what = f"durable move on PostgreSQL, {name.removeprefix('store, ')}"
            record(what, Figure(1e6 / clock, ratio, f"{shown(raw_speed)} raw psycopg moves"))


def run(rounds: int = 5, games: int = 2, folder: Path | None = None) -> None:
    """Prints moves a second, latency, and processor time."""
    with cluster(within=folder or Path(tempfile.gettempdir()), **_SETTINGS) as server:
        _measure_store(server, rounds)
        print("\nSigned durable moves over HTTP, on PostgreSQL")

        def playing(folder: Path, prepared: Sequence[Prepared], options: Sequence[str]) -> moves.Playing:
            return _playing(server, folder, prepared, options)

        for connections, found in moves.measure(rounds, games, playing=playing).items():
            found.tell(connections)
            if connections == 32:
                what = "signed moves over HTTP on PostgreSQL, 32 connections"
                found.keep(what, limits=False, floor="raw psycopg moves")
        views.run(server.url(server.create()))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=2, help="games a connection in each round, of twelve moves each")
    parser.add_argument("--folder", type=Path, help="where the server keeps its files")
    given = parser.parse_args()
    run(given.rounds, given.games, given.folder)


if __name__ == "__main__":
    main()
