"""A lock holds exactly if its deck is the deck before, multiplied by the number of its key and shuffled.

Cheats make false locks with all that the page lets them choose. For each of the equations there is a lie that breaks no
other one, so none can be left out. The same locker without a lie is believed, before anything else is tried.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest

from hkoji.errors import MalformedError, ProofError
from hkoji.sealed import plain, sodium
from hkoji.sealed.group import GENERATOR, Combine
from tests.support import chance
from tests.support.sealed import (
    BACKENDS,
    GEISHAS_ROAD,
    HANAMIKOJI,
    OTHER_GAME,
    Dealt,
    LockOf,
    Sent,
    check,
    locked,
    place,
    points_in,
)
from tests.support.sealed_page import L, Row, prove_lock

FEW: Final = 4
SHUFFLE: Final = "the proof that the deck was shuffled does not hold"
REPEATED: Final = "points of the shuffled deck are repeated, or are points of the deck before"
both: Final = pytest.mark.parametrize("combine", BACKENDS.values(), ids=BACKENDS.keys())


class Locker(NamedTuple):
    """Somebody who locks a deck, and the numbers that they know."""

    statement: LockOf
    number: int
    order: list[int]
    deck: list[bytes]
    key: bytes

    @property
    def rows(self) -> list[Row]:
        """The matrix of the permutation."""
        return [{index: 1} for index in self.order]

    def prove(
        self,
        rng: random.Random,
        *,
        deck: Sequence[bytes] | None = None,
        key: bytes | None = None,
        judged: bool = True,
    ) -> tuple[Sent, set[int]]:
        """The lock with an honest proof of the permutation, whatever the deck and the key."""
        deck, key = self.deck if deck is None else deck, self.key if key is None else key
        proof, broken = prove_lock(
            sodium.combine, self.statement, deck, key, self.number, self.rows, rng, judged=judged
        )
        return self.sent(deck, key, proof), broken

    def sent(self, deck: Sequence[bytes], key: bytes, proof: bytes) -> Sent:
        return Sent("lock", self.statement, (b"".join(deck), key, proof))

    def multiplied(self, rows: Sequence[Row]) -> list[bytes]:
        """The deck that a matrix makes of the deck before."""
        before = self.statement.before
        return [sodium.combine(*((self.number * each, before[j]) for j, each in row.items())) for row in rows]


def locker(rng: random.Random, before: Sequence[bytes]) -> Locker:
    number, order = rng.randrange(2, L), rng.sample(range(len(before)), len(before))
    deck = [sodium.combine((number, before[index])) for index in order]
    return Locker(LockOf(place(1, 3), tuple(before)), number, order, deck, sodium.combine((number, GENERATOR)))


@pytest.fixture(scope="module")
def few() -> Locker:
    """Locks a few cards that somebody else has locked before. Its honest lock holds."""
    rng = random.Random(chance.token_hex())
    first = rng.randrange(2, L)
    found = locker(rng, [sodium.combine((first, point)) for point in HANAMIKOJI.points[:FEW]])
    sent, broken = found.prove(rng)
    assert broken == set()
    for combine in BACKENDS.values():
        check(combine, sent)
    return found


def refused(sent: Sent, reason: str = SHUFFLE, combine: Combine = sodium.combine) -> bool:
    """Whether the lock is refused, for that reason."""
    with pytest.raises(ProofError) as caught:
        check(combine, sent)
    return str(caught.value) == reason


# --- honest -----------------------------------------------------------------------------------------------------------


@both
def test_honest_locks_hold(dealt: Dealt, combine: Combine) -> None:
    check(sodium.combine, dealt.parties[0].lock)
    check(combine, dealt.parties[1].lock)


def test_a_lock_is_the_same_by_both_backends() -> None:
    by_plain = locked("both", plain.combine, place(1, 3), GEISHAS_ROAD.points[:5])
    by_sodium = locked("both", sodium.combine, place(1, 3), GEISHAS_ROAD.points[:5])
    assert by_plain[1:] == by_sodium[1:]
    check(sodium.combine, by_plain[3])


def test_a_lock_multiplies_and_shuffles(dealt: Dealt) -> None:
    before = HANAMIKOJI.points
    for party in dealt.parties:
        deck, key, proof = party.lock.texts
        assert key == plain.combine((party.number, GENERATOR))
        assert points_in(deck) == tuple(plain.combine((party.number, before[index])) for index in party.order)
        assert sorted(party.order) == list(range(21))
        assert len(proof) == 32 * (4 * 21 + 5)
        before = points_in(deck)


@both
def test_locks_by_the_words_of_the_page_hold(few: Locker, combine: Combine, rng: random.Random) -> None:
    sent, broken = few.prove(rng)
    assert broken == set()
    check(combine, sent)


@pytest.mark.parametrize("size", [2, 9])
def test_decks_of_any_size(size: int, rng: random.Random) -> None:
    sent, _ = locker(rng, GEISHAS_ROAD.points[:size]).prove(rng)
    check(sodium.combine, sent)


# --- false decks, at each place ---------------------------------------------------------------------------------------


def test_one_multiple_at_any_of_21_places(rng: random.Random) -> None:
    full = locker(rng, HANAMIKOJI.points)
    for at in range(21):
        deck = list(full.deck)
        deck[at] = sodium.combine((rng.randrange(2, L), deck[at]))
        assert refused(full.prove(rng, deck=deck, judged=False)[0]), at
    check(sodium.combine, full.prove(rng)[0])


@pytest.mark.parametrize("at", range(FEW))
def test_sums_that_cancel_in_the_whole_deck(few: Locker, at: int, rng: random.Random) -> None:
    """P_i + D and P_j - D."""
    deck, other, added = list(few.deck), (at + 1) % FEW, HANAMIKOJI.points[FEW]
    deck[at] = sodium.combine((1, deck[at]), (few.number, added))
    deck[other] = sodium.combine((1, deck[other]), (-few.number, added))
    sent, broken = few.prove(rng, deck=deck)
    assert broken == {4}
    assert refused(sent)


@pytest.mark.parametrize("at", range(FEW))
def test_a_card_that_nobody_has_locked(few: Locker, at: int, rng: random.Random) -> None:
    deck = list(few.deck)
    deck[at] = HANAMIKOJI.points[at]
    sent, broken = few.prove(rng, deck=deck)
    assert broken == {4}
    assert refused(sent)


@pytest.mark.parametrize("at", range(FEW))
def test_a_point_of_another_number(few: Locker, at: int, rng: random.Random) -> None:
    deck = list(few.deck)
    deck[at] = sodium.combine((few.number + 1, few.statement.before[few.order[at]]))
    sent, broken = few.prove(rng, deck=deck)
    assert broken == {4}
    assert refused(sent)


@pytest.mark.parametrize("at", range(FEW))
def test_a_deck_in_another_order_than_the_proof(few: Locker, at: int, rng: random.Random) -> None:
    other = (at + 1) % FEW
    deck = list(few.deck)
    deck[at], deck[other] = deck[other], deck[at]
    sent, broken = few.prove(rng, deck=deck)
    assert broken == {4}
    assert refused(sent)
    order = list(few.order)
    order[at], order[other] = order[other], order[at]
    check(sodium.combine, few._replace(order=order).prove(rng, deck=deck)[0])


@pytest.mark.parametrize("at", range(FEW))
def test_one_card_twice(few: Locker, at: int, rng: random.Random) -> None:
    """Also with a matrix that has the row twice."""
    order = list(few.order)
    order[at] = order[(at + 1) % FEW]
    twice = few._replace(order=order)
    deck = twice.multiplied(twice.rows)
    sent, broken = twice.prove(rng, deck=deck)
    assert broken == {2, 4}
    for combine in BACKENDS.values():
        assert refused(sent, REPEATED, combine)
    assert refused(few.prove(rng, deck=deck)[0], REPEATED)


@pytest.mark.parametrize("at", range(FEW))
def test_a_point_of_the_deck_before(few: Locker, at: int, rng: random.Random) -> None:
    deck = list(few.deck)
    deck[at] = few.statement.before[few.order[at]]
    assert refused(few.prove(rng, deck=deck)[0], REPEATED)
    deck[at] = few.statement.before[few.order[(at + 1) % FEW]]
    assert refused(few.prove(rng, deck=deck)[0], REPEATED)


def test_the_number_1_locks_nothing(few: Locker, rng: random.Random) -> None:
    open_ = few._replace(number=1, key=GENERATOR)
    sent, broken = open_.prove(rng, deck=open_.multiplied(open_.rows))
    assert broken == set()
    assert refused(sent, REPEATED)
    other = few._replace(number=2, key=sodium.combine((2, GENERATOR)))
    check(sodium.combine, other.prove(rng, deck=other.multiplied(other.rows))[0])


def test_a_deck_of_another_size(few: Locker, rng: random.Random) -> None:
    """A point less, one more, and one more that is there already, so that there are as many as there should be."""
    sent, _ = few.prove(rng)
    _, key, proof = sent.texts
    more = sodium.combine((few.number, HANAMIKOJI.points[9]))
    for deck in ([], few.deck[1:], [*few.deck, more], [*few.deck, few.deck[0]], [*few.deck, few.statement.before[0]]):
        for combine in BACKENDS.values():
            sent = few.sent(deck, key, proof)
            if len(deck) == len(few.deck):
                assert refused(sent, REPEATED, combine)
            else:
                with pytest.raises(MalformedError, match=f"in its deck is {len(deck)}, not {len(few.deck)}"):
                    check(combine, sent)


# --- one equation at a time -------------------------------------------------------------------------------------------


def test_a_matrix_whose_rows_do_not_sum_to_1(few: Locker, rng: random.Random) -> None:
    """Twice one point and half of another: u' is what the matrix gives, and its product is that of u."""
    half = pow(2, -1, L)
    rows, made = few.rows, few.rows
    rows[1], rows[3] = {few.order[1]: 2}, {few.order[3]: half}
    made[1], made[3] = {few.order[1]: half}, {few.order[3]: 2}
    deck = few.multiplied(made)
    proof, broken = prove_lock(sodium.combine, few.statement, deck, few.key, few.number, rows, rng)
    assert broken == {1}
    for combine in BACKENDS.values():
        assert refused(few.sent(deck, few.key, proof), combine=combine)


