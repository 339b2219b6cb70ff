"""Slow arithmetic on edwards25519 (RFC 8032, section 5.1), and signatures that only the holder of a key can make.

An honest signer makes none of them. Slow arithmetic (tests/support/curve.py); the formulas are RFC 8032's, section 5.1.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha512
from typing import Final, NamedTuple, TypeAlias

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


_base = point_at(4 * pow(5, -1, FIELD) % FIELD)
assert _base
BASE: Final = _base


class SignedBytes(NamedTuple):
    """A public key, what claims to be its signature, and the signed bytes."""

    public: bytes
    signature: bytes
    data: bytes


def scalar(seed: bytes) -> int:
    """The secret number of a private key."""
    number = int.from_bytes(sha512(seed).digest()[:32], "little")
    return (number & (2**254 - 8)) | 2**254


def torsion() -> Point:
    """A point of order 8."""
    return min(point for point in small_order() if times(4, point) != NEUTRAL)


def craft(
    seed: bytes, data: bytes, *, nonce: int, beside_r: Point = NEUTRAL, beside_key: Point = NEUTRAL
) -> SignedBytes:
    """A signature with a chosen nonce; a point of small order is added to R, or to the public key.

    With nonce 0, R is of small order. A point added to R makes a signature that holds only with the cofactor. With a
    point added to the key, one in eight signatures holds without it.
    """
    public = encode_point(add(times(scalar(seed), BASE), beside_key))
    r = encode_point(add(times(nonce, BASE), beside_r))
    s = (nonce + _challenge(r, public, data) * scalar(seed)) % ORDER
    return SignedBytes(public, r + s.to_bytes(32, "little"), data)


def holds(claim: SignedBytes, *, cofactor: int = 1) -> bool:
    """Whether the equation of RFC 8032 is true, multiplied by `cofactor` (1 or 8), for canonical R and key."""
    r, s = claim.signature[:32], int.from_bytes(claim.signature[32:], "little")
    right = add(decode_point(r), times(_challenge(r, claim.public, claim.data), decode_point(claim.public)))
    return times(cofactor * s, BASE) == times(cofactor, right)


def decode_point(encoded: bytes) -> Point:
    """The point of a canonical encoding."""
    number = int.from_bytes(encoded, "little")
    found = point_at(number % 2**255)
    assert found
    return (-found[0] % FIELD, found[1]) if number >> 255 else found


def _challenge(r: bytes, public: bytes, data: bytes) -> int:
    return int.from_bytes(sha512(r + public + data).digest(), "little") % ORDER
