"""A group without secrets, in which the proofs of sealed games take a hundredth of the time: numbers modulo its order.

An element is its own discrete logarithm, and its coordinates are that number. So everybody could read every card: it is
for laws about the course of many games, and says nothing about what a proof hides or how hard it is to forge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from hkoji.client import sealing
from hkoji.errors import MalformedError
from hkoji.sealed import cards, group, plain, ristretto, sodium
from hkoji.sealed.ristretto import BYTES, ORDER

_CACHES: Final = (cards.card_points, cards.blind_point, cards.base_points)


@contextmanager
def stub_group() -> Iterator[None]:
    """Within the block, locks and proofs are made and checked in the group without secrets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ristretto, "from_hash", lambda digest: int.from_bytes(digest, "little") % ORDER)
        patch.setattr(ristretto, "encode", lambda element: element.to_bytes(BYTES, "little"))
        patch.setattr(ristretto, "multiply_add", lambda terms: sum(n * element for n, element in terms) % ORDER)
        for module in (group, plain):
            patch.setattr(module, "coordinates", _coordinates)
        patch.setattr(sealing, "combine", plain.combine)
        patch.setattr(sodium, "combine", plain.combine)
        _forget()
        try:
            yield
        finally:
            _forget()


def _coordinates(point: bytes) -> int:
    number = int.from_bytes(point, "little")
    if point != group.GENERATOR and not 0 <= number < ORDER:
        raise MalformedError("point", "its bytes are not the encoding of an element")
    return number % ORDER


def _forget() -> None:
    for each in _CACHES:
        each.cache_clear()


@pytest.fixture(scope="module")
def without_secrets() -> Iterator[None]:
    """For test files that import it."""
    with stub_group():
        yield
