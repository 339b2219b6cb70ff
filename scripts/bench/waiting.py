"""Measures clients that wait: what each costs, how soon they are woken, and how much they slow moves.

    python -m scripts.bench.waiting --waiting 500
    python -m scripts.bench.waiting --waiting 10000 --moves 2000

A real `hkoji serve` runs on SQLite. This process holds the connections, half of them long polls (asked anew when they
are answered), half streams of events, spread over as many games as `--games`. Two players move in those games, one move
after another, first with nobody waiting and then with everybody. The time to wake a client is counted from the sending
of the move to its arrival at the first, and at the last, of the game's clients. Both ends share the machine.

Exits with 1 if a client did not learn of a move.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from tests.support.load import Wire
from tests.support.service import Player, Service, begin, serving

_POLL = 60


@dataclass
class Crowd:
    """The waiting clients: for each game their number, and when each learned of which entry."""

    port: int
    told: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    ready: int = 0
    failed: int = 0

    async def _ask(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return reader, writer

    async def stream(self, game: str, after: int) -> None:
        """One stream of events."""
        reader, _ = await self._ask(f"/v1/games/{game}/events?after={after}")
        while line := await reader.readline():
            if line.startswith(b"retry:"):
                self.ready += 1
            elif line.startswith(b"id: ") and int(line[4:]) > after:
                self.told.setdefault((game, int(line[4:])), []).append(time.perf_counter())
        self.failed += 1

    async def poll(self, game: str, after: int) -> None:
        """One long poll after another, on one connection."""
        reader, writer = await self._ask(f"/v1/games/{game}/log?after={after}&wait={_POLL}")
        await asyncio.sleep(0.1)
        self.ready += 1
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            body = await reader.readexactly(length)
            if not head.startswith(b"HTTP/1.1 200"):
                self.failed += 1
                return
            now = time.perf_counter()
            for _ in body.splitlines():
                after += 1
                self.told.setdefault((game, after), []).append(now)
            writer.write(f"GET /v1/games/{game}/log?after={after}&wait={_POLL} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


@dataclass
class Usage:
    """A process's use: processor seconds, resident kilobytes."""

    seconds: float
    kilobytes: int


def usage(service: Service) -> Usage:
    """The server process's use, from /proc."""
    folder = Path(f"/proc/{service.process.pid}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    (rss,) = [line for line in (folder / "status").read_text().splitlines() if line.startswith("VmRSS")]
    return Usage(ticks / 100, int(rss.split()[1]))


def move(wire: Wire, pair: tuple[Player, Player], game: str) -> tuple[int, float, float]:
    """Makes one move by the seat that must act.

    Returns its entry's number, and when it was sent and acknowledged; 0 if the game is over.
    """
    course = pair[0].course(game)
    if course.actor is None:
        return 0, 0.0, 0.0
    player = pair[course.actor]
    own = player.course(game)
    submission = player.make_move(own, random.choice(own.state.legal_actions()))
    body = submission.to_json()
    sent = time.perf_counter()
    answer = wire.ask("POST", f"/v1/games/{game}/entries", body)
    assert answer.status == 201, answer
    return submission.entry.seq, sent, time.perf_counter()


def moves(service: Service, pair: tuple[Player, Player], games: list[str], number: int) -> dict[tuple[str, int], float]:
    """Makes so many moves, in all games in turn. Returns when each was sent, and a line about their duration."""
    wire = Wire(lambda: service.port)
    sent: dict[tuple[str, int], float] = {}
    took: list[float] = []
    for turn in range(number):
        game = games[turn % len(games)]
        seq, began, ended = move(wire, pair, game)
        if seq:
            sent[game, seq] = began
            took.append(ended - began)
    wire.close()
    cuts = quantiles(took, n=100)
    print(f"    {len(took)} moves: p50 {median(took) * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms each")
    return sent


async def measure(service: Service, pair: tuple[Player, Player], games: list[str], given: argparse.Namespace) -> bool:
    """Runs the complete measurement."""
    crowd = Crowd(service.port)
    print("without anybody waiting")
    await asyncio.to_thread(moves, service, pair, games, given.moves)
    heads = {game: pair[0].head(game)[0] for game in games}
    before = usage(service)
    began = time.perf_counter()
    tasks = []
    for number in range(given.waiting):
        game = games[number % len(games)]
        wait = crowd.stream if number % 2 else crowd.poll
        tasks.append(asyncio.create_task(wait(game, heads[game])))
        while crowd.ready < number - 100:  # no faster than the server accepts them
            await asyncio.sleep(0.01)
    while crowd.ready < given.waiting:
        await asyncio.sleep(0.05)
    await asyncio.sleep(2)
    there = usage(service)
    print(f"{given.waiting} waiting, on {len(games)} games: there after {time.perf_counter() - began - 2:.1f} s")
    each = (there.kilobytes - before.kilobytes) / given.waiting
    print(f"    memory {each:.1f} KiB each, {there.kilobytes / 1024:.0f} MiB in all")
    await asyncio.sleep(given.idle)
    idle = usage(service)
    print(f"    idle: {(idle.seconds - there.seconds) / given.idle * 100:.1f} % of a processor, over {given.idle} s")
    sent = await asyncio.to_thread(moves, service, pair, games, given.moves)
    await asyncio.sleep(10)
    together = given.waiting // len(games)
    first = [min(times) - sent[key] for key, times in crowd.told.items() if key in sent]
    last = [max(times) - sent[key] for key, times in crowd.told.items() if key in sent]
    for name, took in (("the first", first), ("the last", last)):
        p99 = quantiles(took, n=100)[98]
        print(f"    {name} of a game's {together} is told: p50 {median(took) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms")
    missing = [key for key in sent if len(crowd.told.get(key, ())) < together]
    print(f"    {len(sent)} moves told to everybody who waited for them: {not missing and not crowd.failed}")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return not missing and not crowd.failed


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=500, help="clients that wait")
    parser.add_argument("--games", type=int, default=50, help="games that they wait for")
    parser.add_argument("--moves", type=int, default=100, help="moves, with them and without")
    parser.add_argument("--idle", type=float, default=20, help="seconds in which nothing happens")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random.seed(given.seed)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < given.waiting + 100:
        sys.exit(f"a process may have {most} files open here: too few for {given.waiting} clients")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data", log_level="warning") as service:
        pair = (Player(service, "alice").register(), Player(service, "bob").register())
        games = [begin(*pair) for _ in range(given.games)]
        good = asyncio.run(measure(service, pair, games, given))
    sys.exit(not good)


if __name__ == "__main__":
    main()
