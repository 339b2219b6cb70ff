"""A proof tells nothing but that it is true: it looks as if it were made by somebody who knows no secret.

A simulator makes proofs of statements that nobody can prove, about points that were drawn by lot. It takes challenge
and responses first, computes the commitments, and then decides what SHA-512 gives for them. The package takes these
proofs. So everything that an honest proof tells can be computed without it. The rest is about lengths and nonces.
"""

from __future__ import annotations

import hashlib
import random
from itertools import product
from types import SimpleNamespace
from typing import Final

import pytest

from hkoji.errors import ProofError
from hkoji.game.sealed_parts import BRANCH, CLOSE, POINT
from hkoji.sealed import ristretto, sodium, transcript
from hkoji.sealed.cards import base_points, blind_point
from hkoji.sealed.group import GENERATOR, Combine
from hkoji.sealed.lock import make_lock
from hkoji.sealed.proofs import (
    CloseStatement,
    HiddenStatement,
    ShareStatement,
    ShownStatement,
    make_close,
    make_hidden,
    make_share,
    make_shown,
)
from hkoji.sealed.transcript import Nonces, NonceSource, Place, ProofTranscript
from tests.support.sealed import (
    BACKENDS,
    GAME,
    HANAMIKOJI,
    KINDS,
    OTHER_GAME,
    Dealt,
    HiddenOf,
    Kind,
    LockOf,
    Sent,
    check,
    constant,
    place,
    points_in,
    seal_of,
)
from tests.support.sealed_page import (
    SHORT,
    L,
    PageTranscript,
    close_commitments,
    close_state,
    close_sums,
    hide_commitments,
    hide_state,
    lock_commitments,
    lock_state,
    share_commitments,
    share_state,
    show_commitments,
    show_state,
    written,
    written_short,
)

both: Final = pytest.mark.parametrize("combine", BACKENDS.values(), ids=BACKENDS.keys())


class Oracle:
    """SHA-512, but for inputs of which it was decided what they give."""

    def __init__(self) -> None:
        self._decided: dict[bytes, bytes] = {}

    def decide(self, state: PageTranscript, number: int, size: int) -> None:
        """The challenge that is asked for next, with the label `c`, will be this number."""
        true = hashlib.sha512(state.absorb(b"c").fed).digest()
        assert true not in self._decided
        self._decided[true] = number.to_bytes(size, "little").ljust(64, b"\0")

    def sha512(self) -> _Hash:
        return _Hash(self._decided)


class _Hash:
    def __init__(self, decided: dict[bytes, bytes]) -> None:
        self._hash, self._decided = hashlib.sha512(), decided
        self.update = self._hash.update

    def digest(self) -> bytes:
        return self._decided.get(true := self._hash.digest(), true)


@pytest.fixture
def oracle() -> Oracle:
    return Oracle()


def anybody(rng: random.Random, count: int) -> tuple[bytes, ...]:
    """Points of which nobody knows anything."""
    return tuple(ristretto.encode(ristretto.from_hash(rng.randbytes(64))) for _ in range(count))


