"""Damage to a file of lines as it stands: lines dropped, doubled or swapped, and single bytes changed."""

from __future__ import annotations

import random
from collections.abc import Callable


def damages(text: str, rng: random.Random, bytes_changed: int) -> list[str]:
    """The text with each line dropped, doubled or swapped with the next, and with single bytes changed."""
    count = text.count("\n")
    lines = [_WITH_LINE[way](text.splitlines(keepends=True), number) for number in range(count) for way in range(3)]
    return ["".join(some) for some in lines] + [_byte(text, rng) for _ in range(bytes_changed)]


def damage(text: str, rng: random.Random) -> str:
    """One of these, at random."""
    if rng.random() < 0.5:
        return _byte(text, rng)
    lines = text.splitlines(keepends=True)
    return "".join(rng.choice(_WITH_LINE)(lines, rng.randrange(len(lines))))


def _byte(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    return text[:place] + chr(rng.randrange(32, 127)) + text[place + 1 :]


_WITH_LINE: tuple[Callable[[list[str], int], list[str]], ...] = (
    lambda lines, number: lines[:number] + lines[number + 1 :],
    lambda lines, number: lines[:number] + lines[number : number + 1] * 2 + lines[number + 1 :],
    lambda lines, number: lines[:number] + lines[number : number + 2][::-1] + lines[number + 2 :],
)
