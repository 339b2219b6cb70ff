"""Sequential halving: finds the move that is worth most by playing all of them out in the same sampled worlds.

After each of several passes the worse half is dropped, so that the last candidates are compared in the most worlds.
Playing all moves in the same worlds removes most of the luck from the comparison. This module knows no game.

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
    """The amount of work for a decision. It is counted, not timed, so that play is the same on every machine."""

    turns: int
    """The turns played in all playouts together; 0 to play the best move at a glance."""
    enough: int
    """The most worlds for a pass, however short the playouts."""
    width: int = 16
    """The number of moves that are tried: those that look best at a glance."""


def halve(
    moves: Sequence[str],
    effort: Effort,
    length: int,
    sample: Callable[[], World],
    worth: Callable[[str, World], float],
) -> str:
    """Returns the best of `moves`, which are given with the most promising first; a playout takes `length` turns.

    `sample` returns a world, `worth` the value of a move in it.
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
