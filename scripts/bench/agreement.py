"""Measures what clocks cost: moves of games with an agreement, signed heads, and a look of the keeper.

Moves with and without a clock are made in turn, at one service, so that other work on the machine disturbs both alike.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.game.agreement import DAY, UNTIMED, Agreement, TimeControl
from scripts.bench.memory import server_seconds
from scripts.bench.moves import KEY, apart, playing
from scripts.bench.page import Figure, record, record_speed, shown
from scripts.bench.prepared import Prepared, prepare, requests
from scripts.bench.timing import report, speeds
from scripts.bench.views import HELLO
from scripts.bench.volley import Fire, generator
from tests.support.service import Player, Service, begin, serving

CLOCK: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY), rated=True)
_KINDS: Final = {"without a clock": UNTIMED, "with an agreement": CLOCK}
_CONNECTIONS: Final = 16
_GAMES: Final = 4
_ROUNDS: Final = 9
_REQUESTS: Final = 400
_MANY: Final = 1_000_000
_OVERDUE: Final = 10
_LOOKS: Final = 21


def run() -> None:
    """Prints all three."""
    measure_moves()
    measure_heads()
    measure_looks()


def measure_moves(rounds: int = _ROUNDS) -> float:
    """Prints moves a second of both kinds of games. Returns how many times as long a move with an agreement takes."""
    number = _CONNECTIONS * _GAMES * (rounds + 1)
    games = {
        kind: prepare(number, KEY, first=at * number, agreement=agreement)
        for at, (kind, agreement) in enumerate(_KINDS.items())
    }
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in games}
    every = [game for each in games.values() for game in each]
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        playing(Path(name), every) as (service, _),
        apart(service.process.pid),
        generator() as fire,
    ):
        for turn in range(rounds + 1):
            kinds = list(games)
            for kind in kinds if turn % 2 else kinds[::-1]:
                first = turn * _CONNECTIONS * _GAMES
                taken = _fire(service, fire, games[kind][first : first + _CONNECTIONS * _GAMES])
                if turn:  # the first round warms up
                    found[kind].append(taken)
    plain, timed = found.values()
    print(f"\nMoves of games with and without a clock, {_CONNECTIONS} connections")
    for kind, them in found.items():
        print(f"  {kind:20} {1 / median(each[0] for each in them):8,.0f} moves/s; "
              f"server {median(each[1] for each in them) * 1e6:.0f} us of processor a move")  # fmt: skip
    pairs = list(zip(timed, plain, strict=True))
    whole = median(one[0] / other[0] for one, other in pairs)
    processor = median(one[1] / other[1] for one, other in pairs)
    print(f"  a move with an agreement takes {whole:.3f} times as long, and {processor:.3f} times the processor")
    speeds_of = [1 / median(each[0] for each in them) for them in (timed, plain)]
    floor = f"{shown(speeds_of[1])} moves without a clock"
    what = f"a move with an agreement, {_CONNECTIONS} connections, against one without a clock"
    record(what, Figure(speeds_of[0], 1 / whole, floor, limits=True))
    return whole


def _fire(service: Service, fire: Fire, games: Sequence[Prepared]) -> tuple[float, float]:
    """Makes all moves of these games. Returns seconds, and seconds of the server's processor, a move."""
    plans = [games[each::_CONNECTIONS] for each in range(_CONNECTIONS)]
    number = sum(len(game.moves) for game in games)
    before = server_seconds(service.process.pid)
    fired = fire(service.port, [[request for game in plan for request in requests(game)] for plan in plans])
    return fired.seconds / number, (server_seconds(service.process.pid) - before) / number


def measure_heads() -> None:
    """Prints signed heads a second on one connection, against a FastAPI application that says hello."""
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        serving(Path(name) / "data", log_level="error") as service,
    ):
        (Path(name) / "hello.py").write_text(HELLO)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        hello = subprocess.Popen([sys.executable, str(Path(name) / "hello.py"), str(port)])
        try:
            host, guest = Player(service, "alice").register(), Player(service, "bob").register()
            game = begin(host, guest, agreement=CLOCK)
            time.sleep(1)

            def ask(port: int, path: str) -> int:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                for _ in range(_REQUESTS):
                    connection.request("GET", path)
                    response = connection.getresponse()
                    response.read()
                    assert response.status == 200
                connection.close()
                return _REQUESTS

            found = speeds(
                {
                    "FastAPI hello": lambda: ask(port, "/"),
                    "signed head": lambda: ask(service.port, f"/v1/games/{game}/head"),
                    "what the clocks show": lambda: ask(service.port, f"/v1/games/{game}/clock"),
                }
            )
            report("Heads and clocks over HTTP", "/s", found, "FastAPI hello")
            record_speed("signed head over HTTP", found, "signed head", "FastAPI hello", limits=False)
        finally:
            hello.terminate()
            hello.wait()


def measure_looks() -> None:
    """Prints how long a keeper looks at many games of which a few are overdue, and put off."""
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name:
        path = Path(name) / "hkoji.sqlite3"
        SqliteStore(path).close()
        _enlarge(path)
        store = SqliteStore(path)
        try:
            took = asyncio.run(_look(store))
        finally:
            store.close()
    print(f"\nA look of the keeper at {_MANY:,} games, {_OVERDUE} overdue: {took * 1000:.2f} ms")
    record(f"a look of the keeper at {_MANY:,} games, {_OVERDUE} overdue, ms", Figure(took * 1000))


async def _look(store: SqliteStore) -> float:
    sources, held = ClockAndEntropy(), LoadedGames(store, 10)
    service_time = ServiceTime(store, sources, outage_after=3600)
    failed: list[None] = []
    keeper = Keeper(store, held, service_time, sources, KEY, slack=120, failed=lambda: failed.append(None))
    await keeper.look()  # the overdue games have no log, so they cannot be ended: they are put off
    assert len(failed) == _OVERDUE
    took = []
    for _ in range(_LOOKS):
        await asyncio.sleep(1.1)  # a second look within a second would not ask the store whether it is drained
        started = time.perf_counter()
        await keeper.look()
        took.append(time.perf_counter() - started)
    return median(took)


def _enlarge(path: Path) -> None:
    """Adds games with deadlines far away, and a few that are overdue."""
    connection = sqlite3.connect(path)
    values = {
        "game": "printf('%032x', n)",
        "ruleset": "'{}'",
        "status": "'playing'",
        "host": "printf('host-%d', n % 5000)",
        "guest": "printf('guest-%d', n % 5000)",
        "seq": "6",
        "head": "printf('%064x', n)",
        "round": "1",
        "actor": "0",
        "to_move": "printf('host-%d', n % 5000)",
        "created": "printf('2026-01-01T%02d:%02d:%02dZ', n % 24, n % 60, n % 59)",
        "updated": "'2026-01-02T00:00:00Z'",
        "agreement": "'{}'",
        "way": "'http'",
        "look_at": f"iif(n <= {_OVERDUE}, '2026-01-05T00:00:00Z', printf('2999-01-%02dT00:00:00Z', n % 28 + 1))",
    }
    values["deadline"] = values["look_at"]
    connection.execute(
        f"WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {_MANY})"
        f" INSERT INTO game ({', '.join(values)}) SELECT {', '.join(values.values())} FROM number"
    )
    connection.commit()
    connection.close()
