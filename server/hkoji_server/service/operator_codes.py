"""The operator's codes: how they are made, and in which form the store has them.

A code is drawn at random and shown once. The store has its digest, so that a stolen database has no codes.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.player_contract import OperatorCode


class MadeCode(NamedTuple):
    """A new code, and when it expires."""

    code: str
    expires: str


def digest_of(secret: str) -> str:
    """Returns the form in which the store has a code, a token or the nonce of a challenge."""
    return sha256(secret.encode()).hexdigest()


async def make_code(
    store: Store, sources: ClockAndEntropy, lifetime: int, *, uses: int = 1, name: str | None = None
) -> MadeCode:
    """Makes a code that is valid for `lifetime` seconds: for another key of `name`, or for `uses` new players."""
    made = MadeCode(sources.entropy(20).hex(), sources.at(lifetime))
    await store.add_code(OperatorCode(digest_of(made.code), made.expires, uses, name))
    return made
