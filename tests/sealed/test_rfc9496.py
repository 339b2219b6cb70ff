"""The group is ristretto255 of RFC 9496, in plain integers and by libsodium.

`tests/data/rfc9496.json` has the vectors of its sections A.1 (multiples of the generator), A.2 (what is no encoding)
and A.3 (points from 64 uniform bytes). Both functions that combine elements give the same bytes for the same terms.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

from hkoji.errors import MalformedError
from hkoji.sealed import plain, ristretto, sodium
from hkoji.sealed.group import GENERATOR, IDENTITY, Combine, coordinates, read_points, read_scalar, write_scalars
from tests.support.sealed import BACKENDS

RFC: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "rfc9496.json").read_text("ascii"))
MULTIPLES: Final = [bytes.fromhex(each) for each in RFC["multiples"]]
INVALID: Final = [(sort, bytes.fromhex(each)) for sort, some in RFC["invalid"].items() for each in some]
P: Final = 2**255 - 19
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
both: Final = pytest.mark.parametrize("combine", BACKENDS.values(), ids=BACKENDS.keys())


def elements(rng: random.Random) -> Iterator[bytes]:
    """Random elements, without end."""
    while True:
        yield ristretto.encode(ristretto.from_hash(rng.randbytes(64)))


def test_twice_a_point_is_encoded_alike() -> None:
    rng = random.Random("doubles")
    points = [ristretto.from_hash(rng.randbytes(64)) for _ in range(200)]
    for point in (
        *points,
        ristretto.IDENTITY,
        *map(ristretto.negate, points[:20]),
        *map(ristretto.double, points[:20]),
    ):
        assert ristretto.encode_double(point) == ristretto.encode(ristretto.double(point))


def test_the_file_has_all_vectors() -> None:
    assert len(MULTIPLES) == 16
    counts = {sort: len(some) for sort, some in RFC["invalid"].items()}
    assert counts == {"non-canonical": 4, "negative": 8, "non-square": 8, "negative xy": 8, "zero y": 1}
    assert len(RFC["uniform"]) == 11
    for vector in RFC["uniform"]:
        assert "text" not in vector or hashlib.sha512(vector["text"].encode()).hexdigest() == vector["input"]


# --- A.1 --------------------------------------------------------------------------------------------------------------


def test_multiples_of_the_generator_are_encoded_and_decoded() -> None:
    assert MULTIPLES[:2] == [IDENTITY, GENERATOR]
    base = ristretto.decode(GENERATOR)
    assert base is not None
    total = ristretto.IDENTITY
    for expected in MULTIPLES:
        assert ristretto.encode(total) == expected
        decoded = ristretto.decode(expected)
        assert decoded is not None
        assert ristretto.encode(decoded) == expected
        total = ristretto.add(total, base)


@both
def test_multiples_of_the_generator_as_products_and_sums(combine: Combine) -> None:
    for number, expected in enumerate(MULTIPLES):
        assert combine((number, GENERATOR)) == expected
        assert combine((ORDER - number, GENERATOR), (2 * number, GENERATOR)) == expected
        assert combine(*((1, GENERATOR) for _ in range(number))) == expected
    for left, right in ((1, 2), (3, 4), (7, 8), (15, 0)):
        assert combine((1, MULTIPLES[left]), (1, MULTIPLES[right])) == MULTIPLES[left + right]
        assert combine((1, MULTIPLES[left]), (-1, MULTIPLES[right])) == combine((left - right, GENERATOR))


# --- A.2 --------------------------------------------------------------------------------------------------------------


def refused(raw: bytes) -> bool:
    """Whether bytes are no encoding, for `decode`, `coordinates` and `read_points` alike."""
    if ristretto.decode(raw) is not None:
        return False
    with pytest.raises(MalformedError):
        coordinates(raw)
    with pytest.raises(MalformedError):
        read_points((GENERATOR, raw))
    return True


@pytest.mark.parametrize(("sort", "raw"), INVALID, ids=lambda each: each if isinstance(each, str) else each.hex()[:8])
def test_invalid_encodings_are_refused(sort: str, raw: bytes) -> None:
    assert refused(raw)


@pytest.mark.parametrize(("sort", "raw"), INVALID, ids=lambda each: each if isinstance(each, str) else each.hex()[:8])
@both
def test_no_backend_computes_with_invalid_encodings(combine: Combine, sort: str, raw: bytes) -> None:
    for terms in ([(3, raw)], [(3, GENERATOR), (1, raw)]):
        with pytest.raises(MalformedError):
            combine(*terms)


def test_a_set_top_bit_is_refused() -> None:
    for raw in MULTIPLES:
        assert not raw[31] & 0x80
        assert refused(raw[:31] + bytes([raw[31] | 0x80]))


def test_the_identity_is_an_encoding_and_no_point_that_anybody_may_send() -> None:
    assert ristretto.decode(IDENTITY) is not None
    assert read_points((GENERATOR,)) == (GENERATOR,)
    for points in ((IDENTITY,), (GENERATOR, IDENTITY), (IDENTITY, GENERATOR)):
        with pytest.raises(MalformedError, match="identity"):
            read_points(points)


def test_numbers_that_are_not_reduced_are_refused(rng: random.Random) -> None:
    """p to 2^255 - 1 are the numbers 0 to 18 once more, and what lies above has the top bit."""
    for number in range(P, 2**255):
        assert refused(number.to_bytes(32, "little"))
    for number in (P - 1, 2**255, 2**255 + P - 1, 2**256 - 1, *(rng.randrange(2**255, 2**256) for _ in range(100))):
        assert refused(number.to_bytes(32, "little"))


def test_another_length_than_32_bytes_is_refused() -> None:
    for raw in (b"", GENERATOR[:31], GENERATOR + b"\0", GENERATOR * 2, bytes(31), bytes(33)):
        assert refused(raw)


def test_scalars_are_below_the_order() -> None:
    for number in (0, 1, ORDER - 1):
        assert read_scalar(number.to_bytes(32, "little")) == number
        assert write_scalars(number) == number.to_bytes(32, "little")
    for number in (ORDER, ORDER + 1, 2**255, 2**256 - 1):
        with pytest.raises(MalformedError):
            read_scalar(number.to_bytes(32, "little"))
    assert write_scalars(-1, ORDER, ORDER + 1) == b"".join(n.to_bytes(32, "little") for n in (ORDER - 1, 0, 1))


# --- A.3 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", RFC["uniform"], ids=lambda vector: vector["input"][:8])
def test_points_from_uniform_bytes(vector: dict[str, str]) -> None:
    assert ristretto.encode(ristretto.from_hash(bytes.fromhex(vector["input"]))).hex() == vector["output"]


# --- any element ------------------------------------------------------------------------------------------------------


def test_elements_are_encoded_as_they_were_before_they_were_decoded(rng: random.Random) -> None:
    """Of elements, and of random bytes, of which one in sixteen are an encoding."""
    for raw in islice(elements(rng), 300):
        decoded = ristretto.decode(raw)
        assert decoded is not None
        assert ristretto.encode(decoded) == raw
    found = 0
    for _ in range(1000):
        raw = rng.randbytes(32)
        if decoded := ristretto.decode(raw):
            found += 1
            assert ristretto.encode(decoded) == raw
    assert 20 < found < 130


def test_all_points_of_an_element_have_one_encoding(rng: random.Random) -> None:
    """The four points of order 1, 2 and 4 are all the identity, and any of them may be added."""
    i = pow(2, (P - 1) // 4, P)
    torsion = [(0, 1, 1, 0), (0, P - 1, 1, 0), (i, 0, 1, 0), (P - i, 0, 1, 0)]
    for raw in (IDENTITY, GENERATOR, *islice(elements(rng), 8)):
        for other in torsion:
            assert ristretto.encode(ristretto.add(coordinates(raw), other)) == raw


def terms(rng: random.Random, pool: list[bytes]) -> list[tuple[int, bytes]]:
    """A few terms: random numbers and those at the edges, of elements that come again."""
    edges = (0, 1, -1, 2, ORDER, ORDER - 1, ORDER + 1, ORDER // 2, ORDER // 2 + 1, -ORDER, 2**255, 2**256 - 1)
    return [
        (rng.choice((rng.randrange(ORDER), rng.choice(edges), rng.choice(edges))), rng.choice(pool))
        for _ in range(rng.randrange(7))
    ]


def test_both_backends_give_the_same_bytes(rng: random.Random) -> None:
    pool = [IDENTITY, GENERATOR, *islice(elements(rng), 6)]
    results = set()
    for _ in range(150):
        some = terms(rng, pool)
        result = plain.combine(*some)
        assert sodium.combine(*some) == result, some
        results.add(result)
    assert len(results) > 100


def test_few_points_are_kept(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that never stops keeps no more and more of them, and the results stay right."""
    monkeypatch.setattr(sodium, "_MOST_KNOWN", 4)
    monkeypatch.setattr(sodium, "_KNOWN", {})
    pool = [IDENTITY, GENERATOR, *islice(elements(rng), 6)]
    for _ in range(20):
        some = terms(rng, pool)
        assert sodium.combine(*some) == plain.combine(*some), some
        assert len(sodium._KNOWN) <= 4


@both
@pytest.mark.parametrize("number", [0, 1, -1, ORDER - 1, ORDER, ORDER + 1, 2 * ORDER - 1])
def test_numbers_count_modulo_the_order(combine: Combine, number: int, rng: random.Random) -> None:
    element = next(elements(rng))
    assert combine((number, element)) == combine((number % ORDER, element))
    expected = {0: IDENTITY, 1: element}.get(number % ORDER)
    negative = ristretto.encode(ristretto.negate(coordinates(element)))
    assert combine((number, element)) == (negative if expected is None else expected)
    assert combine((number, IDENTITY)) == IDENTITY


@both
def test_sums_that_cancel_are_the_identity(combine: Combine, rng: random.Random) -> None:
    one, other = next(elements(rng)), next(elements(rng))
    number = rng.randrange(1, ORDER)
    assert combine() == IDENTITY
    assert combine((number, one), (-number, one)) == IDENTITY
    assert combine((number, one), (ORDER - number, one), (1, other)) == other
    assert combine((1, one), (1, other), (-1, combine((1, one), (1, other)))) == IDENTITY
    assert combine((1, one), (1, one), (1, one)) == combine((3, one))
    assert combine((number, one), (number, other)) == combine((number, combine((1, one), (1, other))))
