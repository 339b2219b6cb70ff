"""Checks the proofs of sealed games in another process, one entry after the other.

docs/adr/0025-two-players-deal.md. The proofs of one entry take longer than all else that a service does for it, and the
interpreter lock with them. So neither the event loop nor a thread of this process checks any.

Games that have two players come first, and offers that are being opened take only a part of the places. A player has
one place: only an entry with their signature, in its place and turn and legal but for its proofs, comes here at all.

An entry keeps the time at which it came. So it waits less than `OLDEST` seconds, after which no decision is written.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.errors import BusyError, HkojiError, ProofError, StorageError, TooManyError
from hkoji.game.sealed_parts import GivePart
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.service.games import proof_process
from hkoji_server.service.games.proof_process import LENGTH, Failure, Verdict, frame

if TYPE_CHECKING:
    from hkoji.game.proving import ProofCheck

MOST: Final = 32
"""How many entries may wait, with the one whose proofs are being checked."""
MOST_OFFERS: Final = 8
"""How many of them may be of games that have no guest."""
PATIENCE: Final = 30.0
"""The seconds that an entry may wait and be checked."""
_LONGEST: Final = 10.0
"""The seconds that the proofs of an entry may take."""
_AGAIN: Final = 2
_SOON: Final = 1


def _nothing(_: object) -> None:
    """The callback if there are no metrics."""


class Proved(NamedTuple):
    """All that the proofs of an entry depend on: its head, which names the entries before it, and the deposit with it.

    `joined` says whether the game has two players.
    """

    player: str
    head: str
    deposit: GivePart | None
    joined: bool


class _Waiting(NamedTuple):
    proved: Proved
    checks: bytes
    until: float
    verdict: asyncio.Future[HkojiError | None]


class ProofWorker:
    """Checks proofs for the event loop that calls it. Its process is started with the first of them.

    `count` is called with what has become of each entry (held, refused, failed, busy), `waiting` with the number that
    wait.
    """

    def __init__(self, count: Callable[[str], None] = _nothing, waiting: Callable[[int], None] = _nothing) -> None:
        self._count = count
        self._show = waiting
        self._of_player: dict[str, _Waiting] = {}
        self._lanes = {True: deque[_Waiting](), False: deque[_Waiting]()}
        """The entries that wait for their turn, of games that have two players and of the others."""
        self._process: Process | None = None
        self._working: asyncio.Task[None] | None = None
        self._closed = False

    def verify_room(self, proved: Proved) -> None:
        """Raises `BusyError` or `TooManyError` if there is no place for an entry, or `StorageError` after `close`."""
        if self._closed:
            raise StorageError(tell("the service is stopping"), hint=tell("try again later"))
        own = self._of_player.get(proved.player)
        if own is not None:
            if own.proved != proved:
                raise TooManyError(_SOON, tell("the proofs of another entry of this player are being checked"))
            return
        offers = 0 if proved.joined else sum(not each.proved.joined for each in self._of_player.values())
        if len(self._of_player) >= MOST or offers >= MOST_OFFERS:
            self._count("busy")
            raise BusyError(_AGAIN, tell("too many entries wait here for their proofs to be checked"))

    async def check(self, proved: Proved, checks: Sequence[ProofCheck]) -> None:
        """Makes the checks in their order. The same entry sent twice is checked once.

        Raises what the checks raise, `ProofError` if one fails in another way, and what `verify_room` raises;
        `BusyError` also if the entry has waited too long, or the process has ended.
        """
        self.verify_room(proved)
        own = self._of_player.get(proved.player)
        if own is None:
            loop = asyncio.get_running_loop()
            own = _Waiting(proved, frame(checks), loop.time() + PATIENCE, loop.create_future())
            self._of_player[proved.player] = own
            self._lanes[proved.joined].append(own)
            self._show(len(self._of_player))
            if self._working is None:
                self._working = asyncio.create_task(self._work())
        error = await asyncio.shield(own.verdict)
        if error is not None:
            raise error

    async def close(self) -> None:
        """Ends the process. Entries that wait are refused."""
        self._closed = True
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
        for each in [*self._of_player.values()]:
            self._answer(each, StorageError(tell("the service is stopping"), hint=tell("try again later")))
        await self._end()

    # --- one entry after the other --------------------------------------------------------------------------------

    async def _work(self) -> None:
        while lane := self._lanes[True] or self._lanes[False]:
            each = lane.popleft()
            error = await self._judge(each)
            self._answer(each, error)
        self._working = None

    def _answer(self, each: _Waiting, error: HkojiError | None) -> None:
        del self._of_player[each.proved.player]
        self._show(len(self._of_player))
        each.verdict.set_result(error)

    async def _judge(self, each: _Waiting) -> HkojiError | None:
        left = each.until - asyncio.get_running_loop().time()
        if left <= 0:
            self._count("busy")
            return BusyError(_AGAIN, tell("too many entries wait here for their proofs to be checked"))
        try:
            async with asyncio.timeout(min(left, _LONGEST)):
                verdict = await self._ask(each.checks)
        except Exception as error:  # whatever it is, the next entry gets a new process
            await self._end()
            log.error("proofs could not be checked", cause=type(error).__name__)
            self._count("failed")
            return BusyError(_AGAIN, tell("the service could not check the proofs of this entry"))
        if isinstance(verdict, Failure):
            log.error("proofs could not be checked", cause=verdict.cause)
            self._count("failed")
            return ProofError(tell("the service failed while it checked the proofs; its log says why"))
        self._count("held" if verdict is None else "refused")
        return None if verdict is None else verdict.error()

    async def _ask(self, checks: bytes) -> Verdict:
        """Raises `OSError` or `EOFError` if the process has ended twice."""
        try:
            return await self._answer_of(await self._started(), checks)
        except (OSError, EOFError):  # perhaps for a reason that has nothing to do with the entry
            await self._end()
            log.warning("the process that checks proofs has ended; it is started again")
            return await self._answer_of(await self._started(), checks)

    async def _answer_of(self, process: Process, checks: bytes) -> Verdict:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(checks)
        await process.stdin.drain()
        (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        verdict: Verdict = pickle.loads(await process.stdout.readexactly(length))  # noqa: S301 # from our own process
        return verdict

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            # It finds the same modules as this process, and none in the folder where the service was started. A signal
            # from a terminal goes to this process alone, which then finishes what it has begun.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-c",
                f"from {proof_process.__name__} import main; main()",
                stdin=PIPE,
                stdout=PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,
            )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
