"""Signed heads: the service's word on which entry is the last of a game. docs/spec/log.md, "Signed heads".

A head says that no later entry has a time of record more than 120 seconds before its time. So that time is one that
`ServiceTime.drained` has returned, before the head is read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from hkoji.errors import NotFoundError
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_head
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.service_time import ServiceTime
from hkoji_server.store.contract import Store

VALID: Final = 10.0
"""How many seconds a signature is shown again."""


class _Kept(NamedTuple):
    head: str
    at: float
    signed: SignedHead


class SignedHeads:
    """Signs the heads of games with the service's key; at most `most` signatures are kept in memory."""

    def __init__(self, store: Store, time: ServiceTime, sources: ClockAndEntropy, signer: Signer, *, most: int) -> None:
        self._store = store
        self._time = time
        self._sources = sources
        self._signer = signer
        self._most = most
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def head(self, game: str) -> SignedHead:
        """Returns the signed head of a game. Raises `NotFoundError`, `ClockError`, `StorageError`."""
        at = await self._time.drained()
        found = await self._store.head(game)
        if found is None:
            raise NotFoundError(tell("game"), game)
        seq, head = found
        elapsed = self._sources.elapsed()
        kept = self._kept.get(game)
        # What was said a moment ago of the same head is true still.
        if kept is not None and kept.head == head and elapsed - kept.at < VALID:
            return kept.signed
        statement = make_head(at=at, game=game, head=head, seq=seq)
        signed = SignedHead(statement, self._signer.sign(sshsig.HEAD, statement.message))
        self._kept[game] = _Kept(head, elapsed, signed)
        self._kept.move_to_end(game)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return signed
