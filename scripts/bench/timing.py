"""Interleaved timing: every contender in turn, several rounds, medians. A ratio is speed against the floor's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

Contender = Callable[[], int]
"""Does some work and returns how many units it did."""


def speeds(contenders: Mapping[str, Contender], rounds: int = 7) -> dict[str, float]:
    """Units a second of each contender: the median of `rounds` interleaved rounds."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            started = perf_counter()
            units = work()
            taken[name].append(units / (perf_counter() - started))
    return {name: median(values) for name, values in taken.items()}


def report(title: str, unit: str, found: Mapping[str, float], floor: str) -> None:
    """Prints speeds, and each one's ratio to the floor."""
    print(f"\n{title}")
    for name, speed in found.items():
        ratio = "floor" if name == floor else f"{speed / found[floor]:.2f} of the floor"
        print(f"  {name:44} {speed:12,.0f} {unit}   {ratio}", flush=True)
