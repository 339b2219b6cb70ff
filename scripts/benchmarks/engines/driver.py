"""What every engine's driver has in common: it plays random games for as long as it is told, one line at a time.

A driver is a process of its own, run by the Python that has its engine, and of hkoji it needs but this file. It
writes `ready`; then for each line on stdin, a number of seconds, it plays whole games for at least so long and writes
one JSON line: games, decisions, and the seconds they took. Seconds are the processor's, so that other work on the
machine counts less. All drivers draw from the same generator in the same way, so that no engine pays for a slower one.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import TypeVar

Item = TypeVar("Item")

chance = random.Random(1)
_draw = chance.random


def pick(options: Sequence[Item]) -> Item:
    """One of `options`, each as likely as another (to 2^-53)."""
    return options[int(_draw() * len(options))]


def serve(play: Callable[[], int]) -> None:
    """Answers stdin till it ends. `play` plays one whole game and returns the number of players' decisions in it."""
    print("ready", flush=True)
    for line in sys.stdin:
        seconds = float(line)
        games = decisions = 0
        taken = 0.0
        started = process_time()
        while taken < seconds:
            decisions += play()
            games += 1
            taken = process_time() - started
        print(json.dumps({"games": games, "decisions": decisions, "seconds": taken}), flush=True)
