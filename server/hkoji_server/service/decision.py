"""The referee's decision on a submission, and what the store appends for it.

Most of the cost of a move is verifying one signature and making another, and both release the interpreter lock. So the
store asks for decisions in a thread of its own, while other threads read requests and write answers. Games are
immutable values, and the store decides which move was first. So this module needs no lock.
"""

from __future__ import annotations

from functools import lru_cache

from hkoji import referee
from hkoji.game.agreement import Agreement
from hkoji.game.course import Course, Stage
from hkoji.game.submission import Submission
from hkoji.log.canonical import encode
from hkoji.log.private_key import Signer
from hkoji.rules.protocol import Ruleset
from hkoji_server.store.contract import Append, GameSummary


class Decision:
    """The decision on a submission for `game`; `key` is the author's.

    A call asks the referee, and returns what to append. A second call returns the result of the first.
    """

    def __init__(
        self, refereed: referee.RefereedGame, submission: Submission, signer: Signer, at: str, key: str
    ) -> None:
        self._refereed = refereed
        self._submission = submission
        self._signer = signer
        self._at = at
        self.key = key
        self.game = submission.entry.game
        self._accepted: referee.Accepted | None = None

    def __call__(self) -> Append:
        """Raises what `referee.accept` raises."""
        if self._accepted is None:
            self._accepted = referee.accept(self._refereed, self._submission, signer=self._signer, at=self._at)
        return append_of(self._refereed, self._accepted, self.key)

    @property
    def accepted(self) -> referee.Accepted:
        """The result of the call."""
        assert self._accepted is not None
        return self._accepted


def append_of(before: referee.RefereedGame, accepted: referee.Accepted, key: str) -> Append:
    """Returns what the store appends to the game `before`; `key` is the author's."""
    return Append(
        game=before.course.setup.game,
        seq=before.course.seq,
        head=before.course.head,
        lines=accepted.lines,
        openings=accepted.refereed.openings[len(before.openings) :],
        summary=summarise(accepted.refereed, created=""),
        outline=_changes_outline(before.course, accepted.refereed.course),
        at=accepted.refereed.at,
        outages=0,
        deadline=None,
        opens=before.course.stage is Stage.OPEN,
        key=key,
    )


def _changes_outline(before: Course, after: Course) -> bool:
    # Most moves change neither, and a game cannot end within a stage.
    if after.setup is before.setup and after.stage is before.stage:
        return False
    return _outline(before) != _outline(after)


def _outline(course: Course) -> tuple[object, ...]:
    return course.status, course.setup.names, course.setup.invite, course.outcome


@lru_cache(maxsize=64)
def _ruleset_text(ruleset: Ruleset) -> str:
    return encode(ruleset.to_json())


@lru_cache(maxsize=64)
def _agreement_text(agreement: Agreement) -> str:
    return encode(agreement.to_json())


def summarise(refereed: referee.RefereedGame, *, created: str) -> GameSummary:
    """Returns what lists show of a game."""
    course = refereed.course
    setup = course.setup
    outcome = course.outcome
    return GameSummary(
        game=setup.game,
        ruleset=_ruleset_text(setup.ruleset),  # type: ignore[arg-type] # every ruleset is a frozen value
        agreement=_agreement_text(setup.agreement),
        status=course.status,
        host=setup.names[0],
        guest=setup.names[1],
        invite=setup.invite.name if setup.invite else None,
        seq=course.seq,
        head=course.head,
        round=course.state.round,
        actor=course.actor,
        to_move=course.to_move,
        created=created,
        updated=refereed.at,
        reason=outcome.reason if outcome else None,
        winner=outcome.winner if outcome else None,
    )
