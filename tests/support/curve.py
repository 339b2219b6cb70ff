"""Slow arithmetic on edwards25519 from the definition (RFC 8032, section 5.1), to check the log's key rules."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

Point: TypeAlias = tuple[int, int]

FIELD: Final = 2**255 - 19
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
NEUTRAL: Final[Point] = (0, 1)
_D: Final = -121665 * pow(121666, -1, FIELD) % FIELD


def add(one: Point, other: Point) -> Point:
    """The sum of two points."""
    (x1, y1), (x2, y2) = one, other
    product = _D * x1 * x2 * y1 * y2 % FIELD
    inverse = pow(1 - product * product, -1, FIELD)  # of both denominators, 1 + product and 1 - product
    return (
        (x1 * y2 + x2 * y1) * (1 - product) * inverse % FIELD,
        (y1 * y2 + x1 * x2) * (1 + product) * inverse % FIELD,
    )


def times(factor: int, point: Point) -> Point:
    """`point` multiplied by `factor`."""
    total = NEUTRAL
    for bit in bin(factor)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def point_at(y: int) -> Point | None:
    """The point with this y and an even x, if there is one."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if (x * x - square) % FIELD:
        x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
    if (x * x - square) % FIELD:
        return None
    return (FIELD - x if x % 2 else x, y)


@cache
def small_order() -> frozenset[Point]:
    """The 8 points whose order divides 8."""
    for y in range(2, 1000):
        point = point_at(y)
        generator = times(ORDER, point) if point else NEUTRAL
        if times(4, generator) != NEUTRAL:
            return frozenset(times(n, generator) for n in range(8))
    raise AssertionError("half of all points have a part of order 8")


def encode_point(point: Point) -> bytes:
    """The canonical encoding."""
    x, y = point
    return (y | (x % 2) << 255).to_bytes(32, "little")


def encodings() -> dict[bytes, Point | None]:
    """Every non-canonical encoding of 32 bytes, with the point that a lenient decoder reads (None: no point)."""
    found: dict[bytes, Point | None] = {}
    for y in range(FIELD, 2**255):
        for sign in (0, 1):
            point = point_at(y - FIELD)
            found[(y | sign << 255).to_bytes(32, "little")] = point and (
                point[0] if not sign else -point[0] % FIELD,
                point[1],
            )
    for y in (1, FIELD - 1):
        found[(y | 1 << 255).to_bytes(32, "little")] = (0, y)
    return found