def mixed(few: Locker) -> tuple[list[Row], list[bytes]]:
    """A matrix that is no permutation, though each of its rows and columns sums to 1, and the deck that fits it.

    Equation 4 fits the deck that the inverse of the matrix, transposed, makes.
    """
    rows, made, third = few.rows, few.rows, pow(3, -1, L)
    first, second = few.order[1], few.order[3]
    rows[1], rows[3] = {first: 2, second: -1}, {first: -1, second: 2}
    made[1], made[3] = {first: 2 * third, second: third}, {first: third, second: 2 * third}
    return rows, few.multiplied(made)


def test_a_matrix_that_is_no_permutation(few: Locker, rng: random.Random) -> None:
    rows, deck = mixed(few)
    proof, broken = prove_lock(sodium.combine, few.statement, deck, few.key, few.number, rows, rng)
    assert broken == {2}
    for combine in BACKENDS.values():
        assert refused(few.sent(deck, few.key, proof), combine=combine)


def test_a_chain_that_is_bent_where_it_ends(few: Locker, rng: random.Random) -> None:
    rows, deck = mixed(few)
    proof, broken = prove_lock(sodium.combine, few.statement, deck, few.key, few.number, rows, rng, forced=True)
    assert broken == {FEW + 5}
    for combine in BACKENDS.values():
        assert refused(few.sent(deck, few.key, proof), combine=combine)


