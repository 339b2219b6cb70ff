"""The group in which proofs compute, and its numbers. docs/spec/sealed.md, "Notation".

An element is its encoding everywhere, 32 bytes; the identity is 32 zero bytes. All that proofs do with elements is to
*combine* them. Two functions do so, with the same results: `plain.combine` works everywhere and checks proofs;
`sodium.combine` makes them, as its products take the same time for every secret.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

from hkoji.errors import MalformedError
from hkoji.messages.text import tell
from hkoji.sealed import ristretto
from hkoji.sealed.ristretto import BYTES, ORDER, Coordinates

GENERATOR: Final = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
"""G."""
IDENTITY: Final = ristretto.IDENTITY_BYTES
SHORT_BYTES: Final = 16
SHORT: Final = 1 << (8 * SHORT_BYTES)
"""Short challenges are below this."""


class Combine(Protocol):
    """The sum of number · element for all terms. Numbers are any integers; they count modulo the order.

    The elements were read before, by `read_points`, or are results.
    """

    def __call__(self, *terms: tuple[int, bytes]) -> bytes: ...


def read_points(points: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the elements. Raises `MalformedError` if one is not the encoding of an element, or is the identity."""
    read = tuple(points)
    for point in read:
        if point == IDENTITY:
            raise MalformedError(tell("point"), tell("it is the identity"))
        coordinates(point)
    return read


# The points of a round are in several of its proofs.
@lru_cache(maxsize=4096)
def coordinates(point: bytes) -> Coordinates:
    """The coordinates of an element. Raises `MalformedError` if the bytes encode none."""
    found = ristretto.decode(point)
    if found is None:
        raise MalformedError(tell("point"), tell("its bytes are not the encoding of an element"))
    return found


def write_scalars(*numbers: int) -> bytes:
    """Numbers modulo the order, in 32 bytes each, little endian."""
    return b"".join((number % ORDER).to_bytes(BYTES, "little") for number in numbers)


def read_scalar(raw: bytes) -> int:
    """Reads 32 bytes. Raises `MalformedError` if the number is not below the order."""
    number = int.from_bytes(raw, "little")
    if number >= ORDER:
        raise MalformedError(tell("number"), tell("it is not below the order of the group"))
    return number


def write_short(challenge: int) -> bytes:
    """A short challenge in 16 bytes, little endian."""
    return challenge.to_bytes(SHORT_BYTES, "little")


def read_short(raw: bytes) -> int:
    """Reads 16 bytes."""
    return int.from_bytes(raw, "little")


def cut(raw: bytes, *sizes: int) -> list[bytes]:
    """Cuts bytes into parts of these sizes. Raises `MalformedError` if they do not make up the whole."""
    if len(raw) != sum(sizes):
        raise MalformedError(
            tell("proof"), tell("its length in bytes is {count}, not {due}", count=len(raw), due=sum(sizes))
        )
    parts, begin = [], 0
    for size in sizes:
        parts.append(raw[begin : begin + size])
        begin += size
    return parts
