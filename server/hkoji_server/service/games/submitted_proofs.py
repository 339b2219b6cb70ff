"""The proofs of one submission, which are checked once however often it is decided, and count for their author.

docs/spec/http.md, "Rules". The time of record of an entry is taken before its proofs wait. It is kept
when the entry is decided again, while it may still be written: no outage can be recorded around it unnoticed, because
every append says with how many outages it was decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from hkoji.errors import BusyError, HkojiError, StorageError, TooManyError
from hkoji.game.clock import add_seconds
from hkoji.game.submission import Submission
from hkoji_server.service.games.proof_worker import ProofWorker, Proved
from hkoji_server.service.players.limits import AuthorCount
from hkoji_server.store.time_contract import OLDEST

if TYPE_CHECKING:
    from hkoji.game.proving import ProofCheck

WITH_LOCK: Final = 8
"""As how many requests an entry with a lock counts."""
WITH_PROOFS: Final = 2
"""As how many requests an entry with other proofs counts."""
_TO_WRITE: Final = 10
"""The seconds that are left for writing an entry whose time is kept."""


class UnprovenError(Exception):
    """All else about an entry is right, and these checks of its proofs are still to be made."""

    def __init__(self, checks: Sequence[ProofCheck]) -> None:
        super().__init__()
        self.checks = checks


class SubmittedProofs:
    """The proofs of a submission. Entries without proofs never ask for it."""

    def __init__(self, worker: ProofWorker, submission: Submission, count: AuthorCount) -> None:
        self._worker = worker
        self._submission = submission
        self._count = count
        self._came: str | None = None
        self._checked = False
        self._error: HkojiError | None = None

    def came(self, now: str) -> str:
        """Returns when the submission came: `now`, or the time before its proofs waited."""
        if self._came is not None and self._came > add_seconds(now, _TO_WRITE - OLDEST):
            return self._came
        return now

    def wanting(self, decide: Callable[[], object]) -> Sequence[ProofCheck]:
        """Decides, and returns the checks that are still to be made. Raises what `decide` raises."""
        try:
            decide()
        except UnprovenError as error:
            return error.checks
        return ()

    def verify(self, checks: Sequence[ProofCheck]) -> None:
        """The referee's `verify`: raises `UnprovenError` until the checks have been made, and then what they raised."""
        if not self._checked:
            raise UnprovenError(checks)
        if self._error is not None:
            raise self._error

    async def check(self, checks: Sequence[ProofCheck], at: str, *, joined: bool) -> None:
        """Makes the checks for a submission that came at the time `at`, after counting it for its author.

        Raises `TooManyError`, and what `ProofWorker.check` raises.
        """
        entry = self._submission.entry
        proved = Proved(entry.by, entry.head, self._submission.deposit, joined)
        self._worker.verify_room(proved)
        await self._count.weigh(WITH_LOCK if "lock" in entry.body else WITH_PROOFS)
        self._came = at
        try:
            await self._worker.check(proved, checks)
        except (BusyError, StorageError, TooManyError):
            raise
        except HkojiError as error:
            self._error = error
            self._count.charge()
        self._checked = True
        self.verify(checks)
