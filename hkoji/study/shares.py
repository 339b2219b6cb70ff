"""Shares with their confidence intervals, and distributions of whole numbers. This module knows no game."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import Any, Final, NamedTuple

Z95: Final = 1.959963984540054
"""The 97.5 % point of the normal distribution: two-sided 95 %."""


def wilson(part: float, total: int) -> tuple[float, float]:
    """Returns the 95 % Wilson score interval of `part` in `total`, which is at least one."""
    p, z = part / total, Z95
    middle = p + z * z / (2 * total)
    spread = z * sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


class Share(NamedTuple):
    """`part` of `total`."""

    part: int
    total: int

    @property
    def rate(self) -> float | None:
        """The share, from 0 to 1; None if the total is 0."""
        return self.part / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson score interval of the rate; None if the total is 0."""
        return wilson(self.part, self.total) if self.total else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns count, total, rate and interval; rates have six digits."""
        interval = self.interval
        return {
            "count": self.part,
            "total": self.total,
            "rate": None if self.rate is None else round(self.rate, 6),
            "interval95": None if interval is None else [round(each, 6) for each in interval],
        }


class Spread(NamedTuple):
    """A distribution of whole numbers: least, greatest, mean and median (the lower one of two)."""

    number: int
    least: int
    greatest: int
    mean: float
    median: int

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the five numbers."""
        return {
            "count": self.number,
            "min": self.least,
            "max": self.greatest,
            "mean": round(self.mean, 3),
            "median": self.median,
        }


def spread(numbers: Counter[int]) -> Spread | None:
    """Returns the distribution of counted numbers; None if there are none."""
    count = numbers.total()
    if not count:
        return None
    passed, median = 0, 0
    for number in sorted(numbers):
        passed += numbers[number]
        if 2 * passed >= count:
            median = number
            break
    total = sum(number * times for number, times in numbers.items())
    return Spread(count, min(numbers), max(numbers), total / count, median)


def three_digits(number: int) -> int:
    """Returns `number` with all but its first three digits zero: few different values, however long games last."""
    unit: int = 10 ** max(0, len(str(abs(number))) - 3)
    return number // unit * unit
