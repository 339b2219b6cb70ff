"""Measures reads, lists and moves in large databases: with ten times as many entries, and with longer games.

    python -m scripts.bench.scale                                       a million entries against 100,000
    python -m scripts.bench.scale --games 200000 --entries 10000000     against a tenth of that; 12 GB in the folder
    python -m scripts.bench.scale --folder FOLDER --keep                leaves the databases there, and uses them again
    python -m scripts.bench.scale_postgres                              the same on its own PostgreSQL server

The smaller database is written in the order in which a service would write it (scripts/bench/large.py); the larger one
is made of ten copies of it. Figures are microseconds, medians of interleaved rounds: for reads the processor time,
which other work on the machine disturbs little (the files are in the system's memory), for moves also the time on the
clock. Processor time is that of the process that asks and, on PostgreSQL, of all processes of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from hkoji_server.store.contract import Store
from hkoji_server.store.game_lists import listed, statement_of, values_of
from hkoji_server.store.game_values import Append, GameSummary, Query
from hkoji_server.store.sql_steps import compiled
from hkoji_server.store.sqlite.connections import DIALECT
from hkoji_server.store.sqlite.store import SqliteStore
from sqlalchemy import Dialect

from hkoji.audit.log_audit import audit
from hkoji.log.line import Line, format_log
from scripts.bench import large
from scripts.bench.lengths import measure_lengths
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import NEVER_OLD
from tests.lab.races.judgement import Ask as AskPlainly
from tests.lab.races.judgement import asking
from tests.support.table import new_game

TIMES: Final = 10
STOCK: Final = 160
_ROUNDS: Final = 9
_EACH: Final = 60
POINTS: Final = (
    "head of a game",
    "summary of a game",
    "the last entry",
    "whole log (50 entries)",
    "log, openings and seed",
)
"""The point reads, as they are printed."""
_TABLES: Final = ("entry", "opening", "game", "secret", "player")

Ask = Callable[[Store, str], Awaitable[object]]


class Held(NamedTuple):
    """A database: as a store, as plain tables, and how to measure it."""

    store: Store
    plain: AskPlainly
    spent: Callable[[], float]
    """The processor time so far of all processes that work on it, in seconds."""
    alone: Callable[[Sequence[str]], float]
    """The time of the statement of "waiting for me" for each of these players, in microseconds of the database."""


def options(text: str | None) -> argparse.ArgumentParser:
    """The options for the size of the databases, and for where they are made."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--games", type=int, default=20_000)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the databases are made")
    return parser


def run(arguments: Sequence[str] = ()) -> None:
    """Builds, measures and prints."""
    parser = options(__doc__)
    parser.add_argument("--keep", action="store_true", help="leave them there, and use those that are there")
    given = parser.parse_args(arguments)
    measure_lengths()
    if given.keep and given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        _measure(given.folder, given.games, given.entries)
        return
    with tempfile.TemporaryDirectory(prefix="hkoji-scale-", dir=given.folder) as name:
        _measure(Path(name), given.games, given.entries)