def simulated(kind: Kind, oracle: Oracle, rng: random.Random) -> Sent:
    """A proof of a statement about points by lot: there are no secrets that it could be made with."""
    combine = sodium.combine
    if kind == "lock":
        size = 5
        lock, deck, (key,) = LockOf(place(1, 3), anybody(rng, size)), anybody(rng, size), anybody(rng, 1)
        points = anybody(rng, 2 * size)
        state = lock_state(lock, deck, key).absorb(*points[:size])
        u = [state.scalar("u") for _ in range(size)]
        numbers = [rng.randrange(L) for _ in range(2 * size + 5)]
        proof = b"".join(points) + written(*numbers)
        state.absorb(*points[size:], *lock_commitments(combine, lock, deck, key, proof, u))
        oracle.decide(state, numbers[0], 32)
        return Sent("lock", lock, (b"".join(deck), key, proof))
    if kind == "share":
        tokens, deck, (key,) = anybody(rng, 3), anybody(rng, 3), anybody(rng, 1)
        share, c, z = ShareStatement(GAME, 0, 2, (6, 7, 16), key, deck), rng.randrange(SHORT), rng.randrange(L)
        state = share_state(share, tokens).absorb(*share_commitments(combine, share, tokens, c, z))
        oracle.decide(state, c, 16)
        return Sent("share", share, (b"".join(tokens) + written_short(c) + written(z),))
    if kind == "close":
        key, card, counts, *others = anybody(rng, 20)
        closing = CloseStatement(
            place(0, 30), key, card, counts, tuple(others[:5]), tuple(others[5:7]), tuple(others[7:])
        )
        c, answers, sums = rng.randrange(SHORT), [rng.randrange(L) for _ in range(3)], close_sums(combine, closing)
        state = close_state(closing, sums).absorb(*close_commitments(combine, closing, sums, c, *answers))
        oracle.decide(state, c, 16)
        return Sent("close", closing, (written_short(c) + written(*answers),))
    key, card, *rest = anybody(rng, 6)
    pairs = [(rng.randrange(SHORT), rng.randrange(L)) for _ in rest]
    shown, hidden = ShownStatement(place(0, 9), 1, key, card, tuple(rest)), HiddenOf(place(0, 9), 1, tuple(rest))
    state = show_state(shown) if kind == "show" else hide_state(hidden, card)
    for j, (c, z) in enumerate(pairs):
        state.absorb(
            *(
                show_commitments(combine, shown, j, c, z)
                if kind == "show"
                else hide_commitments(combine, hidden, card, j, c, z)
            )
        )
    oracle.decide(state, sum(c for c, _ in pairs) % SHORT, 16)
    proof = b"".join(written_short(c) + written(z) for c, z in pairs)
    return Sent("show", shown, (proof,)) if kind == "show" else Sent("hide", hidden, (card + proof,))


