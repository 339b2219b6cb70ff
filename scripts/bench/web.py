"""Measures pages of games: how many a second a process makes, and what readers of pages cost the players' moves.

    python -m scripts.bench web
    python -m scripts.bench.web --rounds 9

A reader asks for 20 pages a second, each of another game that is being played, compressed as browsers take them. Rounds
of moves with and without this reader take turns, with 16 connections, on a service with a core of its own; the order of
the two changes from pair to pair. The ratio is the median of the pairs' ratios of 99th percentiles, so that what else
the machine does in one round does not decide.
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from itertools import chain, cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from scripts.bench.floor import Floor
from scripts.bench.moves import KEY, Found, apart, one_round, playing
from scripts.bench.paced import paced
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import Prepared, prepare
from scripts.bench.volley import Fire, generator
from tests.support.service import Service

RATE: Final = 20
CONNECTIONS: Final = 16
_HEADERS: Final = {"Accept": "text/html", "Accept-Encoding": "gzip"}
Plan = Sequence[Sequence[Prepared]]


def _game(prepared: Prepared) -> str:
    return prepared.new.summary.game


def _reader(service: Service, games: Sequence[str]) -> AbstractContextManager[list[float]]:
    """Asks for `RATE` pages a second for the duration of a block. Yields how long each took."""
    following = cycle(games)
    return paced(service, RATE, lambda connection: _open(connection, f"/g/{next(following)}"))


def _open(connection: http.client.HTTPConnection, path: str) -> int:
    """Opens a page, and returns its size."""
    connection.request("GET", path, headers=_HEADERS)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (path, answer.status)
    return len(body)


def _speed(service: Service, paths: Sequence[str]) -> float:
    """How many of these pages the service sends a second, one at a time."""
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
        began = time.perf_counter()
        for path in paths:
            _open(connection, path)
        return len(paths) / (time.perf_counter() - began)


def _tell_speeds(service: Service, games: Sequence[str]) -> None:
    """Prints how fast pages are made, and how fast those are sent that are kept."""
    anew = [f"/g/{game}?at={seq}" for game in games[:60] for seq in (4, 9, 14)]
    made, kept = _speed(service, anew), _speed(service, [f"/g/{game}" for game in games[:20]] * 10)
    print(f"  {made:,.0f} pages/s, one at a time; {kept:,.0f} pages/s of those that are kept", flush=True)
    record("pages of games over HTTP, each made anew, a second", Figure(made, limits=False))
    record("the same, pages that are kept", Figure(kept, limits=False))


def _compare(
    service: Service, raw: Floor, fire: Fire, pairs: Sequence[tuple[Plan, Plan]], games: Sequence[str]
) -> None:
    without, beside = Found(), Found()
    took: list[float] = []
    tails: list[tuple[float, float]] = []
    for number, (first, second) in enumerate(pairs):
        for reads, plan in ((number % 2 == 1, first), (number % 2 == 0, second)):
            if not reads:
                one_round(service, raw, fire, plan, without)
                continue
            with _reader(service, games) as times:
                one_round(service, raw, fire, plan, beside)
            took += times
        size = len(without.latencies) // (number + 1)
        tails.append((_p99(beside.latencies[-size:]), _p99(without.latencies[-size:])))
    without.tell(CONNECTIONS)
    beside.tell(CONNECTIONS)
    one, two = (median(each) for each in zip(*tails, strict=True))
    ratio = median(with_ / without_ for with_, without_ in tails)
    print(
        f"  {len(took)} pages meanwhile, {median(took) * 1e3:.1f} ms each; p99 of moves {ratio:.2f} times", flush=True
    )
    floor = f"{shown(two * 1e3)} ms without"
    record(f"p99 of moves beside {RATE} pages a second, ms: time", Figure(one * 1e3, ratio, floor, limits=False))


def _p99(latencies: Sequence[float]) -> float:
    return quantiles(latencies, n=100)[98]


def run(rounds: int = 8, games: int = 4) -> None:
    """Prints and records the figures. Each connection plays `games` games a round."""
    print(f"\nPages of games, and moves beside {RATE} pages a second")
    prepared = prepare((2 * rounds + 1) * CONNECTIONS * games, KEY)
    rest = iter(prepared)
    plans = [[[next(rest) for _ in range(games)] for _ in range(CONNECTIONS)] for _ in range(2 * rounds + 1)]
    warm_up, *others = plans
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        playing(Path(name), prepared, unlimited=True) as (service, raw),
        apart(service.process.pid),
        generator() as fire,
    ):
        one_round(service, raw, fire, warm_up, Found())
        played = [_game(each) for each in chain(*warm_up)]
        _tell_speeds(service, played)
        pairs = list(zip(others[::2], others[1::2], strict=True))
        _compare(service, raw, fire, pairs, [_game(each) for each in prepared])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8, help="pairs of rounds, with and without a reader")
    parser.add_argument("--games", type=int, default=4, help="games a connection in each round, of twelve moves each")
    given = parser.parse_args()
    run(given.rounds, given.games)


if __name__ == "__main__":
    main()
