"""Keeps a service under a fixed load and measures response times; on request it kills and restarts the service
meanwhile.

    python -m scripts.bench.fixed_load --rate 200 --seconds 20
    python -m scripts.bench.fixed_load --rate 100 --seconds 20 --kills 3      nothing acknowledged may be lost
    python -m scripts.bench.fixed_load --store postgres                       on its own PostgreSQL server

Requests begin at fixed times, however long earlier ones take: of ten, six are views, two logs, one a list and one a
move, signed ahead. Latency counts from the time at which a request was due, so that time spent waiting for other
requests is included. With --kills the process gets `kill -9` and is started again on the same files and port; requests
without an answer are sent again with the same bytes. At the end the database is read with plain SQL: every acknowledged
move must be there, to the byte, and no transaction may be incomplete (tests/support/ledger.py). Exits with 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import uvloop

from hkoji import referee
from hkoji.log.private_key import PrivateKey
from scripts.bench.memory import report_memory
from tests.lab.races.judgement import asking
from tests.support.cluster import cluster
from tests.support.ledger import Ledger, dumped, half_done, lines_told, lost
from tests.support.load import Pipe, Reply, connect, got, posted
from tests.support.service import Player, Service, begin, start


def plan(service: Service, host: Player, guest: Player, game: str) -> list[tuple[str, bytes]]:
    """Signed moves of a game's first round, in order, made ahead of time with a referee of the same seed."""
    ask = asking(service.database or service.data / "hkoji.sqlite3")
    ((seed,),) = ask("SELECT seed FROM secret WHERE game = ?", (game,))
    ((text,),) = ask("SELECT private_key FROM service", ())
    signer = PrivateKey.from_openssh(text.encode())
    refereed = referee.resume(host.lines(game), seed, ())
    bodies: list[tuple[str, bytes]] = []
    while refereed.course.state.round == 1 and refereed.course.actor is not None:
        mover = (host, guest)[refereed.course.actor]
        move = mover.make_move(refereed.course, refereed.course.state.legal_actions()[0])
        bodies.append((f"/v1/games/{game}/entries", json.dumps(move.to_json()).encode()))
        accepted = referee.accept(refereed, move, signer=signer, at=refereed.at)
        if len(accepted.lines) > 1:
            break  # the service's own entries carry its own time: later moves cannot be signed ahead
        refereed = accepted.refereed
    return bodies


_MIX: Final = ("view", "view", "log", "view", "list", "view", "move", "view", "log", "view")
_PIPES: Final = 16
_FILE: Final = "hkoji.sqlite3"


class Load:
    """Requests to one service, which may go away and come back."""

    def __init__(self, service: Service, players: tuple[Player, Player], plans: dict[str, list[tuple[str, bytes]]]):
        self.port = service.port
        self.players = players
        self.plans = {game: iter(plan) for game, plan in plans.items()}
        self.free = list(plans)
        self.games = list(plans)
        self.pipes: list[Pipe | None] = [None] * _PIPES
        self.ledger = Ledger()
        self.took: dict[str, list[float]] = defaultdict(list)
        self.wrong: list[str] = []
        self.again = 0

    async def ask(self, number: int, request: bytes) -> Reply:
        """Sends one request again and again until it is answered."""
        place = number % _PIPES
        while True:
            try:
                pipe = self.pipes[place] or await connect(self.port)
                self.pipes[place] = pipe
                reply = await pipe.ask(request)
            except OSError:
                self.pipes[place] = None
            else:
                if reply.status < 500:
                    return reply
            self.again += 1
            await asyncio.sleep(0.5)

    async def one(self, number: int, due: float) -> None:
        """Sends one request of the mix and keeps its answer."""
        what = _MIX[number % len(_MIX)]
        if what == "move":
            await self._move(number, due)
            return
        game = random.choice(self.games)
        token = self.players[number % 2].token
        paths = {"view": f"/v1/games/{game}/view?after=3", "log": f"/v1/games/{game}/log", "list": "/v1/games?limit=20"}
        reply = await self.ask(number, got(paths[what], token if what == "view" else ""))
        self.took[what].append(time.perf_counter() - due)
        if reply.status != 200:
            self.wrong.append(f"{what}: {reply.status} {reply.body[:200]!r}")

    async def _move(self, number: int, due: float) -> None:
        while self.free:
            game = self.free.pop(0)
            if (planned := next(self.plans[game], None)) is not None:
                break
        else:
            return
        path, body = planned
        self.ledger.sending(json.loads(body)["entry"])
        reply = await self.ask(number, posted(path, body))
        self.took["move"].append(time.perf_counter() - due)
        if reply.status not in (200, 201):
            self.wrong.append(f"move: {reply.status} {reply.body[:200]!r}")
            return
        self.ledger.add(lines_told(json.loads(reply.body)["lines"]))
        self.free.append(game)

    async def run(self, rate: float, seconds: float) -> None:
        """Runs the complete load."""
        tasks = []
        began = time.perf_counter()
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(self.one(number, due)))
        await asyncio.gather(*tasks)