def planned(games: int, entries: int) -> large.Plan:
    """The size of the smaller database, for a larger one of this size."""
    return large.Plan(games // TIMES, entries // TIMES, max(10, games // TIMES // TIMES))


def _measure(folder: Path, games: int, entries: int) -> None:
    paths = {name: folder / f"{name}.sqlite3" for name in ("small", "large")}
    made = large.stock(STOCK)
    if not paths["small"].exists():
        large.fill_sqlite(paths["small"], planned(games, entries), made)
        _sizes(paths["small"])
    if not paths["large"].exists():
        large.enlarge_sqlite(paths["small"], paths["large"], TIMES)
        connection = sqlite3.connect(paths["small"])
        connection.execute("VACUUM")  # the same as for the other
        connection.close()
    for path in paths.values():
        share = _sizes(path)
    record("size on disk, against the payload of the tables", Figure(share))
    stores = {name: SqliteStore(path) for name, path in paths.items()}  # opening it migrates it to the newest schema
    try:
        asyncio.run(audited(stores["large"], made))
        found = asyncio.run(
            compare(
                {
                    name: Held(store, asking(paths[name]), time.process_time, partial(_alone, paths[name]))
                    for name, store in stores.items()
                }
            )
        )
        _keep(found)
    finally:
        for store in stores.values():
            store.close()


def _keep(found: dict[str, tuple[float, float]]) -> None:
    """Keeps figures for the page, from the microseconds that each operation takes in the small and large database."""
    few, many = max((found[point] for point in POINTS), key=lambda each: each[1] / each[0])
    what = "point reads on ten times as many entries, the slowest: processor time"
    record(what, Figure(many, many / few, f"{shown(few)} µs"))
    for way in ("one at a time", "32 waiting"):
        few, many = found[f"a durable move, {way}"]
        record(f"durable move on ten times as many entries, {way}: time", Figure(many, many / few, f"{shown(few)} µs"))
    record("waiting for me, µs", Figure(found["waiting for me"][1]))
    record("waiting for me, the statement alone, µs", Figure(found["waiting for me, by the statement alone"][1]))


def _sizes(path: Path) -> float:
    """Prints the size of the file and of its contents, and returns the first divided by the second."""
    connection = sqlite3.connect(path)
    ((games, entries),) = connection.execute("SELECT (SELECT count(*) FROM game), (SELECT count(*) FROM entry)")
    sums = {}
    for table in _TABLES:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        kept = [each for each in columns if each not in ("game", "seq", "part") or (table, each) == ("game", "game")]
        lengths = " + ".join(f"coalesce(length({each}), 0)" for each in kept)
        ((sums[table],),) = connection.execute(f"SELECT sum({lengths}) FROM {table}")
    connection.close()
    size, payload = path.stat().st_size, sum(sums.values())
    print(f"\n{path.name}: {games:,} games, {entries:,} entries, {size:,} bytes")
    print(f"  a game {size / games:,.0f}, an entry {size / entries:,.0f}; {size / payload:.3f} of all tables' payload")
    print(
        f"  {size / sums['entry']:.3f} of texts, signatures and receipts alone ({sums['entry'] / entries:.0f} an entry)"
    )
    return float(size / payload)


async def audited(store: Store, made: Sequence[large.Stock]) -> None:
    """Checks that the stock is in the database as it was played."""
    for given in made[:20]:
        result = audit(format_log(await store.lines(given.game)))
        assert result.ok, result.findings
    print(f"  {min(20, len(made))} games of the stock audited: they hold")


async def compare(both: dict[str, Held]) -> dict[str, tuple[float, float]]:
    """Measures `small` and `large`, prints, and returns the microseconds that each operation takes in the two."""
    chosen = {name: _sample(held.plain) for name, held in both.items()}
    busy = large.BUSY
    cursors = {name: _cursors(held.plain) for name, held in both.items()}

    def lists(name: str) -> dict[str, Query]:
        middle, end, end_finished, end_busy = cursors[name]
        return {
            "all games, the newest": Query(),
            "all games, a page in the middle": Query(after=middle),
            "all games, the last page": Query(after=end),
            "playing, the newest": Query(status="playing"),
            "playing, the last page": Query(status="playing", after=end),
            "finished, the last page": Query(status="finished", after=end_finished),
            "open": Query(status="open"),
            "by prefix": Query(prefix=chosen[name][0].game[:8]),
            "a player with many games, the newest": Query(player=busy),
            "the same, the last page": Query(player=busy, after=end_busy),
            "the same, those that are open": Query(player=busy, status="open"),
            "the same, waiting for them": Query(player=busy, waiting=True),
        }

    def ask(query: Query) -> Ask:
        return lambda store, _: store.games(query)

    points: dict[str, Ask] = {
        "head of a game": lambda store, game: store.head(game),
        "summary of a game": lambda store, game: store.summary(game),
        "the last entry": lambda store, game: store.written(game, places[game] - 1),
        "whole log (50 entries)": lambda store, game: store.written(game),
        "log, openings and seed": lambda store, game: store.history(game),
    }
    places = {each.game: each.seq for games in chosen.values() for each in games}
    movers = {each.game: each.to_move or each.host or "" for games in chosen.values() for each in games}
    points["waiting for me"] = lambda store, game: store.games(Query(player=movers[game], waiting=True))
    points["a player's games"] = lambda store, game: store.games(Query(player=movers[game]))
    points["where a player's games stand"] = lambda store, game: store.places(movers[game], "2030", 1000, 100)

    print(f"\n{'microseconds':40} {'small':>10} {'large':>10}   ratio")
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(_ROUNDS):
        for name, held in both.items():
            games = random.choices([each.game for each in chosen[name]], k=_EACH)
            for what, point in points.items():
                taken.setdefault((what, name), []).append(await _time(held, games, point))
            for what, query in lists(name).items():
                taken.setdefault((what, name), []).append(await _time(held, games[:8], ask(query)))
            for what, at_once in (("a durable move, one at a time", 1), ("a durable move, 32 waiting", 32)):
                clock, spent = await _append(held, chosen[name], at_once)
                taken.setdefault((what, name), []).append(clock)
                taken.setdefault((f"{what}: processor", name), []).append(spent)
            alone = held.alone([movers[game] for game in games])
            taken.setdefault(("waiting for me, by the statement alone", name), []).append(alone)
    found = {}
    for what in dict.fromkeys(what for what, _ in taken):
        few, many = (median(taken[what, name]) for name in ("small", "large"))
        found[what] = few, many
        print(f"  {what:38} {few:10,.1f} {many:10,.1f}   {many / few:.2f}", flush=True)
    return found


async def _time(held: Held, games: Sequence[str], ask: Ask) -> float:
    started = held.spent()
    for game in games:
        await ask(held.store, game)
    return (held.spent() - started) / len(games) * 1e6


def _sample(plain: AskPlainly) -> list[GameSummary]:
    """Games in progress, from all over the database."""
    names = ", ".join(GameSummary._fields)
    rows = plain(
        f"SELECT {names} FROM game WHERE status = 'playing' AND to_move != ? ORDER BY random() LIMIT 2000",
        (large.BUSY,),
    )
    return [GameSummary(*row) for row in rows]


def _cursors(plain: AskPlainly) -> tuple[str, str, str, str]:
    """Where pages in the middle and at the end begin: of all games, of the finished, of the busy player's."""
    shown = "status != 'offered'"

    def cursor(which: str, most: int | None = None) -> str:
        ((count,),) = plain(f"SELECT count(*) FROM game WHERE {which}", ())
        place = count // 2 if most is None else min(most, count // 2)
        ((text,),) = plain(
            f"SELECT created || '~' || game FROM game WHERE {which} ORDER BY created, game LIMIT 1 OFFSET ?", (place,)
        )
        return str(text)

    return cursor(shown), cursor(shown, 50), cursor("status = 'finished'", 50), cursor(f"host = '{large.BUSY}'", 50)


async def _append(held: Held, games: list[GameSummary], at_once: int) -> tuple[float, float]:
    """Appends a line of usual length to games of the sample, and remembers their heads.

    Returns microseconds for each: on the clock, and of processor time.
    """
    each = 8
    places = random.sample(range(len(games)), at_once)

    async def append(place: int) -> None:
        for _ in range(each):
            game = games[place]
            entry = _LINE.entry._replace(game=game.game, seq=game.seq + 1)
            after = game._replace(seq=game.seq + 1, head=_LINE.entry.head)
            lines = (Line(entry, _LINE.sig, _LINE.receipt),)
            append = Append(
                game.game, game.seq, game.head, lines, (), after,
                outline=False, at=NEVER_OLD, outages=0, deadline=game.deadline,
            )  # fmt: skip
            await held.store.append(append)
            games[place] = after

    started, before = time.perf_counter(), held.spent()
    await asyncio.gather(*map(append, places))
    number = each * at_once
    return (time.perf_counter() - started) / number * 1e6, (held.spent() - before) / number * 1e6


_LINE: Final = new_game(1).play(1).lines[-1]


def waiting_for(dialect: Dialect, player: str) -> tuple[str, dict[str, Any]]:  # Any: column values
    """The store's statement of "waiting for me", and its parameters."""
    query = Query(player=player, waiting=True)
    return compiled(listed(statement_of(query)), dialect), values_of(query)


def _alone(path: Path, players: Sequence[str]) -> float:
    """The store's own statement, given to the driver."""
    connection = sqlite3.connect(path)
    asked = [waiting_for(DIALECT, player) for player in players]
    for each in asked:  # these rows are in memory afterwards
        connection.execute(*each).fetchall()
    started = time.thread_time()
    for each in asked:
        connection.execute(*each).fetchall()
    took = time.thread_time() - started
    connection.close()
    return took / len(players) * 1e6


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
