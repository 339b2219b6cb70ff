"""Signatures and keys that only the holder of a private key can make, and on which libraries may differ.

An honest signer makes none of them. Slow arithmetic (tests/support/curve.py); the formulas are RFC 8032's, section 5.1.
"""

from __future__ import annotations

from hashlib import sha512
from typing import Final, NamedTuple

from tests.support.curve import FIELD, NEUTRAL, ORDER, Point, add, encode_point, point_at, small_order, times

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
