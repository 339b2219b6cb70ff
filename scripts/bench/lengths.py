"""Measures a move, a view and a log in short games and in very long ones: use cases, store, and the answer's bytes."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from typing import Final

from hkoji_server.routes.answer_json import view_bytes, view_with
from hkoji_server.routes.games import JSON_LINES
from hkoji_server.routes.plain import tagged_answer
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.loaded_games import LoadedGames, summarise
from hkoji_server.service.games.parts import make_game_parts
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.game_values import Append, NewGame
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.game.course import Stage
from hkoji.log.line import format_stored
from scripts.bench.prepared import NEVER_OLD
from tests.support.table import AT, Table, new_game

_LENGTHS: Final = (20, 200, 2_000)
_ROUNDS: Final = 5
_MOVES: Final = 4


def long_game(entries: int, seed: int = 1) -> Table:
    """A running game with at least so many entries; a round that would end it is played again differently."""
    table = new_game(seed)
    while len(table.lines) < entries:
        refereed, count = table.refereed, len(table.lines)
        number = table.course.state.round
        while table.course.stage is Stage.PLAY and table.course.state.round == number and len(table.lines) < entries:
            table.play(1)
        if table.course.stage is not Stage.PLAY:
            table.refereed, table.lines = refereed, table.lines[:count]
    return table


def measure_lengths() -> None:
    """Prints milliseconds of processor time, which other work on the machine disturbs little."""
    with tempfile.TemporaryDirectory(prefix="hkoji-lengths-") as name:
        asyncio.run(_measure(Path(name)))


async def _log(views: GameViews, game: str, after: int) -> None:
    head, lines = await views.log(game, after)
    tagged_answer({"headers": []}, head, "".join(f"{format_stored(each)}\n" for each in lines), JSON_LINES)


async def _view(views: GameViews, game: str, player: str, after: int) -> None:
    body, lines = await views.view(game, player, after, view_bytes)
    view_with(body, lines, None, "")


async def _measure(folder: Path) -> None:
    store = SqliteStore(folder / "hkoji.sqlite3")
    found: dict[str, dict[int, list[float]]] = {}
    tables = {length: long_game(length, seed) for seed, length in enumerate(_LENGTHS)}
    for table in tables.values():
        await _keep(store, table)
    for _ in range(_ROUNDS):
        for length, table in tables.items():
            settings, sources, limits = Settings(data=folder, cached_games=10), ClockAndEntropy(), RateLimits()
            clock = ServiceTime(store, sources, outage_after=180)
            parts = make_game_parts(store, settings, clock, sources, table.server, origin="", limits=limits)
            held, games = parts.held, parts.games
            views = GameViews(store, held, clock, sources, table.server, cached=10)
            game, names, last = table.game, table.names, table.course.seq - 1
            timings = {
                "whole log": await _time(_log(views, game, -1)),
                "log, the last entry": await _time(_log(views, game, last)),
                "own view, first look at the game": await _time(_view(views, game, names[0], last)),
                "own view, game seen before": await _time(_view(views, game, names[1], last)),
                "own view again": await _time(_view(views, game, names[0], last)),
                "own view with the whole log": await _time(_view(views, game, names[0], -1)),
                "a move": await _moves(games, held, table),
            }
            for what, took in timings.items():
                if took is not None:
                    found.setdefault(what, {}).setdefault(length, []).append(took)
    store.close()
    print(f"\n{'milliseconds, in a game of':40}" + "".join(f"{length:>10,} entries" for length in _LENGTHS))
    for what, by_length in found.items():
        print(f"  {what:38}" + "".join(f"{median(by_length[length]) * 1000:18,.2f}" for length in _LENGTHS))


async def _keep(store: SqliteStore, table: Table) -> None:
    """Puts a game into the store in its current state."""
    summary = summarise(table.refereed, created=AT)
    first, last = table.lines[0], table.lines[-1].entry
    await store.add_game(NewGame(summary, first, table.server_seed, table.names[0], NEVER_OLD, outages=0))
    await store.append(
        Append(
            table.game,
            last.seq,
            last.head,
            tuple(table.lines[1:]),
            table.refereed.openings,
            summary,
            outline=True,
            at=NEVER_OLD,
            outages=0,
            deadline=None,
        )
    )


async def _moves(games: Games, held: LoadedGames, table: Table) -> float | None:
    """Makes a move: refereed, stored, acknowledged.

    Moves to which the service adds entries are made and not counted.
    """
    took = []
    for _ in range(_MOVES):
        refereed, count = table.refereed, len(table.lines)
        move = table.move(table.random.choice(table.course.state.legal_actions()))
        brought = table.send(move)
        over = table.course.stage is not Stage.PLAY
        table.refereed, table.lines = refereed, table.lines[:count]
        if over:
            break
        started = time.process_time()
        accepted = await games.submit(table.game, move)
        if len(brought) == 1:
            took.append(time.process_time() - started)
        table.refereed = (await held.current(table.game)).refereed
        table.lines += accepted.lines
    return median(took) if took else None


async def _time(asked: Awaitable[object]) -> float:
    started = time.process_time()
    await asked
    return time.process_time() - started
