"""A durable move in the store, and over HTTP with many connections, against a raw sqlite3 transaction of its bytes."""

from __future__ import annotations

import asyncio
import http.client
import json
import sqlite3
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles

from hkoji_server.service.games import summarise
from hkoji_server.store.contract import Append, NewGame
from hkoji_server.store.sqlite import SqliteStore

from hkoji.game import host as referee
from hkoji.log.keys import PrivateKey
from hkoji.log.line import Line
from scripts.benchmarks.measure import report, speeds
from tests.support.service import Player, Service, begin, serving
from tests.support.table import new_game

_MOVES = 1500


def _raw(folder: Path, line: Line) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "raw.sqlite3", isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = full")
    connection.execute("CREATE TABLE game (game TEXT PRIMARY KEY, seq INTEGER, head TEXT, summary TEXT) WITHOUT ROWID")
    connection.execute(
        "CREATE TABLE entry (game TEXT, seq INTEGER, text TEXT, sig BLOB, receipt TEXT, receipt_sig BLOB,"
        " PRIMARY KEY (game, seq)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO game VALUES (?, 0, ?, '')", (line.entry.game, "0" * 64))
    return connection


def run() -> None:
    """Prints moves a second, and the latency over HTTP."""
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name:
        folder = Path(name)
        table = new_game(1).play(1)
        line = table.lines[-1]
        assert line.receipt is not None
        text, receipt = line.entry.text, line.receipt.receipt.text
        connection = _raw(folder, line)
        place = 0

        def raw_move() -> int:
            nonlocal place
            for _ in range(_MOVES):
                assert line.receipt is not None
                connection.execute("BEGIN IMMEDIATE")
                changed = connection.execute(
                    "UPDATE game SET seq = ?, head = ?, summary = ? WHERE game = ? AND seq = ?",
                    (place + 1, line.entry.head, text[:200], line.entry.game, place),
                )
                assert changed.rowcount == 1
                connection.execute(
                    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)",
                    (line.entry.game, place + 1, text, line.sig, receipt, line.receipt.sig),
                )
                connection.execute("COMMIT")
                place += 1
            return _MOVES

        store = SqliteStore(folder / "store.sqlite3")
        games = _prepare(store)

        def store_moves(at_once: int) -> int:
            return asyncio.run(_append_all(store, games, at_once))

        contenders = {
            "raw sqlite3 move": raw_move,
            "store, one at a time": lambda: store_moves(1),
            "store, 32 waiting": lambda: store_moves(32),
        }
        report("A durable move in the store", "/s", speeds(contenders, 5), "raw sqlite3 move")
        store.close()
        _http(folder, speeds({"raw sqlite3 move": raw_move}, 5)["raw sqlite3 move"])
        connection.close()


def _prepare(store: SqliteStore) -> dict[str, int]:
    async def add() -> dict[str, int]:
        found = {}
        for seed in range(32):
            table = new_game(seed)
            summary = summarise(table.hosted, created=table.hosted.at)
            game = f"{seed:032x}"
            first = table.lines[0]
            entry = first.entry
            stored = Line(entry._replace(game=game), first.sig, first.receipt)
            await store.add_game(NewGame(replace(summary, game=game, seq=0, head="0"), stored, "0" * 64, "alice"))
            found[game] = 0
        return found

    return asyncio.run(add())


async def _append_all(store: SqliteStore, games: dict[str, int], at_once: int) -> int:
    table = new_game(1).play(1)
    line = table.lines[-1]
    summary = summarise(table.hosted, created="")
    each = _MOVES // at_once

    async def work(game: str) -> None:
        for _ in range(each):
            seq = games[game]
            entry = line.entry._replace(game=game, seq=seq + 1)
            head = "0" if seq == 0 else line.entry.head
            after = replace(summary, game=game, seq=seq + 1, head=line.entry.head)
            await store.append(
                Append(game, seq, head, (Line(entry, line.sig, line.receipt),), (), after, outline=False)
            )
            games[game] = seq + 1

    await asyncio.gather(*(work(game) for game in list(games)[:at_once]))
    return each * at_once


def _http(folder: Path, raw: float) -> None:
    """Real moves, signed beforehand, over kept connections."""
    with serving(folder / "http", log_level="error") as service:
        host, guest = Player(service, "alice").register(), Player(service, "bob").register()
        games = [begin(host, guest) for _ in range(64)]
        found: dict[int, tuple[float, float, float]] = {}
        for connections in (16, 32):
            plans = [_plan(service, host, guest, games.pop()) for _ in range(connections)]
            times: list[float] = []
            threads = [threading.Thread(target=_drive, args=(service.port, bodies, times)) for bodies in plans]
            started = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took = time.perf_counter() - started
            found[connections] = (len(times) / took, median(times), quantiles(times, n=100)[98])
        print("\nSigned durable moves over HTTP (the load is made by one Python process on the same two cores)")
        for connections, (speed, p50, p99) in found.items():
            print(
                f"  {connections} connections: {speed:,.0f} /s, {speed / raw:.2f} of {raw:,.0f} raw moves/s; "
                f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, p99/p50 {p99 / p50:.1f}"
            )


def _plan(service: Service, host: Player, guest: Player, game: str) -> list[tuple[str, bytes]]:
    """Signed moves of a game's first round, in order: made ahead of time with a referee of the same seed."""
    database = sqlite3.connect(service.data / "hkoji.sqlite3")
    (seed,) = database.execute("SELECT seed FROM secret WHERE game = ?", (game,)).fetchone()
    (text,) = database.execute("SELECT private_key FROM service").fetchone()
    database.close()
    signer = PrivateKey.from_openssh(text.encode())
    hosted = referee.resume(host.lines(game), seed, ())
    bodies: list[tuple[str, bytes]] = []
    while hosted.course.state.round == 1 and hosted.course.actor is not None:
        mover = (host, guest)[hosted.course.actor]
        move = mover.make_move(hosted.course, hosted.course.state.legal_actions()[0])
        bodies.append((f"/v1/games/{game}/entries", json.dumps(move.to_json()).encode()))
        accepted = referee.accept(hosted, move, signer=signer, at=hosted.at)
        if len(accepted.lines) > 1:
            break  # the service's own entries carry its own time: later moves cannot be signed ahead
        hosted = accepted.hosted
    return bodies


def _drive(port: int, bodies: list[tuple[str, bytes]], times: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for path, body in bodies:
        started = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        times.append(time.perf_counter() - started)
        assert response.status == 201
    connection.close()
