"""The referee's decision on a submission, and what the store appends for it.

Most of the cost of a move is verifying one signature and making another, and both release the interpreter lock. So the
store asks for decisions in a thread of its own, while other threads read requests and write answers. Games are
immutable values, and the store decides which move was first. So this module needs no lock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from hkoji import referee
from hkoji.errors import StorageError
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Way
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import Invite
from hkoji.game.submission import Submission
from hkoji.log.canonical import encode
from hkoji.log.line import Line
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji_server.service.loaded_games import LoadedGame, LoadedGames, hold, way_of_deadline
from hkoji_server.service.notice_rules import notices_of
from hkoji_server.store.contract import NOBODY, Append, GameSummary, Store

TRIES: Final = 8
"""How often something is decided anew before the service gives up."""


class Decision:
    """The decision at the time `at` on a submission for a game; `key` is the author's. `outages` are all known ones.

    `mail` is the number of the mail that has led to the submission. `invited` is the way that is open to the player
    whom it invites, if it opens the game.

    A call asks the referee, and returns what to append. A second call returns the result of the first.
    """

    def __init__(
        self,
        held: LoadedGame,
        submission: Submission,
        signer: Signer,
        *,
        at: str,
        outages: tuple[Outage, ...],
        key: str,
        mail: int | None = None,
        invited: Way | None = None,
    ) -> None:
        self._held = held
        self._submission = submission
        self._signer = signer
        self._at = at
        self._outages = outages
        self._mail = mail
        self._invited = invited
        self.key = key
        self.game = submission.entry.game
        self._accepted: referee.Accepted | None = None
        self._append: tuple[Append, LoadedGame] | None = None

    def __call__(self) -> Append:
        """Raises what `referee.accept` raises."""
        if self._append is None:
            held = self._held
            self._accepted = referee.accept(
                held.refereed,
                self._submission,
                signer=self._signer,
                at=self._at,
                gifts=held.gifts,
                outages=held.counting(self._outages, self._at),
            )
            self._append = append_of(
                held, self._accepted, self._outages, key=self.key, mail=self._mail, invited=self._invited
            )
        return self._append[0]

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the result."""
        assert self._accepted is not None
        return self._accepted.lines

    @property
    def after(self) -> LoadedGame:
        """The game after the result has been appended."""
        assert self._append is not None
        return self._append[1]


def append_of(
    before: LoadedGame,
    accepted: referee.Accepted,
    outages: tuple[Outage, ...],
    *,
    key: str = "",
    by: str | None = None,
    mail: int | None = None,
    invited: Way | None = None,
) -> tuple[Append, LoadedGame]:
    """Returns what the store appends to the game `before`, decided with these `outages`, and the game after that.

    `key` is the author's. `by` is the player who has caused entries of the service, who is not told of them. `mail` is
    the number of the mail that has led to them. `invited` is as in `Decision`.
    """
    course, after = before.refereed.course, accepted.refereed
    held = hold(after, None, before.statements)
    deadline = held.due(outages)
    way = before.way if deadline is None else way_of_deadline(after.course, invited or before.way)
    receipt = accepted.lines[0].receipt
    assert receipt is not None
    append = Append(
        game=course.setup.game,
        seq=course.seq,
        head=course.head,
        lines=accepted.lines,
        openings=after.openings[len(before.refereed.openings) :],
        summary=summarise(after, created="", deadline=deadline),
        outline=_changes_outline(course, after.course),
        at=receipt.receipt.at,
        outages=len(outages),
        deadline=before.deadline,
        way=way,
        way_before=before.way,
        opens=course.stage is Stage.OPEN,
        invited_key=_invited_key(course, after.course),
        key=key,
        notices=notices_of(course, after, [line.entry for line in accepted.lines], deadline=deadline, by=by),
        mail=mail,
    )
    return append, LoadedGame(after, deadline, held.statements, way)


async def write_own(
    store: Store,
    games: LoadedGames,
    before: LoadedGame,
    accepted: referee.Accepted,
    outages: tuple[Outage, ...],
    *,
    key: str = "",
    by: str | None = None,
    mail: int | None = None,
) -> None:
    """Appends entries of the service to the game `before`, and holds the game after them.

    `key`, `by` and `mail` are as in `append_of`. Raises what `Store.append` raises, among them `StaleDecisionError`.
    """
    append, after = append_of(before, accepted, outages, key=key, by=by, mail=mail)
    await store.append(append)
    games.keep(after)


def undecided() -> StorageError:
    """Returns the error for something that changed while it was decided, each of `TRIES` times."""
    return StorageError(tell("too much changed while this was decided"), hint=tell("nothing was changed; try again"))


def _invited_key(before: Course, after: Course) -> str:
    """Returns the key that an entry invites which opens a game."""
    invite = after.setup.invite
    return invite.key.text if before.stage is Stage.OPEN and isinstance(invite, Invite) and invite.key else ""


def _changes_outline(before: Course, after: Course) -> bool:
    # Most moves change neither, and a game cannot end within a stage. A mail of a weaker grade changes the setup.
    if after.setup is before.setup and after.stage is before.stage:
        return False
    return _outline(before) != _outline(after)


def _outline(course: Course) -> tuple[object, ...]:
    setup = course.setup
    return course.status, setup.names, setup.invite, setup.weakest, course.outcome


@lru_cache(maxsize=64)
def _ruleset_text(ruleset: Ruleset) -> str:
    return encode(ruleset.to_json())


@lru_cache(maxsize=64)
def _agreement_text(agreement: Agreement) -> str:
    return encode(agreement.to_json())


def summarise(refereed: referee.RefereedGame, *, created: str, deadline: str | None = None) -> GameSummary:
    """Returns what lists show of a game; `deadline` is the one that its row gets."""
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
        invite=setup.invited,
        seq=course.seq,
        head=course.head,
        round=course.state.round,
        actor=course.actor,
        to_move=course.to_move,
        created=created,
        updated=refereed.at,
        reason=outcome.reason if outcome else None,
        winner=outcome.winner if outcome else None,
        deadline=deadline,
        link=setup.link.text if setup.link and setup.names[1] is None else None,
        by_mail=encode({name: grade.value for name, grade in setup.by_mail.items()}) if setup.by_mail else NOBODY,
    )
