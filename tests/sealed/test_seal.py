"""The secrets of a seat follow from the sealed key by the formulas of the page, which stand here a second time.

docs/spec/sealed.md, "How a client makes them".
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from hkoji.sealed.seal import Seal
from hkoji.sealed.transcript import Nonces, ProofTranscript
from scripts.build.vectors import FOLDER
from tests.sealed.test_vectors import raw, scalar
from tests.support.sealed import GAME, GEISHAS_ROAD, HANAMIKOJI, OTHER_GAME, place, secret
from tests.support.sealed_page import L

KEY: Final = secret("sealed key")
PREV: Final = place(0, 1).prev
OTHER_PREV: Final = place(0, 2).prev
SALT, OTHER_SALT = secret("salt").hex(), secret("another salt").hex()
ENTROPY: Final = secret("entropy").hex()
OTHER_ENTROPY: Final = secret("other entropy").hex()
SEALS: Final[list[dict[str, Any]]] = json.loads((FOLDER / "sealed.json").read_text("ascii"))["seals"]


def hmac512(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha512).digest()


def prf(key: bytes, game: str, seat: int, label: str, *arguments: object) -> bytes:
    """PRF(label, arguments) of the page."""
    seal = hmac512(key, b"hkoji.sealed.seal.v1\n" + game.encode() + b"\n" + str(seat).encode() + b"\n")
    return hmac512(seal, b"".join(str(each).encode() + b"\n" for each in (label, *arguments)))


def number(digest: bytes) -> int:
    return int.from_bytes(digest, "little") % (L - 1) + 1


def zeros(count: int) -> bytes:
    return bytes(count)


def first(nonces: Nonces) -> list[int]:
    return [nonces.scalar() for _ in range(3)]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("round_", [1, 12])
def test_the_formulas_of_the_page(seat: int, round_: int) -> None:
    seal = Seal(KEY, GAME, seat)

    def of(label: str, *arguments: object) -> bytes:
        return prf(KEY, GAME, seat, label, *arguments)

    context = (seat, round_, PREV, ENTROPY, SALT)
    assert seal.lock_number(round_, PREV, ENTROPY, SALT) == number(of("hkoji.sealed.lock.v1", *context))
    order = sorted(range(21), key=lambda index: of("hkoji.sealed.order.v1", *context, index))
    assert seal.lock_order(21, round_, PREV, ENTROPY, SALT) == order
    hidden = (seat, round_, PREV, 17, "3XX", 1, 8)
    assert seal.blinding(round_, PREV, 17, "3XX", 1, 8) == number(of("hkoji.sealed.hide.v1", *hidden))
    key = secret("key")
    lot = {card: of("hkoji.sealed.copy.v1", seat, round_, key.hex(), card) for card in HANAMIKOJI.cards}
    assert seal.copies(HANAMIKOJI.cards, round_, key) == sorted(lot, key=lambda card: lot[card])


def test_nonces_by_the_formula_of_the_page() -> None:
    fresh = secret("fresh")
    state = ProofTranscript("show", b"statement")
    fed = b"".join(len(item).to_bytes(4, "big") + item for item in (b"hkoji.sealed.v1", b"show", b"statement"))
    seal = hmac512(KEY, f"hkoji.sealed.seal.v1\n{GAME}\n1\n".encode())
    key = hmac512(seal, b"hkoji.sealed.nonce.v1\n" + hashlib.sha512(fed).digest() + fresh)
    digests = [hmac512(key, index.to_bytes(8, "big")) for index in (1, 2, 3)]
    source = Seal(KEY, GAME, 1).nonces(lambda count: fresh[:count])
    assert first(source(state)) == list(map(number, digests))
    nonces = source(state)
    assert [nonces.scalar(), nonces.short()] == [number(digests[0]), int.from_bytes(digests[1][:16], "little")]
    assert state.short() == ProofTranscript("show", b"statement").short()  # taking nonces leaves the state as it is


def test_fresh_bytes_are_asked_for_each_proof() -> None:
    asked: list[int] = []

    def fresh(count: int) -> bytes:
        asked.append(count)
        return bytes([len(asked)]) * count

    source = Seal(KEY, GAME, 0).nonces(fresh)
    one, other = first(source(ProofTranscript("a"))), first(source(ProofTranscript("a")))
    assert asked == [32, 32]
    assert not {*one} & {*other}


@pytest.mark.parametrize("size", [2, 20, 21])
def test_the_order_of_a_lock_is_a_permutation(size: int) -> None:
    seal = Seal(KEY, GAME, 0)
    orders = [seal.lock_order(size, round_, PREV, ENTROPY, SALT) for round_ in range(1, 30)]
    assert all(sorted(order) == list(range(size)) for order in orders)
    assert len({tuple(order) for order in orders}) == (2 if size == 2 else 29)


def test_permutations_are_as_likely_as_each_other() -> None:
    """Of three cards each of the six orders comes about as often in 600 rounds."""
    seal = Seal(KEY, GAME, 0)
    found: dict[tuple[int, ...], int] = {}
    for round_ in range(600):
        order = tuple(seal.lock_order(3, round_, PREV, ENTROPY, SALT))
        found[order] = found.get(order, 0) + 1
    assert len(found) == 6
    assert all(60 < count < 140 for count in found.values())


LOCKS: Final = (
    (1, PREV, ENTROPY, SALT),
    (2, PREV, ENTROPY, SALT),
    (1, OTHER_PREV, ENTROPY, SALT),
    (1, PREV, OTHER_ENTROPY, SALT),
    (1, PREV, ENTROPY, OTHER_SALT),
)
HIDES: Final = (
    (1, PREV, 9, "2XX", 0, 0),
    (2, PREV, 9, "2XX", 0, 0),
    (1, OTHER_PREV, 9, "2XX", 0, 0),
    (1, PREV, 10, "2XX", 0, 0),
    (1, PREV, 9, "1X", 0, 0),
    (1, PREV, 9, "2XX", 1, 0),
    (1, PREV, 9, "2XX", 0, 1),
)
COPIES: Final = ((1, secret("a key")), (2, secret("a key")), (1, secret("another")))
USES: Final[dict[str, Callable[[Seal], list[object]]]] = {
    "lock": lambda seal: [seal.lock_number(*each) for each in LOCKS],
    "order": lambda seal: [tuple(seal.lock_order(21, *each)) for each in LOCKS],
    "hide": lambda seal: [seal.blinding(*each) for each in HIDES],
    "copies": lambda seal: [tuple(seal.copies(HANAMIKOJI.cards, *each)) for each in COPIES],
}


@pytest.mark.parametrize("use", USES)
def test_each_argument_counts(use: str) -> None:
    """Another sealed key, game or seat, and another of any argument, gives another secret."""
    seals = [Seal(KEY, GAME, 0), Seal(secret("another key"), GAME, 0), Seal(KEY, OTHER_GAME, 0), Seal(KEY, GAME, 1)]
    found = [each for seal in seals for each in USES[use](seal)]
    assert len({*found}) == len(found) >= 12
    assert found == [each for seal in seals for each in USES[use](seal)]


def test_numbers_are_from_1_to_the_order() -> None:
    seal = Seal(KEY, GAME, 0)
    numbers = [seal.lock_number(round_, PREV, ENTROPY, SALT) for round_ in range(200)]
    assert all(0 < each < L for each in numbers)
    assert len({*numbers}) == 200
    assert max(numbers) > L * 9 // 10
    assert min(numbers) < L // 10


def test_the_order_of_copies_is_one_for_the_round() -> None:
    """It does not depend on what is held, nor on the place of the entry. So two programs take the same copy."""
    seal, key = Seal(KEY, GAME, 0), secret("key")
    every = seal.copies(HANAMIKOJI.cards, 1, key)
    assert sorted(every) == sorted(HANAMIKOJI.cards)
    for some in (HANAMIKOJI.cards[::-1], HANAMIKOJI.cards[3:9], ("G5", "G1", "G3"), ()):
        assert seal.copies(some, 1, key) == [card for card in every if card in some]
    firsts = {seal.copies(("G1", "G2", "G3", "G4", "G5"), round_, key)[0] for round_ in range(60)}
    assert firsts == {"G1", "G2", "G3", "G4", "G5"}


@pytest.mark.parametrize("vector", SEALS, ids=lambda vector: f"{vector['seat']}-{vector['round']}")
def test_vectors(vector: dict[str, Any]) -> None:
    seal = Seal(bytes.fromhex(vector["sealed_key"]), vector["game"], vector["seat"])
    context = vector["round"], vector["prev"], vector["entropy"], vector["salt"]
    size = len(vector["lock_order"])
    cards = {21: HANAMIKOJI, 20: GEISHAS_ROAD}[size].cards
    assert seal.lock_number(*context) == scalar(vector["lock_number"])
    assert seal.lock_order(size, *context) == vector["lock_order"]
    hide = vector["hide"]
    arguments = vector["round"], vector["prev"], hide["seq"], hide["action"], hide["part"], hide["token"]
    assert seal.blinding(*arguments) == scalar(hide["number"])
    assert seal.copies(cards, vector["round"], raw(vector["lock_key"])) == vector["copies"]
    nonces = vector["nonces"]
    items = [bytes.fromhex(item) * times for item, times in nonces["items"]]
    assert bytes.fromhex(nonces["fresh"]) == zeros(32)
    assert first(seal.nonces(zeros)(ProofTranscript(nonces["label"], *items))) == list(map(scalar, nonces["numbers"]))
