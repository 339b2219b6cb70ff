"""`scripts/bench_engines`: random play by hkoji and by other engines, in turn, on the same core; medians and ratios.

Every engine is a process of its own that waits while another plays. What cannot be had is named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

_FLOOR: Final = "hkoji, Hanamikoji"
_HERE: Final = "scripts.benchmarks.engines"
_PACKAGES: Final = ("open-spiel", "rlcard", "multiset")


class Engine(NamedTuple):
    """A contender: its title, its driver's module, and the driver's arguments."""

    title: str
    module: str
    arguments: tuple[str, ...] = ()


class Checkout(NamedTuple):
    """An engine that is in no package index: where it is published, the commit meant, and its driver's module."""

    repository: str
    commit: str
    module: str


_OWN: Final = (
    Engine(_FLOOR, "hkoji", ("hanamikoji",)),
    Engine("hkoji, Geisha's Road", "hkoji", ("geishas-road",)),
)
_INSTALLED: Final = (
    Engine("OpenSpiel, hanabi", "openspiel", ("hanabi",)),
    Engine("OpenSpiel, hanabi, chance by NumPy", "openspiel", ("hanabi", "--numpy")),
    Engine("OpenSpiel, gin_rummy", "openspiel", ("gin_rummy",)),
    Engine("OpenSpiel, oh_hell", "openspiel", ("oh_hell",)),
    Engine("RLCard, uno", "cards", ("uno",)),
    Engine("RLCard, gin-rummy", "cards", ("gin-rummy",)),
)
_CHECKOUTS: Final = (
    Checkout("dfomin/hanamikoji-engine", "6216bcae757ac2d9f3c276482e893e1137289ca8", "dfomin"),
    Checkout("felixbauckholt/hanamikoji", "bbc321854b9a725f664cd27b3c3a274bd016f7d0", "bauckholt"),
    Checkout("jano-wol/hanamikoji", "19ea48628b46cfd15797a3524cd5160ac9e41428", "jano_wol"),
    Checkout("WillDinauer/Hanamikoji-Game", "f4aa0182c76600eb2849a512bdb501ad45ca3bfd", "dinauer"),
)


class Player:
    """A driver that has said it is ready."""

    def __init__(self, engine: Engine, python: Path) -> None:
        """Raises `RuntimeError` with the last line of what the driver said if it does not come up."""
        self.title = engine.title
        self.taken: list[tuple[float, float]] = []
        self._process = subprocess.Popen(
            [str(python), "-m", f"{_HERE}.{engine.module}", *engine.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if self._process.stdout.readline() != "ready\n":
            said = self._process.stderr.read().strip().splitlines() or ["nothing"]
            self._process.wait()
            raise RuntimeError(said[-1])

    def play(self, seconds: float) -> tuple[float, float]:
        """Games and decisions a second."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        return found["games"] / found["seconds"], found["decisions"] / found["seconds"]

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench_engines",
        description="Random play by hkoji and other engines: games and decisions a second on one core.",
    )
    parser.add_argument("--python", type=Path, help="the Python that has the other engines (made by the script)")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds of which medians are taken")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of an engine's turn in a round")
    parser.add_argument(
        "checkouts",
        nargs="*",
        metavar="OWNER/NAME=DIRECTORY",
        help="an engine from GitHub that you have checked out: " + ", ".join(c.repository for c in _CHECKOUTS),
    )
    return parser.parse_args(arguments)


def _engines(given: dict[str, str]) -> list[Engine]:
    """The engines to start; says which Hanamikoji engines no checkout was given for."""
    found = [*_OWN, *_INSTALLED]
    for repository, commit, module in _CHECKOUTS:
        if repository in given:
            found.append(Engine(repository, module, (str(Path(given.pop(repository)).resolve()),)))
        else:
            print(f"  left out: {repository} (check out commit {commit[:10]} and add {repository}=DIRECTORY)")
    if given:
        sys.exit(f"bench_engines: there is no driver for {', '.join(given)}")
    return found


def main(arguments: list[str]) -> None:
    """Starts the engines, lets them play in turn, prints the figures."""
    options = _parse(arguments)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; {_versions(options.python)}"
    )
    players: list[Player] = []
    for engine in _engines(dict(each.split("=", 1) for each in options.checkouts)):
        python = Path(sys.executable) if engine in _OWN else options.python
        try:
            if python is None:
                raise RuntimeError("it is not installed")
            players.append(Player(engine, python))
        except RuntimeError as error:
            print(f"  left out: {engine.title} ({error})")
    for player in players:
        player.play(options.seconds)  # to warm up
    for _ in range(options.rounds):
        for player in players:
            player.taken.append(player.play(options.seconds))
    for player in players:
        player.close()
    _report(players)


def _versions(python: Path | None) -> str:
    """Names and versions of the packages compared."""
    if python is None:
        return "no other engines"
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True
    ).stdout
    versions = {package["name"].replace("_", "-").lower(): package["version"] for package in json.loads(listed)}
    return ", ".join(f"{name} {versions.get(name, 'not installed')}" for name in _PACKAGES)


def _report(players: list[Player]) -> None:
    floor = next(player for player in players if player.title == _FLOOR)
    print(f"\n  {'random play':38} {'games/s':>10} {'decisions/s':>12} {'hkoji is faster by':>20}   lowest to highest")
    for player in players:
        games = median(g for g, _ in player.taken)
        decisions = median(d for _, d in player.taken)
        # The ratio of each round's two turns, which follow each other closely, then the median of those.
        pairs = zip(floor.taken, player.taken, strict=True)
        ratio = "" if player is floor else f"{median(f[1] / p[1] for f, p in pairs):.2f}"
        spread = f"{min(d for _, d in player.taken):,.0f} to {max(d for _, d in player.taken):,.0f}"
        print(f"  {player.title:38} {games:10,.0f} {decisions:12,.0f} {ratio:>20}   {spread}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
