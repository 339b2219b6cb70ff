"""Sequential halving: which of some moves is worth most, by playing all of them out in the same sampled worlds.

After each of several passes the worse half goes, so that the last ones left are compared in the most worlds. That all
see the same worlds takes most of the luck out of the comparison. It knows no game.

Source: Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed Bandits" (2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import TypeVar

World = TypeVar("World")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work a decision gets: it is counted, not timed, so that play is the same everywhere."""

    turns: int
    """Turns played in all playouts together; 0 to play the best move at a glance."""
    enough: int
    """Worlds that a pass needs at most, however short the playouts."""
    width: int = 16
    """Moves that are tried at all, the best at a glance."""


def halve(
    moves: Sequence[str],
    effort: Effort,
    length: int,
    sample: Callable[[], World],
    worth: Callable[[str, World], float],
) -> str:
    """The best of `moves`, the likeliest first; a playout takes `length` turns.

    `sample` gives a world, `worth` what a move brings in it.
    """
    tried = list(moves)
    won = dict.fromkeys(tried, 0.0)
    share = effort.turns // (ceil(log2(len(tried))) or 1)
    while len(tried) > 1:
        for _ in range(min(effort.enough, max(1, share // (max(1, length) * len(tried))))):
            world = sample()
            for move in tried:
                won[move] += worth(move, world)
        tried = sorted(tried, key=lambda move: -won[move])[: (len(tried) + 1) // 2]
    return tried[0]
