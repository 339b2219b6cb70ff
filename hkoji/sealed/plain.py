"""The group in plain integers: it needs no library, so every reader can check proofs with it.

Its times depend on the numbers. So a program that makes proofs takes `sodium`.
"""

from __future__ import annotations

from hkoji.sealed import ristretto
from hkoji.sealed.group import coordinates
from hkoji.sealed.ristretto import ORDER


def combine(*terms: tuple[int, bytes]) -> bytes:
    """The sum of number · element for all terms, as `hkoji.sealed.group.Combine`."""
    return ristretto.encode(ristretto.multiply_add([(_nearest(number), coordinates(point)) for number, point in terms]))


def _nearest(number: int) -> int:
    """The number next to 0 that is the same modulo the order: so -1 takes one step, and not 252."""
    number %= ORDER
    return number - ORDER if number > ORDER // 2 else number