@both
@pytest.mark.parametrize("kind", KINDS)
def test_a_simulator_without_secrets_passes(
    kind: Kind, combine: Combine, oracle: Oracle, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = simulated(kind, oracle, rng)
    with pytest.raises(ProofError):
        check(combine, sent)
    monkeypatch.setattr(transcript, "hashlib", SimpleNamespace(sha512=oracle.sha512))
    check(combine, sent)
    for text, begin, end, sort in sent.fields()[-2:]:
        assert sort in ("scalar", "short")
        with pytest.raises(ProofError):
            check(combine, sent.with_bytes(text, begin, end, bytes(end - begin)))


@pytest.mark.parametrize("kind", KINDS)
def test_honest_proofs_pass_beside_the_simulator(
    kind: Kind, small_kinds: dict[Kind, Sent], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "hashlib", SimpleNamespace(sha512=oracle.sha512))
    check(sodium.combine, small_kinds[kind])


# --- lengths ----------------------------------------------------------------------------------------------------------


def test_lengths_depend_on_sizes_alone(dealt: Dealt) -> None:
    """Neither on the seat, nor on the cards, nor on which token it is."""
    for numbers in ((0,), (9,), (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5, 6)):
        found = {len(dealt.share(giver, numbers).texts[0]) for giver in (0, 1)}
        assert found == {32 * len(numbers) + 48} == {POINT * len(numbers) + BRANCH}
    for count in (7, 10):
        tokens = (0, count - 1)
        assert {len(dealt.show(seat, i, count=count).texts[0]) for i in tokens for seat in (0, 1)} == {48 * count}
        assert {len(dealt.hide(seat, i, count=count).texts[0]) for i in tokens for seat in (0, 1)} == {32 + 48 * count}
    chosen = ((0, 1, 2), (9, 4, 3), (5,), (7, 8))
    assert {len(dealt.close(seat, hidden).texts[0]) for hidden in chosen for seat in (0, 1)} == {112} == {CLOSE}
    for party in dealt.parties:
        assert [len(text) for text in party.lock.texts] == [32 * 21, 32, 32 * (4 * 21 + 5)]


# --- nonces -----------------------------------------------------------------------------------------------------------


class Drawn:
    """Nonces of a seat, and all numbers that were taken from them."""

    def __init__(self, fresh: bytes = bytes(32), seat: int = 0) -> None:
        self.numbers: list[int] = []
        self._source = seal_of("nonces", seat).nonces(lambda count: fresh[:count])

    def __call__(self, state: ProofTranscript) -> Nonces:
        drawn, nonces = self.numbers, self._source(state)

        class Recorded(Nonces):
            """Notes each number that it gives."""

            def __init__(self) -> None:
                pass

            def scalar(self) -> int:
                drawn.append(nonces.scalar())
                return drawn[-1]

            def short(self) -> int:
                drawn.append(nonces.short())
                return drawn[-1]

        return Recorded()


def made(kind: Kind, at: Place, nonces: NonceSource, dealt: Dealt) -> bytes:
    """A proof that depends on the place and the nonces alone."""
    combine, host = sodium.combine, dealt.parties[0]
    match kind:
        case "lock":
            return make_lock(combine, at, HANAMIKOJI.points[:3], host.number, [2, 0, 1], nonces).proof
        case "share":
            round_ = int(hashlib.sha256(repr(at).encode()).hexdigest()[:12], 16)
            share = dealt.share_of(0, (3,))._replace(game=at.game, round=round_, giver=at.seat)
            return make_share(combine, share, host.number, nonces)
        case "show":
            return make_shown(combine, dealt.shown(0, 1, count=3)._replace(place=at), 1, host.number, nonces)
        case "hide":
            point, tokens = dealt.hide(0, 1).texts[0][:32], host.tokens[:3]
            return make_hidden(combine, HiddenStatement(at, 0, point, tokens), 1, dealt.blinding(0, 1), nonces)
        case "close":
            closing, rhos = dealt.closing(0)
            return make_close(combine, closing._replace(place=at), host.number, rhos[0], sum(rhos), nonces)


HERE: Final = place(0, 9)
ELSEWHERE: Final = (
    HERE._replace(game=OTHER_GAME),
    HERE._replace(seat=1),
    HERE._replace(round=2),
    HERE._replace(seq=10),
    place(0, 10),
)


@pytest.mark.parametrize("kind", KINDS)
def test_nonces_follow_from_statement_and_fresh_bytes(kind: Kind, dealt: Dealt) -> None:
    """The same make the same proof. If either differs, all numbers differ, and no two in a proof are equal."""
    seen: set[int] = set()
    one, again = Drawn(), Drawn()
    proof = made(kind, HERE, one, dealt)
    assert made(kind, HERE, again, dealt) == proof
    assert one.numbers == again.numbers
    assert len(one.numbers) >= 1
    others = [(at, Drawn()) for at in ELSEWHERE]
    others += [(HERE, Drawn(fresh=b"\1" * 32)), (HERE, Drawn(fresh=bytes(31) + b"\1")), (HERE, Drawn(seat=1))]
    seen.update(one.numbers)
    for at, drawn in others:
        assert made(kind, at, drawn, dealt) != proof
        assert len({*drawn.numbers}) == len(drawn.numbers) == len(one.numbers)
        assert not seen & {*drawn.numbers}
        seen.update(drawn.numbers)


def test_a_source_that_always_gives_the_same_never_repeats_a_nonce(dealt: Dealt) -> None:
    """Among all kinds of proof at all places."""
    drawn = Drawn()
    for at in (HERE, *ELSEWHERE[:-1]):
        for kind in KINDS:
            made(kind, at, drawn, dealt)
    for seat, part, token in product((0, 1), (0, 1), (0, 1)):
        shown = dealt.shown(seat, token, part=part, count=3, seq=50)
        make_shown(sodium.combine, shown, token, dealt.parties[seat].number, drawn)
    assert len(drawn.numbers) > 150
    assert len({*drawn.numbers}) == len(drawn.numbers)
    assert 0 not in drawn.numbers


@pytest.mark.parametrize("branch", [0, 2])
def test_the_true_branch_looks_like_the_others(dealt: Dealt, branch: int) -> None:
    """Its challenge is none that was drawn, and neither is its response, so it tells no nonce."""
    drawn = Drawn()
    party = dealt.parties[0]
    proof = make_shown(sodium.combine, dealt.shown(0, branch, count=3), branch, party.number, drawn)
    pairs = [proof[48 * j : 48 * j + 48] for j in range(3)]
    challenges = [int.from_bytes(pair[:16], "little") for pair in pairs]
    responses = [int.from_bytes(pair[16:], "little") for pair in pairs]
    assert min(challenges) > 2**64
    for j in range(3):
        assert (responses[j] in drawn.numbers) is (j != branch)
        assert (challenges[j] in drawn.numbers) is (j != branch)
    assert (responses[branch] - challenges[branch] * party.number) % L in drawn.numbers


@pytest.mark.parametrize("kind", ["share", "close"])
def test_a_response_is_nonce_and_challenge_times_secret(kind: Kind, dealt: Dealt) -> None:
    drawn = Drawn()
    proof = made(kind, HERE, drawn, dealt)
    _, rhos = dealt.closing(0)
    tail = proof[32 if kind == "share" else 0 :]
    challenge = int.from_bytes(tail[:16], "little")
    known = [dealt.parties[0].number, rhos[0], sum(rhos)] if kind == "close" else [dealt.parties[0].number]
    answers = [int.from_bytes(each, "little") for each in points_in(tail[16:])]
    assert [(z - challenge * each) % L for z, each in zip(answers, known, strict=True)] == drawn.numbers


def test_two_proofs_with_one_nonce_would_give_the_secret_away(dealt: Dealt) -> None:
    """Two challenges, one nonce: therefore nonces depend on the statement."""
    number, found = dealt.parties[0].number, []
    for seq in (9, 10):
        proof = made("close", place(0, seq), lambda state: Constant(), dealt)
        found.append((int.from_bytes(proof[:16], "little"), int.from_bytes(proof[16:48], "little")))
    (c, x), (c_, x_) = found
    assert c != c_
    assert (x - x_) * pow(c - c_, -1, L) % L == number
    honest = [made("close", place(0, seq), seal_of("a seat", 0).nonces(constant), dealt) for seq in (9, 10)]
    (c, x), (c_, x_) = ((int.from_bytes(p[:16], "little"), int.from_bytes(p[16:48], "little")) for p in honest)
    assert (x - x_) * pow(c - c_, -1, L) % L != number


class Constant(Nonces):
    """Always the same number."""

    def __init__(self) -> None:
        pass

    def scalar(self) -> int:
        return 12345


@pytest.mark.parametrize(("kind", "count"), [("lock", 4 * 3 + 4), ("share", 1), ("show", 6), ("hide", 6), ("close", 3)])
def test_how_many_numbers_a_proof_draws(kind: Kind, count: int, dealt: Dealt) -> None:
    drawn = Drawn()
    made(kind, HERE, drawn, dealt)
    assert len({*drawn.numbers}) == count


def test_each_number_of_a_lock_hides_one_thing(dealt: Dealt) -> None:
    """Each c, each link of the chain and each response has one of those that were drawn, and no two have the same."""
    combine, drawn, number, order = sodium.combine, Drawn(), 77, [2, 0, 1]
    lock = LockOf(HERE, HANAMIKOJI.points[:3])
    deck, key, proof = make_lock(combine, HERE, lock.before, number, order, drawn)
    parts, bases = points_in(proof), base_points(3)
    c, chain = parts[:3], (blind_point(), *parts[3:6])
    challenge, *answers = (int.from_bytes(each, "little") for each in parts[6:])
    state = lock_state(lock, deck, key).absorb(*c)
    u = [state.scalar("u") for _ in range(3)]
    weights = [u[index] for index in order]

    def hides(point: bytes, *known: tuple[int, bytes]) -> int:
        (found,) = (each for each in drawn.numbers if combine((each, GENERATOR), *known) == point)
        return found

    masks = {order[i]: hides(c[order[i]], (1, bases[i])) for i in range(3)}
    links = [hides(chain[i + 1], (weights[i], chain[i])) for i in range(3)]
    b = 0
    for link, weight in zip(links, weights, strict=True):
        b = link + weight * b
    d = sum(masks[j] * u[j] for j in range(3))
    secrets = (sum(masks.values()), b, d, number, *links, *weights)
    nonces = [(z - challenge * each) % L for z, each in zip(answers, secrets, strict=True)]
    assert sorted([*masks.values(), *links, *nonces]) == sorted(drawn.numbers)


def test_a_lock_is_hidden_by_its_nonces(dealt: Dealt) -> None:
    """With other fresh bytes every point and number of the proof differs, and deck and key do not."""
    at, before = place(0, 1), HANAMIKOJI.points[:3]
    one, other = (
        make_lock(sodium.combine, at, before, 5, [1, 2, 0], Drawn(fresh=bytes([fresh]) * 32)) for fresh in (0, 1)
    )
    assert (one.deck, one.key) == (other.deck, other.key)
    assert not {*points_in(one.proof)} & {*points_in(other.proof)}
    assert len({*points_in(one.proof)}) == 4 * 3 + 5
