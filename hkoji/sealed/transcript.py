"""Transcripts, from which proofs take their challenges, and nonces. docs/spec/sealed.md, "Transcripts"."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Final, NamedTuple, Self, TypeAlias

from hkoji.rules.events import Seat
from hkoji.sealed.group import SHORT_BYTES
from hkoji.sealed.ristretto import ORDER

_PROTOCOL: Final = b"hkoji.sealed.v1"


class ProofTranscript:
    """A SHA-512 state that all of a proof goes into, its statement first."""

    __slots__ = ("_state",)

    def __init__(self, label: str, *context: bytes | int) -> None:
        self._state = hashlib.sha512()
        self.absorb(_PROTOCOL, label.encode(), *context)

    def absorb(self, *items: bytes | int) -> Self:
        """Takes items in: bytes, elements of the group among them, and numbers of 64 bits."""
        for item in items:
            raw = number(item) if isinstance(item, int) else item
            self._state.update(len(raw).to_bytes(4, "big") + raw)
        return self

    def scalar(self, label: str) -> int:
        """A challenge, modulo the order of the group."""
        return int.from_bytes(self._digest(label), "little") % ORDER

    def short(self) -> int:
        """A short challenge, the last of its proof."""
        return int.from_bytes(self._digest("c")[:SHORT_BYTES], "little")

    def bound(self, fresh: bytes) -> bytes:
        """Bytes for nonces, which depend on all that the transcript has taken in. The transcript stays as it is."""
        return self._state.digest() + fresh

    def _digest(self, label: str) -> bytes:
        self.absorb(label.encode())
        return self._state.digest()


def number(value: int) -> bytes:
    """A number as transcripts take it in: 8 bytes, big endian."""
    return value.to_bytes(8, "big")


class Place(NamedTuple):
    """The place of a proof: game, author's seat and round, and the `seq` and `prev` of the entry that carries it."""

    game: str
    seat: Seat
    round: int
    seq: int
    prev: str

    def transcript(self, label: str) -> ProofTranscript:
        """The transcript of a proof of that label in this entry."""
        game, prev = bytes.fromhex(self.game), bytes.fromhex(self.prev)
        return ProofTranscript(label, game, bytes([self.seat]), self.round, self.seq, prev)


class Nonces:
    """The secret numbers of one proof.

    They depend on the seal, the statement and fresh random bytes. So no retry, fork, restored copy or bad source of
    random bytes alone makes a nonce come again.
    """

    __slots__ = ("_count", "_key")

    def __init__(self, seal: bytes, transcript: ProofTranscript, fresh: bytes) -> None:
        self._key = hmac.digest(seal, b"hkoji.sealed.nonce.v1\n" + transcript.bound(fresh), "sha512")
        self._count = 0

    def scalar(self) -> int:
        """A number from 1 to the order of the group, exclusively."""
        return nonzero(self._next())

    def short(self) -> int:
        """A number that looks like a short challenge."""
        return int.from_bytes(self._next()[:SHORT_BYTES], "little")

    def _next(self) -> bytes:
        self._count += 1
        return hmac.digest(self._key, number(self._count), "sha512")


NonceSource: TypeAlias = Callable[[ProofTranscript], Nonces]
"""Gives the nonces of a proof whose statement the transcript has taken in."""


def nonzero(digest: bytes) -> int:
    """The number from 1 to the order of the group, exclusively, that 64 uniformly distributed bytes give."""
    return int.from_bytes(digest, "little") % (ORDER - 1) + 1
