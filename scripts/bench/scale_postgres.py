"""Runs `scale` on PostgreSQL: its own server on disk, with a small database and one that is ten times as large.

python -m scripts.bench.scale_postgres [--games N] [--entries N] [--folder FOLDER]
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.statements import DIALECT
from hkoji_server.store.postgres.store import PostgresStore, open_postgres

from scripts.bench import large
from scripts.bench.large_postgres import SETTINGS, TABLES, enlarge_postgres, fill_postgres, make_postgres
from scripts.bench.memory import server_seconds
from scripts.bench.scale import STOCK, TIMES, Held, audited, compare, options, planned, waiting_for
from tests.lab.races.judgement import asking
from tests.support.cluster import cluster
from tests.support.ledger import connected

_COLUMNS: Final = "SELECT column_name FROM information_schema.columns WHERE table_name = ?"
_KEYS: Final = ("game", "seq", "part")


def run(arguments: Sequence[str]) -> None:
    """Builds, measures and prints."""
    given = options(__doc__).parse_args(arguments)
    plan = planned(given.games, given.entries)
    made = large.stock(STOCK)
    with cluster(within=given.folder or Path("/var/tmp"), **SETTINGS) as server:
        small = make_postgres(server)
        began = time.monotonic()
        fill_postgres(server.url(small), plan, made)
        print(f"the small one was filled in {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        bigger = server.create(small)
        enlarge_postgres(server.url(bigger), TIMES)
        print(f"the large one was made in {time.monotonic() - began:.0f} s")
        measure_both({"small": server.url(small), "large": server.url(bigger)}, made, server.pid)


def measure_both(urls: dict[str, str], made: Sequence[large.Stock], server: int) -> None:
    """Measures two databases of the server with that process id, and prints."""
    for name, url in urls.items():
        _sizes(name, url)
    asyncio.run(_compare(urls, made, server))


async def _compare(urls: dict[str, str], made: Sequence[large.Stock], server: int) -> None:
    def spent() -> float:
        return time.process_time() + server_seconds(server)

    async with AsyncExitStack() as stack:
        both = {}
        for name, url in urls.items():
            store: PostgresStore = await open_postgres(parse_location(url))
            stack.push_async_callback(store.close)
            both[name] = Held(store, asking(url), spent, partial(_alone, url, server))
        await audited(both["large"].store, made)
        await compare(both)


def _alone(url: str, server: int, players: Sequence[str]) -> float:
    """The store's own statement, prepared; the server's time alone."""
    asked = [(text.encode(), values) for text, values in (waiting_for(DIALECT, player) for player in players)]
    with connected(url) as connection:
        for each in asked:
            connection.execute(*each, prepare=True).fetchall()
        started = server_seconds(server)
        for each in asked:
            connection.execute(*each, prepare=True).fetchall()
        return (server_seconds(server) - started) / len(players) * 1e6


def _sizes(name: str, url: str) -> None:
    """Prints the size of the tables with their indexes, and of their contents."""
    ask = asking(url)
    ((games, entries),) = ask("SELECT (SELECT count(*) FROM game), (SELECT count(*) FROM entry)", ())
    sums, sizes, indexes = {}, {}, {}
    for table in TABLES:
        columns = [
            row[0] for row in ask("SELECT column_name FROM information_schema.columns WHERE table_name = ?", (table,))
        ]
        kept = [each for each in columns if each not in _KEYS or (table, each) == ("game", "game")]
        lengths = " + ".join(
            f"coalesce({'octet_length' if 'sig' in each else 'length'}({each}{'' if 'sig' in each else '::text'}), 0)"
            for each in kept
        )
        ((sums[table],),) = ask(f"SELECT sum({lengths})::bigint FROM {table}", ())
        ((sizes[table], indexes[table]),) = ask(
            "SELECT pg_total_relation_size(?::regclass), pg_indexes_size(?::regclass)", (table, table)
        )
    size, payload = sum(sizes.values()), sum(sums.values())
    print(f"\n{name}: {games:,} games, {entries:,} entries, {size:,} bytes, of which indexes {sum(indexes.values()):,}")
    print(f"  a game {size / games:,.0f}, an entry {size / entries:,.0f}; {size / payload:.3f} of all tables' payload")
    print(
        f"  {size / sums['entry']:.3f} of texts, signatures and receipts alone ({sums['entry'] / entries:.0f} an entry)"
    )


if __name__ == "__main__":
    run(sys.argv[1:])
