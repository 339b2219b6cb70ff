"""Measures a durable move in the store against a raw sqlite3 transaction of the same rows in a file with the same
tables.

The moves are real ones of 128 games: every contender writes all of them, into a fresh copy of the file each round. The
store is used from an event loop of the kind that the service runs on.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeVar

from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append
from hkoji_server.store.sqlite.store import SqliteStore
from uvicorn import Config

from scripts.bench.floor import RawMoves, rows_of
from scripts.bench.moves import KEY, in_turn, make_database
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import prepare

_GAMES = 128
_ROUNDS = 5
_WAITING = 32

T = TypeVar("T")


def run() -> None:
    """Prints moves a second, and the processor time of each."""
    games = prepare(_GAMES, KEY)
    appends = [[move.append for move in game.moves] for game in games]
    number = sum(map(len, appends))
    rows = [rows_of(append) for append in in_turn(appends)]

    def raw(path: Path) -> tuple[float, float]:
        floor = RawMoves(path)
        started, spent = perf_counter(), process_time()
        floor.write(rows)
        took = perf_counter() - started, process_time() - spent
        floor.close()
        return took

    def stored(path: Path, at_once: int) -> tuple[float, float]:
        async def write() -> tuple[float, float]:
            started, spent = perf_counter(), process_time()
            await append_all(store, appends, at_once)
            return perf_counter() - started, process_time() - spent

        store = SqliteStore(path)
        try:
            return on_loop(write())
        finally:
            store.close()

    contenders: dict[str, Callable[[Path], tuple[float, float]]] = {
        "raw sqlite3 move": raw,
        "store, one at a time": partial(stored, at_once=1),
        f"store, {_WAITING} waiting": partial(stored, at_once=_WAITING),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as folder:
        master = Path(folder) / "master.sqlite3"
        make_database(master, games)
        for turn in range(_ROUNDS):
            for name, contender in contenders.items():
                copy = Path(folder) / f"{turn} {name}"
                copy.mkdir()
                took[name].append(contender(Path(shutil.copy(master, copy))))
                shutil.rmtree(copy)
    print(f"\nA durable move in the store ({number:,} moves, medians of {_ROUNDS} rounds; ratios of each round)")
    floor = took["raw sqlite3 move"]
    for name, each in took.items():
        ratio = median(raw_seconds / seconds for (seconds, _), (raw_seconds, _) in zip(each, floor, strict=True))
        spent = median(spent for _, spent in each) / number * 1e6
        speed = number / median(seconds for seconds, _ in each)
        print(
            f"  {name:24} {speed:8,.0f} /s   {ratio:.2f} of the floor   {spent:.0f} us of processor a move", flush=True
        )
        if each is not floor:
            raw_speed = number / median(seconds for seconds, _ in floor)
            way = name.removeprefix("store, ")
            record(f"durable move in the store, {way}", Figure(speed, ratio, f"{shown(raw_speed)} raw sqlite3 moves"))


def on_loop(work: Coroutine[Any, Any, T]) -> T:  # Any: nothing is sent to it
    """Runs an awaitable to its end, on a loop like the service's."""
    with asyncio.Runner(loop_factory=Config("").get_loop_factory()) as runner:
        return runner.run(work)


async def append_all(store: Store, games: Sequence[Sequence[Append]], at_once: int) -> None:
    """Appends all moves, with so many games at the same time."""
    rest = iter(games)

    async def work() -> None:
        for game in rest:
            for append in game:
                await store.append(append)

    if at_once == 1:  # in the order of the raw loop
        for append in in_turn(games):
            await store.append(append)
        return
    await asyncio.gather(*(work() for _ in range(at_once)))
