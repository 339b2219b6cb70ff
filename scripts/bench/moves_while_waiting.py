"""Measures moves a second while clients wait: for nothing, for entries of other games, and for those of the same games.

    python -m scripts.bench.moves_while_waiting --waiting 1000

The load is that of `scripts.bench.moves`, 32 connections. This process holds the waiting clients, half of them long
polls, half streams of events. They are spread over the games of the last part, and have to learn of every move there.
All share the machine, and the cost of the waiting clients in their own process is part of what slows the moves.

Exits with 1 if a client did not learn of a move.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
from pathlib import Path

from scripts.bench.floor import Floor
from scripts.bench.moves import KEY, Found, one_round, playing
from scripts.bench.prepared import Prepared, prepare
from scripts.bench.volley import Fire, generator
from scripts.bench.waiting import Crowd
from tests.support.service import Service

_CONNECTIONS = 32
_PARTS = ("nobody waits", "others' games are waited for", "these games are waited for")

Plans = list[list[list[Prepared]]]
"""For each round and connection, games."""


async def measure(service: Service, raw: Floor, fire: Fire, parts: list[Plans], waiting: int) -> bool:
    """Runs one part after the other; returns whether every waiting client learned of its moves."""
    crowd = Crowd(service.port)
    watched = [game for round_ in parts[-1] for plan in round_ for game in plan]
    tasks: list[asyncio.Task[None]] = []
    for name, part in zip(_PARTS, parts, strict=True):
        if name == _PARTS[1]:
            for number in range(waiting):
                summary = watched[number % len(watched)].begun[-1].summary
                wait = crowd.stream if number % 2 else crowd.poll
                tasks.append(asyncio.create_task(wait(summary.game, summary.seq)))
                while crowd.ready < number - 100:  # no faster than the server accepts them
                    await asyncio.sleep(0.01)
            while crowd.ready < waiting:
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)
        found = Found()
        for round_ in part:
            await asyncio.to_thread(one_round, service, raw, fire, round_, found)
        print(f"{name} ({0 if name == _PARTS[0] else waiting})")
        found.tell(_CONNECTIONS)
    await asyncio.sleep(5)
    lines = [sum(len(move.append.lines) for move in game.moves) for game in watched]
    expected = sum(lines[number % len(watched)] for number in range(waiting))
    told = sum(map(len, crowd.told.values()))
    print(f"  {told} of {expected} entries told, {crowd.failed} clients failed")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return told == expected and not crowd.failed


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=1000, help="clients that wait")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each part, after one that warms up")
    parser.add_argument("--games", type=int, default=3, help="games a connection in each round, of twelve moves each")
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    rounds = len(_PARTS) * given.rounds + 1
    games = prepare(rounds * _CONNECTIONS * given.games, KEY)
    rest = iter(games)
    warm_up, *plans = [[[next(rest) for _ in range(given.games)] for _ in range(_CONNECTIONS)] for _ in range(rounds)]
    parts = [plans[start :: len(_PARTS)] for start in range(len(_PARTS))]
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        playing(Path(name), games) as (service, raw),
        generator() as fire,
    ):
        one_round(service, raw, fire, warm_up, Found())
        good = asyncio.run(measure(service, raw, fire, parts, given.waiting))
    sys.exit(not good)


if __name__ == "__main__":
    main()