def _prepared(service: Service, moves: int) -> tuple[tuple[Player, Player], dict[str, list[tuple[str, bytes]]]]:
    players = Player(service, "alice").register(), Player(service, "bob").register()
    plans: dict[str, list[tuple[str, bytes]]] = {}
    while sum(map(len, plans.values())) < moves:
        game = begin(*players)
        plans[game] = plan(service, *players, game)
    return players, plans


def _kills(count: int, seconds: float) -> Iterator[float]:
    return (seconds * (number + 1) / (count + 1) for number in range(count))


async def _loaded(service: Service, load: Load, rate: float, seconds: float, kills: int) -> Service:
    running = asyncio.create_task(load.run(rate, seconds))
    began = time.monotonic()
    for at in _kills(kills, seconds):
        await asyncio.sleep(max(0.0, began + at - time.monotonic()))
        await asyncio.to_thread(service.kill)
        service = await asyncio.to_thread(
            start, service.data, port=load.port, log_level="error", database=service.database
        )
    await running
    return service


def main() -> int:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=100, help="requests a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    random.seed(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="hkoji-load-"))
    stack = ExitStack()
    database = None
    if given.store == "postgres":
        server = stack.enter_context(cluster(within=Path(tempfile.gettempdir())))
        database = server.url(server.create())
    service = start(folder / "data", log_level="error", database=database)
    try:
        report_memory("idle", service.process.pid)
        players, plans = _prepared(service, int(given.rate * given.seconds / len(_MIX)) + 1)
        known = Ledger()
        for game in plans:
            log = players[0].service.ask("GET", f"/v1/games/{game}/log").body
            known.add(lines_told(map(json.loads, log.splitlines())))
        load = Load(service, players, plans)
        service = uvloop.run(_loaded(service, load, given.rate, given.seconds, given.kills))
        report_memory("after the load", service.process.pid)
        service.stop()
        dump = dumped(database or folder / "data" / _FILE)
        sent = {fact.row[0] for fact in known.facts} | load.ledger.sent
        facts = list(itertools.chain(known.facts, load.ledger.facts))
        wrong = [*load.wrong, *lost(dump, facts), *half_done(dump, sent.__contains__)]
    finally:
        service.kill()
        stack.close()
        shutil.rmtree(folder)
    print(f"{given.rate:g} requests a second for {given.seconds:g} s, {given.kills} kills; {load.again} asked again")
    for what, took in sorted(load.took.items()):
        p99 = quantiles(took, n=100)[98]
        print(f"  {what:6} {len(took):8,} answers   p50 {median(took) * 1000:8.1f} ms   p99 {p99 * 1000:8.1f} ms")
    print(f"{len(load.ledger.facts)} entries acknowledged; {len(wrong)} wrong")
    for complaint in wrong[:20]:
        print(f"  {complaint}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
