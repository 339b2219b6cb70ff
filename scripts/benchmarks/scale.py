"""Large databases: what reads, lists and moves cost with ten times as many entries, and with longer games.

    scripts/bench scale                                              200,000 entries against 20,000: a look at it
    scripts/bench scale --games 200000 --entries 10000000            against a tenth of that; 12 GB in the folder
    python -m scripts.benchmarks.scale --folder FOLDER --keep        the databases are left there, and used again

The smaller database is written in the order in which a service would (scripts/benchmarks/large.py), the larger one is
made of ten copies of it. Figures are microseconds, medians of interleaved rounds: of reads the processor time, which
other work on the machine disturbs little (the files are in the system's memory), of moves the time on the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from hkoji_server.store.contract import Append, Query, Store, Summary
from hkoji_server.store.sqlite import SqliteStore

from hkoji.game.audit import audit
from hkoji.log.line import Line, format_log
from scripts.benchmarks import large
from scripts.benchmarks.lengths import measure_lengths
from tests.support.table import new_game

_TIMES: Final = 10
_STOCK: Final = 160
_ROUNDS: Final = 9
_EACH: Final = 60
_TABLES: Final = ("entry", "opening", "game", "secret", "player")

Ask = Callable[[Store, str], Awaitable[object]]


def run(arguments: Sequence[str] = ()) -> None:
    """Builds, measures and prints."""
    parser = argparse.ArgumentParser(prog="scale", description=__doc__)
    parser.add_argument("--games", type=int, default=4_000)
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, help="where the databases are made")
    parser.add_argument("--keep", action="store_true", help="leave them there, and use those that are there")
    given = parser.parse_args(arguments)
    measure_lengths()
    if given.keep and given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        _measure(given.folder, given.games, given.entries)
        return
    with tempfile.TemporaryDirectory(prefix="hkoji-scale-", dir=given.folder) as name:
        _measure(Path(name), given.games, given.entries)


def _measure(folder: Path, games: int, entries: int) -> None:
    paths = {name: folder / f"{name}.sqlite3" for name in ("small", "large")}
    made = large.stock(_STOCK)
    if not paths["small"].exists():
        plan = large.Plan(games // _TIMES, entries // _TIMES, max(10, games // _TIMES // _TIMES))
        large.fill_sqlite(paths["small"], plan, made)
        _sizes(paths["small"])
    if not paths["large"].exists():
        large.enlarge_sqlite(paths["small"], paths["large"], _TIMES)
        connection = sqlite3.connect(paths["small"])
        connection.execute("VACUUM")  # as the other one is
        connection.close()
    for path in paths.values():
        _sizes(path)
    stores = {name: SqliteStore(path) for name, path in paths.items()}  # which brings them to the newest schema
    try:
        asyncio.run(_audit(stores["large"], made))
        asyncio.run(_compare(stores, paths))
    finally:
        for store in stores.values():
            store.close()


def _sizes(path: Path) -> None:
    """Prints what the file takes against what is in it."""
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


async def _audit(store: Store, made: Sequence[large.Stock]) -> None:
    """The stock is in there as it was played."""
    for given in made[:20]:
        result = audit(format_log(await store.lines(given.game)))
        assert result.ok, result.findings
    print(f"  {min(20, len(made))} games of the stock audited: they hold")


async def _compare(stores: dict[str, SqliteStore], paths: dict[str, Path]) -> None:
    chosen = {name: _sample(path) for name, path in paths.items()}
    busy = large.BUSY
    cursors = {name: _cursors(path) for name, path in paths.items()}

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
        "the last entry": lambda store, game: store.lines(game, places[game] - 1),
        "whole log (50 entries)": lambda store, game: store.lines(game),
        "log, openings and seed": lambda store, game: store.history(game),
    }
    places = {each.game: each.seq for games in chosen.values() for each in games}
    movers = {each.game: each.to_move or each.host or "" for games in chosen.values() for each in games}
    points["waiting for me"] = lambda store, game: store.games(Query(player=movers[game], waiting=True))
    points["a player's games"] = lambda store, game: store.games(Query(player=movers[game]))
    points["where a player's games stand"] = lambda store, game: store.places(movers[game], "2030", 1000)

    print(f"\n{'microseconds':40} {'small':>10} {'large':>10}   ratio")
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(_ROUNDS):
        for name, store in stores.items():
            games = random.sample([each.game for each in chosen[name]], _EACH)
            for what, point in points.items():
                taken.setdefault((what, name), []).append(await _time(store, games, point))
            for what, query in lists(name).items():
                taken.setdefault((what, name), []).append(await _time(store, games[:8], ask(query)))
            for what, at_once in (("a durable move, one at a time", 1), ("a durable move, 32 waiting", 32)):
                taken.setdefault((what, name), []).append(await _append(store, chosen[name], at_once))
            raw = _raw(paths[name], [movers[game] for game in games])
            taken.setdefault(("waiting for me, by the statement alone", name), []).append(raw)
    for what in dict.fromkeys(what for what, _ in taken):
        few, many = (median(taken[what, name]) for name in ("small", "large"))
        print(f"  {what:38} {few:10,.1f} {many:10,.1f}   {many / few:.2f}", flush=True)


async def _time(store: Store, games: Sequence[str], ask: Ask) -> float:
    started = time.thread_time()
    for game in games:
        await ask(store, game)
    return (time.thread_time() - started) / len(games) * 1e6


def _sample(path: Path) -> list[Summary]:
    """Games that go on, wherever they lie."""
    connection = sqlite3.connect(path)
    names = ", ".join(Summary.__dataclass_fields__)
    rows = connection.execute(
        f"SELECT {names} FROM game WHERE status = 'playing' AND to_move != ? ORDER BY random() LIMIT 2000",
        (large.BUSY,),
    )
    found = [Summary(*row) for row in rows]
    connection.close()
    return found


def _cursors(path: Path) -> tuple[str, str, str, str]:
    """Where pages in the middle and at the end begin: of all games, of the finished, of those of the busy player."""
    connection = sqlite3.connect(path)
    shown = "status != 'offered'"

    def cursor(which: str, offset: int) -> str:
        ((text,),) = connection.execute(
            f"SELECT created || '~' || game FROM game WHERE {which} ORDER BY created, game LIMIT 1 OFFSET ?", (offset,)
        )
        return str(text)

    ((count,),) = connection.execute(f"SELECT count(*) FROM game WHERE {shown}")
    found = (
        cursor(shown, count // 2),
        cursor(shown, 50),
        cursor("status = 'finished'", 50),
        cursor(f"host = '{large.BUSY}'", 50),
    )
    connection.close()
    return found


async def _append(store: SqliteStore, games: list[Summary], at_once: int) -> float:
    """Appends a line of a usual length to games of the sample, and remembers how far they have come."""
    each = 8
    places = random.sample(range(len(games)), at_once)

    async def append(place: int) -> None:
        for _ in range(each):
            game = games[place]
            entry = _LINE.entry._replace(game=game.game, seq=game.seq + 1)
            after = Summary(
                **{name: getattr(game, name) for name in Summary.__dataclass_fields__}
                | {"seq": game.seq + 1, "head": _LINE.entry.head}
            )
            lines = (Line(entry, _LINE.sig, _LINE.receipt),)
            await store.append(Append(game.game, game.seq, game.head, lines, (), after, outline=False))
            games[place] = after

    started = time.perf_counter()
    await asyncio.gather(*map(append, places))
    return (time.perf_counter() - started) / (each * at_once) * 1e6


_LINE: Final = new_game(1).play(1).lines[-1]


def _raw(path: Path, players: list[str]) -> float:
    """The statement of "waiting for me", given to the driver: its rows' ids."""
    connection = sqlite3.connect(path)
    statement = "SELECT game FROM game WHERE to_move = ? AND status != 'offered' ORDER BY created DESC LIMIT 50"
    for player in players:  # what is asked for is in memory
        connection.execute(statement, (player,)).fetchall()
    started = time.thread_time()
    for player in players:
        connection.execute(statement, (player,)).fetchall()
    took = time.thread_time() - started
    connection.close()
    return took / len(players) * 1e6


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