def test_other_weights_than_the_matrix_gives(few: Locker, rng: random.Random) -> None:
    """c commits to a permutation, and the weights are those of a deck that is none."""
    two, half = 2, pow(2, -1, L)
    rows = few.rows
    rows[1], rows[3] = {few.order[1]: two}, {few.order[3]: half}
    deck = few.multiplied(rows)

    def weigh(u: list[int]) -> list[int]:
        weights = [u[index] for index in few.order]
        weights[1], weights[3] = weights[1] * half % L, weights[3] * two % L
        return weights

    proof, broken = prove_lock(sodium.combine, few.statement, deck, few.key, few.number, few.rows, rng, weigh=weigh)
    assert broken == {3}
    for combine in BACKENDS.values():
        assert refused(few.sent(deck, few.key, proof), combine=combine)


def test_another_key(few: Locker, rng: random.Random) -> None:
    other = rng.randrange(2, L)
    key = sodium.combine((other, GENERATOR))
    sent, broken = few.prove(rng, key=key)
    assert broken == {5}
    assert refused(sent)
    sent, broken = few._replace(number=other).prove(rng, key=key)
    assert broken == {4}
    assert refused(sent)


def test_the_key_of_the_other_seat(few: Locker, dealt: Dealt, rng: random.Random) -> None:
    """The first seat's key, as if it were that of the second."""
    first, second = dealt.parties
    sent, broken = few.prove(rng, key=first.key)
    assert broken == {5}
    for combine in BACKENDS.values():
        assert refused(sent, combine=combine)
    copied = second.lock._replace(texts=(second.lock.texts[0], first.key, second.lock.texts[2]))
    assert refused(copied)


@pytest.mark.parametrize("link", range(FEW))
def test_each_link_of_the_chain(few: Locker, link: int, rng: random.Random) -> None:
    """The response of one link is wrong, and the challenge that of all commitments but this one."""
    sent, _ = few.prove(rng)
    begin = 32 * (2 * FEW + 5 + link)
    number = int.from_bytes(sent.texts[2][begin : begin + 32], "little")
    wrong = sent.with_bytes(2, begin, begin + 32, ((number + 1) % L).to_bytes(32, "little"))
    check(sodium.combine, sent)
    assert refused(wrong)


# --- elsewhere --------------------------------------------------------------------------------------------------------


def test_a_lock_is_bound_to_its_place_and_to_the_deck_before(few: Locker, rng: random.Random) -> None:
    sent, _ = few.prove(rng)
    here, before = few.statement
    check(sodium.combine, sent)
    elsewhere = [
        here._replace(game=OTHER_GAME),
        here._replace(seat=0),
        here._replace(round=2),
        here._replace(seq=4),
        here._replace(prev=place(1, 4).prev),
    ]
    for statement in (*(LockOf(other, before) for other in elsewhere), LockOf(here, (*before[1:], before[0]))):
        assert refused(sent._replace(statement=statement)), statement
    other = locker(rng, before)
    assert refused(Sent("lock", few.statement, (*other.prove(rng)[0].texts[:2], sent.texts[2])))
