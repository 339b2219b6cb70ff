"""Locks: one player's step of the shuffle, and the proof that it is one. docs/spec/sealed.md, "Locks".

The proof is that of Terelius and Wikström (2010) for the map "multiply by k", as Haenni, Locher, Koenig and Dubuis
(2017) print its computation. The names c, u and ĉ (here `chain`), and the order of equations, are those of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hkoji.errors import MalformedError, ProofError
from hkoji.messages.text import tell
from hkoji.sealed.cards import base_points, blind_point
from hkoji.sealed.group import GENERATOR, Combine, cut, read_points, read_scalar, write_scalars
from hkoji.sealed.ristretto import BYTES, ORDER
from hkoji.sealed.transcript import NonceSource, Place, ProofTranscript


class Lock(NamedTuple):
    """A locked deck, its key K and its proof."""

    deck: tuple[bytes, ...]
    key: bytes
    proof: bytes


def make_lock(
    combine: Combine, place: Place, before: Sequence[bytes], number: int, order: Sequence[int], nonces: NonceSource
) -> Lock:
    """Multiplies a deck by `number`, and puts at each place i the point with index `order[i]`.

    `place` is that of the entry that brings the lock; its round is the one that the lock is for.
    """
    deck = tuple(combine((number, before[index])) for index in order)
    unproved = Lock(deck, combine((number, GENERATOR)), b"")
    return unproved._replace(proof=_prove(combine, place, before, unproved, number, order, nonces))


def _prove(
    combine: Combine,
    place: Place,
    before: Sequence[bytes],
    lock: Lock,
    number: int,
    order: Sequence[int],
    nonces: NonceSource,
) -> bytes:
    size, blind, bases = len(before), blind_point(), base_points(len(before))
    transcript = _state(place, before, lock)
    nonce = nonces(transcript)

    def scalars() -> list[int]:
        return [nonce.scalar() for _ in range(size)]

    masks, base_of = scalars(), dict(zip(order, bases, strict=True))
    commitments = [combine((mask, GENERATOR), (1, base_of[index])) for index, mask in enumerate(masks)]
    coefficients = _coefficients(transcript, commitments)
    weights = [coefficients[index] for index in order]

    # Each ĉ is opened as r·G + u·H, so that two products make it.
    links, openings = scalars(), [(0, 1)]
    for link, weight in zip(links, weights, strict=True):
        r, u = openings[-1]
        openings.append(((link + weight * r) % ORDER, weight * u % ORDER))
    chain = [combine((r, GENERATOR), (u, blind)) for r, u in openings[1:]]
    weighted = sum(mask * each for mask, each in zip(masks, coefficients, strict=True))
    secrets = (sum(masks), openings[-1][0], weighted, number, *links, *weights)

    w_masks, w_chain, w_weighted, w_number = (nonce.scalar() for _ in range(4))
    w_links, w_weights = scalars(), scalars()
    # The card at place i is number · before[order[i]], so that one product a card makes both halves of the sum.
    own = {index: number * weight for index, weight in zip(order, w_weights, strict=True)}
    mixed = [own[index] + (ORDER - w_number) * each for index, each in enumerate(coefficients)]
    announced = (
        combine((w_masks, GENERATOR)),
        combine((w_chain, GENERATOR)),
        combine((w_weighted, GENERATOR), *zip(w_weights, bases, strict=True)),
        combine(*zip(mixed, before, strict=True)),
        combine((w_number, GENERATOR)),
        *(
            combine((w_link + w_weight * r, GENERATOR), (w_weight * u, blind))
            for w_link, w_weight, (r, u) in zip(w_links, w_weights, openings[:-1], strict=True)
        ),
    )
    challenge = transcript.absorb(*chain, *announced).scalar("c")
    hiding = (w_masks, w_chain, w_weighted, w_number, *w_links, *w_weights)
    responses = (w + challenge * secret for w, secret in zip(hiding, secrets, strict=True))
    return b"".join((*commitments, *chain)) + write_scalars(challenge, *responses)


def verify_lock(combine: Combine, place: Place, before: Sequence[bytes], lock: Lock) -> None:
    """Checks that a lock is a shuffle of the deck `before`. Raises `ProofError` or `MalformedError`."""
    size, blind, bases = len(before), blind_point(), base_points(len(before))
    parts = cut(lock.proof, *[BYTES] * (4 * size + 5))
    if len(lock.deck) != size:
        raise MalformedError(
            tell("lock"), tell("the number of cards in its deck is {count}, not {due}", count=len(lock.deck), due=size)
        )
    if len({*lock.deck, *before}) != 2 * size:
        raise ProofError(tell("points of the shuffled deck are repeated, or are points of the deck before"))
    deck, (key,) = read_points(lock.deck), read_points((lock.key,))
    commitments, chain = read_points(parts[:size]), read_points(parts[size : 2 * size])
    challenge, z_masks, z_chain, z_weighted, z_number, *rest = map(read_scalar, parts[2 * size :])
    z_links, z_weights = rest[:size], rest[size:]

    transcript = _state(place, before, lock)
    coefficients = _coefficients(transcript, commitments)
    product = 1
    for each in coefficients:
        product = product * each % ORDER
    masked = combine(*((1, point) for point in commitments), *((-1, base) for base in bases))
    announced = (
        combine((z_masks, GENERATOR), (-challenge, masked)),
        combine((z_chain, GENERATOR), (-challenge, chain[-1]), (challenge * product, blind)),
        combine(
            (z_weighted, GENERATOR),
            *zip(z_weights, bases, strict=True),
            *((-challenge * each, point) for each, point in zip(coefficients, commitments, strict=True)),
        ),
        combine(
            *zip(z_weights, deck, strict=True),
            *((-z_number * each, point) for each, point in zip(coefficients, before, strict=True)),
        ),
        combine((z_number, GENERATOR), (-challenge, key)),
        *(
            combine((z_link, GENERATOR), (z_weight, point), (-challenge, following))
            for z_link, z_weight, point, following in zip(z_links, z_weights, (blind, *chain[:-1]), chain, strict=True)
        ),
    )
    if transcript.absorb(*chain, *announced).scalar("c") != challenge:
        raise ProofError(tell("the proof that the deck was shuffled does not hold"))


def _state(place: Place, before: Sequence[bytes], lock: Lock) -> ProofTranscript:
    """The transcript of a lock with its statement."""
    return place.transcript("lock").absorb(len(before), lock.key, *before, *lock.deck)


def _coefficients(transcript: ProofTranscript, commitments: Sequence[bytes]) -> list[int]:
    """u_0 …, which come only when the permutation is committed to."""
    transcript.absorb(*commitments)
    return [transcript.scalar("u") for _ in commitments]
