"""Transcripts, commitments and provers of sealed games, a second time, from docs/spec/sealed.md.

The provers make any proof that one asks for: nobody holds them to the truth. So an honest proof of theirs shows that
the package reads the page as they do, and with a lie they are the strongest cheats that keep to the form. They
use the package's sum of products in the group, and its named tuples of statements.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Final

from hkoji.sealed.cards import base_points, blind_point
from hkoji.sealed.group import GENERATOR, Combine
from hkoji.sealed.proofs import CloseStatement, ShareStatement, ShownStatement
from hkoji.sealed.transcript import Place
from tests.support.sealed import HiddenOf, LockOf, points_in

L: Final = 2**252 + 27742317777372353535851937790883648493
SHORT: Final = 2**128
Row = dict[int, int]
"""A row of a matrix: its numbers that are not 0, by column."""


class PageTranscript:
    """All bytes that a transcript was fed. `digests` has what was asked for, in order."""

    def __init__(self, label: str, *context: bytes) -> None:
        self.fed = b""
        self.absorb(b"hkoji.sealed.v1", label.encode(), *context)

    def absorb(self, *items: bytes | int) -> PageTranscript:
        for item in items:
            raw = u64be(item) if isinstance(item, int) else item
            self.fed += len(raw).to_bytes(4, "big") + raw
        return self

    def digest(self, label: str) -> bytes:
        """Absorbs a label, and returns the digest."""
        return hashlib.sha512(self.absorb(label.encode()).fed).digest()

    def scalar(self, label: str) -> int:
        return int.from_bytes(self.digest(label), "little") % L

    def short(self) -> int:
        return int.from_bytes(self.digest("c")[:16], "little")


def u64be(value: int) -> bytes:
    return value.to_bytes(8, "big")


def _of_entry(place: Place) -> tuple[bytes, ...]:
    game, seat, round_, seq, prev = place
    return bytes.fromhex(game), bytes([seat]), u64be(round_), u64be(seq), bytes.fromhex(prev)


def written(*numbers: int) -> bytes:
    """Scalars in bytes."""
    return b"".join((number % L).to_bytes(32, "little") for number in numbers)


def written_short(challenge: int) -> bytes:
    return (challenge % SHORT).to_bytes(16, "little")


# --- locks ------------------------------------------------------------------------------------------------------------


def lock_state(lock: LockOf, deck: Sequence[bytes], key: bytes) -> PageTranscript:
    state = PageTranscript("lock", *_of_entry(lock.place))
    return state.absorb(len(lock.before), key, *lock.before, *deck)


def lock_commitments(
    combine: Combine, lock: LockOf, deck: Sequence[bytes], key: bytes, proof: bytes, u: Sequence[int]
) -> list[bytes]:
    """The commitments that the verifier computes for equations 1 to n + 5."""
    n, blind = len(lock.before), blind_point()
    points, numbers = (
        points_in(proof[: 64 * n]),
        [int.from_bytes(each, "little") for each in points_in(proof[64 * n :])],
    )
    h, c, chain = base_points(n), points[:n], (blind, *points[n:])
    challenge, z_a, z_b, z_d, z_k, *rest = numbers
    z_s, z_u = rest[:n], rest[n:]
    product = 1
    for each in u:
        product = product * each % L
    first = combine(*((1, point) for point in c), *((-1, point) for point in h))
    second = combine((1, chain[n]), (-product, blind))
    third = combine(*zip(u, c, strict=True))
    mixed = combine(*zip(u, lock.before, strict=True))
    return [
        combine((z_a, GENERATOR), (-challenge, first)),
        combine((z_b, GENERATOR), (-challenge, second)),
        combine((z_d, GENERATOR), *zip(z_u, h, strict=True), (-challenge, third)),
        combine(*zip(z_u, deck, strict=True), (-z_k, mixed)),
        combine((z_k, GENERATOR), (-challenge, key)),
        *(combine((z_s[i], GENERATOR), (z_u[i], chain[i]), (-challenge, chain[i + 1])) for i in range(n)),
    ]


def prove_lock(
    combine: Combine,
    lock: LockOf,
    deck: Sequence[bytes],
    key: bytes,
    number: int,
    rows: Sequence[Row],
    rng: random.Random,
    *,
    weigh: Callable[[list[int]], list[int]] | None = None,
    forced: bool = False,
    judged: bool = True,
) -> tuple[bytes, set[int]]:
    """A proof about a deck and a key, by somebody who commits to the matrix with these rows.

    `weigh` gives u' from u, if it is not what the matrix gives. With `forced`, the last link of the chain ends where
    equation 2 wants it. Also returns the numbers of the equations that do not hold, if that is to be `judged`.
    """
    n, h, blind = len(lock.before), base_points(len(lock.before)), blind_point()

    def some(count: int) -> list[int]:
        return [rng.randrange(1, L) for _ in range(count)]

    state = lock_state(lock, deck, key)
    r = some(n)
    c = [combine((r[j], GENERATOR), *((rows[i].get(j, 0), h[i]) for i in range(n))) for j in range(n)]
    state.absorb(*c)
    u = [state.scalar("u") for _ in range(n)]
    weights = [sum(each * u[j] for j, each in row.items()) % L for row in rows] if weigh is None else weigh(u)

    links, chain, b = some(n), [blind], 0
    for link, weight in zip(links, weights, strict=True):
        chain.append(combine((link, GENERATOR), (weight, chain[-1])))
        b = (link + weight * b) % L
    if forced:
        product = 1
        for each in u:
            product = product * each % L
        b = rng.randrange(1, L)
        chain[n] = combine((b, GENERATOR), (product, blind))
    state.absorb(*chain[1:])

    secrets = [sum(r), b, sum(x * y for x, y in zip(r, u, strict=True)), number, *links, *weights]
    nonces = some(len(secrets))
    w_links, w_weights = nonces[4 : n + 4], nonces[n + 4 :]
    mixed = combine(*zip(u, lock.before, strict=True))
    announced = [
        combine((nonces[0], GENERATOR)),
        combine((nonces[1], GENERATOR)),
        combine((nonces[2], GENERATOR), *zip(w_weights, h, strict=True)),
        combine(*zip(w_weights, deck, strict=True), (-nonces[3], mixed)),
        combine((nonces[3], GENERATOR)),
        *(combine((w_links[i], GENERATOR), (w_weights[i], chain[i])) for i in range(n)),
    ]
    challenge = state.absorb(*announced).scalar("c")
    responses = (w + challenge * each for w, each in zip(nonces, secrets, strict=True))
    proof = b"".join((*c, *chain[1:])) + written(challenge, *responses)
    computed = lock_commitments(combine, lock, deck, key, proof, u) if judged else announced
    return proof, {number for number, pair in enumerate(zip(announced, computed, strict=True), 1) if pair[0] != pair[1]}


# --- shares -----------------------------------------------------------------------------------------------------------


def share_state(share: ShareStatement, tokens: Sequence[bytes]) -> PageTranscript:
    context = bytes.fromhex(share.game), bytes([share.giver]), u64be(share.round), bytes(share.at)
    state = PageTranscript("share", *context).absorb(len(share.at), share.key)
    for token, point in zip(tokens, share.deck, strict=True):
        state.absorb(token, point)
    return state


def share_commitments(
    combine: Combine, share: ShareStatement, tokens: Sequence[bytes], challenge: int, z: int
) -> list[bytes]:
    return [
        combine((z, GENERATOR), (-challenge, share.key)),
        *(combine((z, t), (-challenge, y)) for t, y in zip(tokens, share.deck, strict=True)),
    ]


def prove_share(
    combine: Combine, share: ShareStatement, tokens: Sequence[bytes], number: int, rng: random.Random
) -> bytes:
    """A share with any tokens, by somebody who knows `number`."""
    nonce = rng.randrange(1, L)
    state = share_state(share, tokens).absorb(*share_commitments(combine, share, tokens, 0, nonce))
    challenge = state.short()
    return b"".join(tokens) + written_short(challenge) + written(nonce + challenge * number)


# --- shown and hidden cards -------------------------------------------------------------------------------------------


def show_state(shown: ShownStatement) -> PageTranscript:
    state = PageTranscript("show", *_of_entry(shown.place))
    return state.absorb(shown.part, len(shown.tokens), shown.key, shown.card, *shown.tokens)


def show_commitments(combine: Combine, shown: ShownStatement, j: int, c: int, z: int) -> list[bytes]:
    return [
        combine((z, GENERATOR), (-c, shown.key)),
        combine((z, shown.card), (-c, shown.tokens[j])),
    ]


def hide_state(hidden: HiddenOf, point: bytes) -> PageTranscript:
    state = PageTranscript("hide", *_of_entry(hidden.place))
    return state.absorb(hidden.part, len(hidden.tokens), point, *hidden.tokens)


def hide_commitments(combine: Combine, hidden: HiddenOf, point: bytes, j: int, c: int, z: int) -> list[bytes]:
    return [combine((z, blind_point()), (-c, combine((1, point), (-1, hidden.tokens[j]))))]


def prove_show(combine: Combine, shown: ShownStatement, branch: int, secret: int, rng: random.Random) -> bytes:
    """The proof of somebody who takes the branch for true, with that number."""
    count = len(shown.tokens)
    return _prove_branch(
        lambda j, c, z: show_commitments(combine, shown, j, c, z), count, branch, secret, show_state(shown), rng
    )


def prove_hide(combine: Combine, hidden: HiddenOf, point: bytes, branch: int, secret: int, rng: random.Random) -> bytes:
    """The proof of somebody who takes the branch for true, with that number."""
    count = len(hidden.tokens)
    return _prove_branch(
        lambda j, c, z: hide_commitments(combine, hidden, point, j, c, z),
        count, branch, secret, hide_state(hidden, point), rng,
    )  # fmt: skip


def _prove_branch(
    commitments: Callable[[int, int, int], list[bytes]],
    count: int,
    branch: int,
    secret: int,
    state: PageTranscript,
    rng: random.Random,
) -> bytes:
    challenges = [rng.randrange(SHORT) for _ in range(count)]
    responses = [rng.randrange(L) for _ in range(count)]
    for j in range(count):
        state.absorb(*commitments(j, 0 if j == branch else challenges[j], responses[j]))
    challenges[branch] = (state.short() - sum(challenges) + challenges[branch]) % SHORT
    responses[branch] += challenges[branch] * secret
    return b"".join(written_short(c) + written(z) for c, z in zip(challenges, responses, strict=True))


# --- the close --------------------------------------------------------------------------------------------------------


def close_sums(combine: Combine, closing: CloseStatement) -> tuple[bytes, bytes]:
    """S and D."""
    tokens, hidden = (combine(*((1, each) for each in some)) for some in (closing.tokens, closing.hidden))
    return combine(*((1, each) for each in closing.shown)), combine((1, tokens), (-1, hidden))


def close_state(closing: CloseStatement, sums: tuple[bytes, bytes]) -> PageTranscript:
    state = PageTranscript("close", *_of_entry(closing.place))
    return state.absorb(closing.key, closing.card, closing.counts, *sums)


def close_commitments(
    combine: Combine, closing: CloseStatement, sums: tuple[bytes, bytes], c: int, x: int, y: int, v: int
) -> list[bytes]:
    blind = blind_point()
    return [
        combine((x, GENERATOR), (-c, closing.key)),
        combine((x, closing.card), (y, blind), (-c, closing.counts)),
        combine((x, sums[0]), (-v, blind), (-c, sums[1])),
    ]


def prove_close(
    combine: Combine, closing: CloseStatement, number: int, blinding: int, total: int, rng: random.Random
) -> tuple[bytes, set[int]]:
    """The proof of somebody who knows these numbers, and the numbers of the equations that do not hold, from 1."""
    sums, nonces = close_sums(combine, closing), [rng.randrange(1, L) for _ in range(3)]
    announced = close_commitments(combine, closing, sums, 0, *nonces)
    c = close_state(closing, sums).absorb(*announced).short()
    x, y, v = (nonce + c * each for nonce, each in zip(nonces, (number, blinding, total), strict=True))
    computed = close_commitments(combine, closing, sums, c, x, y, v)
    broken = {number for number, pair in enumerate(zip(announced, computed, strict=True), 1) if pair[0] != pair[1]}
    return written_short(c) + written(x, y, v), broken
