"""The secrets of one seat in one game, all of them made from the player's sealed key.

docs/spec/sealed.md, "How a client makes them".

Every program of a player that knows log and entropy finds what another one has made.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import Final

from hkoji.rules.events import Seat
from hkoji.sealed.transcript import Nonces, NonceSource, nonzero

_FRESH_BYTES: Final = 32


class Seal:
    """The secrets of `seat` in `game`; `key` is the player's sealed key, 32 bytes."""

    __slots__ = ("_seal", "_seat")

    def __init__(self, key: bytes, game: str, seat: Seat) -> None:
        self._seal: Final = hmac.digest(key, f"hkoji.sealed.seal.v1\n{game}\n{seat}\n".encode(), "sha512")
        self._seat: Final = seat

    def lock_number(self, round_: int, prev: str, entropy: str, salt: str) -> int:
        """k, the number of a lock with that `salt`, in an entry with that `prev`; `entropy` is the player's own."""
        return nonzero(self._prf("lock", round_, prev, entropy, salt))

    def lock_order(self, size: int, round_: int, prev: str, entropy: str, salt: str) -> list[int]:
        """The permutation of a lock: at each place the index of the point that goes there."""
        return sorted(range(size), key=lambda index: self._prf("order", round_, prev, entropy, salt, index))

    def blinding(self, round_: int, prev: str, seq: int, action: str, part: int, token: int) -> int:
        """The number that hides `X` number `part` of a public action, for the token with that index."""
        return nonzero(self._prf("hide", round_, prev, seq, action, part, token))

    def copies(self, cards: Iterable[str], round_: int, key: bytes) -> list[str]:
        """`cards` in the order in which equal ones are played; `key` is that of the own lock."""
        return sorted(cards, key=lambda card: self._prf("copy", round_, key.hex(), card))

    def nonces(self, fresh: Callable[[int], bytes]) -> NonceSource:
        """The nonces of proofs; `fresh` takes a number and returns that many random bytes."""
        return lambda transcript: Nonces(self._seal, transcript, fresh(_FRESH_BYTES))

    def _prf(self, use: str, *arguments: int | str) -> bytes:
        lines = (f"hkoji.sealed.{use}.v1", self._seat, *arguments)
        return hmac.digest(self._seal, "".join(f"{line}\n" for line in lines).encode(), "sha512")
