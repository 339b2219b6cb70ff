"""Measures what the proofs of sealed games cost the players of other games.

    python -m scripts.bench.moves_beside_sealed
    python -m scripts.bench.moves_beside_sealed --pairs 12 --with-sealed 5

During every other round, hosts open sealed games at an even pace: each entry brings a lock, which is checked. Rounds
of moves with and without them take turns, with 16 connections, on a service with a core of its own; the order of the
two changes from pair to pair. The process that checks proofs is placed by the system. The ratio is the median of the
pairs' ratios of 99th percentiles, so that what else the machine does in one round does not decide.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from scripts.bench.floor import Floor
from scripts.bench.moves import KEY, Found, apart, one_round, playing
from scripts.bench.paced import paced
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import Prepared, prepare
from scripts.bench.volley import Fire, generator
from tests.support.sealed_service import ServedTable
from tests.support.service import Player, Service

RATE: Final = 5
_CONNECTIONS: Final = 16
_SECONDS: Final = 10
"""A round takes less."""
_JSON: Final = {"Content-Type": "application/json"}
_ALL_CORES: Final = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()
Plan = Sequence[Sequence[Prepared]]
Opening = tuple[str, bytes]
"""The address and the body of the request that opens a game."""


def _openings(service: Service, number: int) -> Iterator[Opening]:
    """Signed entries that open sealed games, each of another host."""
    for each in range(number):
        host = Player(service, f"sealed-{each}").register()
        table = ServedTable((host, host), Hanamikoji(), each)
        _, body, _ = table.due()
        sent = host.entry(table.game, (0, table.course.head), body)
        yield f"/v1/games/{table.game}/entries", json.dumps(sent.to_json()).encode()


def _opening(service: Service, openings: Iterator[Opening], rate: int) -> AbstractContextManager[list[float]]:
    """Opens `rate` games a second for the duration of a block. Yields how long each took, in seconds."""

    def send(connection: http.client.HTTPConnection) -> None:
        path, body = next(openings)
        connection.request("POST", path, body, _JSON)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201, answer.status

    return paced(service, rate, send)


def _place_by_system(service: Service) -> None:
    """Lets the process that checks proofs run on all cores."""
    for path in Path(f"/proc/{service.process.pid}/task").glob("*/children") if _ALL_CORES else ():
        for child in path.read_text().split():
            os.sched_setaffinity(int(child), _ALL_CORES)


def _compare(
    service: Service,
    raw: Floor,
    fire: Fire,
    pairs: Sequence[tuple[Plan, Plan]],
    openings: Iterator[Opening],
    rate: int,
) -> float:
    without, beside = Found(), Found()
    took: list[float] = []
    tails: list[tuple[float, float]] = []
    for number, (first, second) in enumerate(pairs):
        for opens, plan in ((number % 2 == 1, first), (number % 2 == 0, second)):
            if not opens:
                one_round(service, raw, fire, plan, without)
                continue
            with _opening(service, openings, rate) as times:
                one_round(service, raw, fire, plan, beside)
            took += times
        size = len(without.latencies) // (number + 1)
        tails.append((_p99(beside.latencies[-size:]), _p99(without.latencies[-size:])))
    without.tell(_CONNECTIONS)
    beside.tell(_CONNECTIONS)
    one, two = (median(each) for each in zip(*tails, strict=True))
    ratios = sorted(with_ / without_ for with_, without_ in tails)
    print(
        f"  {len(took)} games opened meanwhile, {median(took) * 1e3:.0f} ms each; p99 of moves {median(ratios):.2f}"
        f" times ({ratios[0]:.2f} to {ratios[-1]:.2f} in {len(ratios)} pairs)",
        flush=True,
    )
    if rate == RATE:
        figure = Figure(one * 1e3, median(ratios), f"{shown(two * 1e3)} ms without", limits=False)
        record(f"p99 of moves beside {RATE} locks a second, ms: time", figure)
    return median(ratios)


def _p99(latencies: Sequence[float]) -> float:
    return quantiles(latencies, n=100)[98]


def run(pairs: int = 6, games: int = 10, rate: int = RATE) -> float:
    """Prints and records the ratio, and returns it. Each connection plays `games` games a round."""
    print(f"\nMoves beside {rate} locks of sealed games a second")
    prepared = prepare((2 * pairs + 1) * _CONNECTIONS * games, KEY)
    rest = iter(prepared)
    plans = [[[next(rest) for _ in range(games)] for _ in range(_CONNECTIONS)] for _ in range(2 * pairs + 1)]
    warm_up, *others = plans
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        playing(Path(name), prepared, unlimited=True) as (service, raw),
        generator() as fire,
    ):
        openings = iter([*_openings(service, 1 + pairs * rate * _SECONDS)])
        with apart(service.process.pid):
            with _opening(service, openings, rate) as begun:
                while not begun:
                    time.sleep(0.1)
            _place_by_system(service)
            one_round(service, raw, fire, warm_up, Found())
            return _compare(service, raw, fire, list(zip(others[::2], others[1::2], strict=True)), openings, rate)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6, help="pairs of rounds, with and without locks")
    parser.add_argument("--games", type=int, default=10, help="games a connection in each round, of twelve moves each")
    parser.add_argument("--with-sealed", type=int, default=RATE, help="locks a second")
    given = parser.parse_args()
    run(given.pairs, given.games, given.with_sealed)


if __name__ == "__main__":
    main()
