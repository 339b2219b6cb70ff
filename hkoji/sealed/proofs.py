"""Proofs about single cards: shares, shown cards, hidden cards and the close. docs/spec/sealed.md, "Shares" and "Cards
that are played".

Each proof has a statement, which its transcript takes in first, and a `make_…` and a `verify_…` that share the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from hkoji.errors import ProofError
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.sealed.cards import blind_point
from hkoji.sealed.group import (
    GENERATOR,
    SHORT,
    SHORT_BYTES,
    Combine,
    cut,
    read_points,
    read_scalar,
    read_short,
    write_scalars,
    write_short,
)
from hkoji.sealed.ristretto import BYTES, ORDER
from hkoji.sealed.transcript import NonceSource, Place, ProofTranscript

BRANCH_BYTES: Final = SHORT_BYTES + BYTES
"""The length of a short challenge with its response."""


# --- shares -----------------------------------------------------------------------------------------------------------


class ShareStatement(NamedTuple):
    """The statement of a share: `giver` takes its lock, with that `key`, off positions `at` of the second deck."""

    game: str
    giver: Seat
    round: int
    at: tuple[int, ...]
    key: bytes
    deck: tuple[bytes, ...]
    """The points at these positions, in their order."""


def make_share(combine: Combine, share: ShareStatement, number: int, nonces: NonceSource) -> bytes:
    """The tokens and their proof; `number` is that of the giver's lock."""
    inverse = pow(number, -1, ORDER)
    tokens = tuple(combine((inverse, point)) for point in share.deck)
    transcript = _share_state(share, tokens)
    nonce = nonces(transcript).scalar()
    challenge = transcript.absorb(*(combine((nonce, point)) for point in (GENERATOR, *tokens))).short()
    return b"".join(tokens) + write_short(challenge) + write_scalars(nonce + challenge * number)


def verify_share(combine: Combine, share: ShareStatement, shares: bytes) -> None:
    """Checks a share. Raises `ProofError` or `MalformedError`."""
    *raw, short, scalar = cut(shares, *[BYTES] * len(share.at), SHORT_BYTES, BYTES)
    tokens, challenge, response = read_points(raw), read_short(short), read_scalar(scalar)
    pairs = zip((GENERATOR, *tokens), (share.key, *share.deck), strict=True)
    announced = (combine((response, base), (-challenge, image)) for base, image in pairs)
    if _share_state(share, tokens).absorb(*announced).short() != challenge:
        raise ProofError(tell("the proof of the cards that are given does not hold"))


def _share_state(share: ShareStatement, tokens: Sequence[bytes]) -> ProofTranscript:
    transcript = ProofTranscript("share", bytes.fromhex(share.game), bytes([share.giver]), share.round, bytes(share.at))
    transcript.absorb(len(tokens), share.key)
    for token, point in zip(tokens, share.deck, strict=True):
        transcript.absorb(token, point)
    return transcript


# --- one of several ---------------------------------------------------------------------------------------------------

_Branch: TypeAlias = Callable[[int, int, int], Sequence[bytes]]
"""The commitments of a branch, from its index, challenge and response."""


def _prove_one(
    branch: _Branch, size: int, true: int, secret: int, state: ProofTranscript, nonces: NonceSource
) -> bytes:
    """The proof that one of `size` branches holds; the branch `true` does, with `secret`."""
    nonce = nonces(state)
    challenges = [nonce.short() for _ in range(size)]
    responses = [nonce.scalar() for _ in range(size)]
    challenges[true] = 0  # so the commitments of this branch are those of its nonce
    for index in range(size):
        state.absorb(*branch(index, challenges[index], responses[index]))
    challenges[true] = (state.short() - sum(challenges)) % SHORT
    responses[true] += challenges[true] * secret
    return b"".join(write_short(c) + write_scalars(z) for c, z in zip(challenges, responses, strict=True))


def _holds_one(branch: _Branch, size: int, proof: bytes, state: ProofTranscript) -> bool:
    parts = cut(proof, *[SHORT_BYTES, BYTES] * size)
    challenges, responses = [*map(read_short, parts[::2])], [*map(read_scalar, parts[1::2])]
    for index in range(size):
        state.absorb(*branch(index, challenges[index], responses[index]))
    return state.short() == sum(challenges) % SHORT


# --- shown cards ------------------------------------------------------------------------------------------------------


class ShownStatement(NamedTuple):
    """The statement of a shown card: the seat with the lock key `key` holds `card`, M_c, among its `tokens`."""

    place: Place
    part: int
    """The number of the card in its action, from 0."""
    key: bytes
    card: bytes
    tokens: tuple[bytes, ...]


def make_shown(combine: Combine, shown: ShownStatement, token: int, number: int, nonces: NonceSource) -> bytes:
    """The proof of the card that the token with index `token` is; `number` is that of the seat's own lock."""
    return _prove_one(*_shown(combine, shown), token, number, _shown_state(shown), nonces)


def verify_shown(combine: Combine, shown: ShownStatement, proof: bytes) -> None:
    """Checks the proof of a shown card. Raises `ProofError` or `MalformedError`."""
    if not _holds_one(*_shown(combine, shown), proof, _shown_state(shown)):
        raise ProofError(tell("the proof that the card is held does not hold"))


