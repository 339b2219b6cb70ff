"""Measures `hkoji move` in sealed games against the same moves of other games, each command in a process of its own.

Two games of the same rules are played side by side at one service, with the same kinds of moves. The fourth action of a
player, which brings a lock, is counted by itself.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from scripts.bench.command import shell
from scripts.bench.page import Figure, record, shown
from tests.support.service import serving

_GAMES = 6
_PLAYERS = ("alice", "bob")


def run() -> None:
    """Prints how long moves take in both sorts of games, with a lock and without, and the ratios."""
    taken: dict[tuple[bool, bool], list[float]] = {
        (lock, sealed): [] for lock in (False, True) for sealed in (False, True)
    }
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name, serving(Path(name) / "data") as service:
        homes = [Path(name) / who for who in _PLAYERS]
        for home in homes:
            shell(home, "init", home.name)
            shell(home, "register", "--server", service.url)
        for _ in range(_GAMES):
            _play(homes, taken)
    print("\nMoves by hkoji move")
    for lock, words in ((False, "a move without a lock"), (True, "a move with a lock")):
        plain, sealed = (median(taken[lock, kind]) for kind in (False, True))
        print(
            f"  {words}: {sealed * 1000:.0f} ms, {sealed / plain:.2f} times as long as {plain * 1000:.0f} ms",
            flush=True,
        )
        record(f"`hkoji move`, {words}: time", Figure(1 / sealed, sealed / plain, f"{shown(1 / plain)} the same move"))


def _play(homes: list[Path], taken: dict[tuple[bool, bool], list[float]]) -> None:
    """Plays the first round of one game of each sort; the moves take turns."""
    games = [_begin(homes, *more) for more in ((), ("--sealed",))]
    actions = [0, 0]
    while True:
        positions = [_due(homes, game) for game in games]
        if any(found["round"] > 1 or found["status"] == "finished" for _, found in positions):
            return
        (seat, found), _ = positions
        acts = found["due"] == "act"
        lock = acts and actions[seat] == len(homes) + 1
        actions[seat] += acts
        for sealed, (mover, shows) in zip((False, True), positions, strict=True):
            move = min(shows["legal"])
            started = perf_counter()
            shell(homes[mover], "move", games[sealed], move)
            taken[lock, sealed].append(perf_counter() - started)


def _begin(homes: list[Path], *more: str) -> str:
    game = shell(homes[0], "new", "--first", "host", *more).splitlines()[0]
    shell(homes[1], "join", game, *more)
    shell(homes[0], "show", game)
    return game


def _due(homes: list[Path], game: str) -> tuple[int, dict[str, Any]]:  # Any: JSON
    """Returns the seat that must decide, and what it sees. Both look until all is sent that programs send alone."""
    for _ in range(10):
        for seat, home in enumerate(homes):
            found = json.loads(shell(home, "show", game, "--json"))
            if found["legal"] or found["status"] == "finished":
                return seat, found
    raise subprocess.SubprocessError("nobody can move")