def _shown(combine: Combine, shown: ShownStatement) -> tuple[_Branch, int]:
    def branch(index: int, challenge: int, response: int) -> Sequence[bytes]:
        return (
            combine((response, GENERATOR), (-challenge, shown.key)),
            combine((response, shown.card), (-challenge, shown.tokens[index])),
        )

    return branch, len(shown.tokens)


def _shown_state(shown: ShownStatement) -> ProofTranscript:
    transcript = shown.place.transcript("show")
    return transcript.absorb(shown.part, len(shown.tokens), shown.key, shown.card, *shown.tokens)


# --- hidden cards -----------------------------------------------------------------------------------------------------


class HiddenStatement(NamedTuple):
    """The statement of a hidden card: `point` hides one of `tokens`."""

    place: Place
    part: int
    """The number of the card among those of its action, from 0."""
    point: bytes
    tokens: tuple[bytes, ...]


def hide(combine: Combine, token: bytes, blinding: int) -> bytes:
    """C, the point that hides a token."""
    return combine((1, token), (blinding, blind_point()))


def make_hidden(combine: Combine, hidden: HiddenStatement, token: int, blinding: int, nonces: NonceSource) -> bytes:
    """The proof of the point that `hide` has made of the token with index `token`."""
    return _prove_one(*_hidden(combine, hidden), token, blinding, _hidden_state(hidden), nonces)


def verify_hidden(combine: Combine, hidden: HiddenStatement, proof: bytes) -> None:
    """Checks the proof of a hidden card. Raises `ProofError` or `MalformedError`."""
    if hidden.point in hidden.tokens:
        raise ProofError(tell("a card that is played face down is not hidden"))
    read_points((hidden.point,))
    if not _holds_one(*_hidden(combine, hidden), proof, _hidden_state(hidden)):
        raise ProofError(tell("the proof that the hidden card is held does not hold"))


def _hidden(combine: Combine, hidden: HiddenStatement) -> tuple[_Branch, int]:
    def branch(index: int, challenge: int, response: int) -> Sequence[bytes]:
        token = hidden.tokens[index]
        return (combine((response, blind_point()), (-challenge, hidden.point), (challenge, token)),)

    return branch, len(hidden.tokens)


def _hidden_state(hidden: HiddenStatement) -> ProofTranscript:
    return hidden.place.transcript("hide").absorb(hidden.part, len(hidden.tokens), hidden.point, *hidden.tokens)


# --- the close --------------------------------------------------------------------------------------------------------


class CloseStatement(NamedTuple):
    """The statement of a close: all `tokens` are the cards `shown`, as M_c, and those in `hidden`, each once.

    `counts` is the hidden point that counts, and `card` the M_c of the card that it hides.
    """

    place: Place
    key: bytes
    card: bytes
    counts: bytes
    shown: tuple[bytes, ...]
    hidden: tuple[bytes, ...]
    tokens: tuple[bytes, ...]


def make_close(
    combine: Combine, closing: CloseStatement, number: int, blinding: int, all_blindings: int, nonces: NonceSource
) -> bytes:
    """The proof of a close.

    `number` is that of the seat's own lock, `blinding` that of the point that counts, `all_blindings` the sum of all.
    """
    blind, (total, _), transcript = blind_point(), *_sums_and_state(combine, closing)
    nonce = nonces(transcript)
    x, y, v = nonce.scalar(), nonce.scalar(), nonce.scalar()
    announced = (combine((x, GENERATOR)), combine((x, closing.card), (y, blind)), combine((x, total), (-v, blind)))
    challenge = transcript.absorb(*announced).short()
    responses = (x + challenge * number, y + challenge * blinding, v + challenge * all_blindings)
    return write_short(challenge) + write_scalars(*responses)


def verify_close(combine: Combine, closing: CloseStatement, proof: bytes) -> None:
    """Checks a close. Raises `ProofError` or `MalformedError`."""
    short, *raw = cut(proof, SHORT_BYTES, BYTES, BYTES, BYTES)
    challenge, (x, y, v) = read_short(short), map(read_scalar, raw)
    blind, (total, rest), transcript = blind_point(), *_sums_and_state(combine, closing)
    announced = (
        combine((x, GENERATOR), (-challenge, closing.key)),
        combine((x, closing.card), (y, blind), (-challenge, closing.counts)),
        combine((x, total), (-v, blind), (-challenge, rest)),
    )
    if transcript.absorb(*announced).short() != challenge:
        raise ProofError(tell("the proof of the cards of the round does not hold"))


def _sums_and_state(combine: Combine, closing: CloseStatement) -> tuple[tuple[bytes, bytes], ProofTranscript]:
    """S and D, and the transcript with the statement."""
    total = combine(*((1, point) for point in closing.shown))
    rest = combine(*((1, token) for token in closing.tokens), *((-1, point) for point in closing.hidden))
    state = closing.place.transcript("close").absorb(closing.key, closing.card, closing.counts, total, rest)
    return (total, rest), state
