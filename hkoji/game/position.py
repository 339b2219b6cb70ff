"""Where a game stands: as its player knows it, with the moves that this player can make; in a list; and by its clock.

This module knows no command line: callers pass the commands that its hints name. docs/spec/http.md has the lists.

A reading of the clock says whose time runs, from when, until when, and the reserves: docs/spec/log.md, "Clock". It
depends on the log alone, except for what it says about a moment: how long there still is, and whether the time is over.
Times are texts of the log, lengths are seconds. `hkoji.game.clock` computes them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.errors import GameOverError, IllegalActionError, IllegalError, NotYourTurnError
from hkoji.game.agreement import TimeControl, format_time_control
from hkoji.game.clock import add_counted, counted, parse_time
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Replay, Step
from hkoji.log.canonical import JsonValue
from hkoji.log.line import Line
from hkoji.messages.text import tell
from hkoji.rules.events import DECISIONS, Event, Seat
from hkoji.rules.protocol import find_refusal, of_each_kind

_NOT_SENT: Final = tell("nothing was sent")


class Position(NamedTuple):
    """A game as one player knows it.

    `seat` is None for a spectator. `legal` has the moves in canonical notation; it is empty unless this player must
    move. `invited` says that the game waits for this player to join: it is open to nobody else. `studied` marks a
    position of the past, seen through the eyes of `seat`: no move is due in it.
    """

    course: Course
    seat: Seat | None
    events: tuple[Event, ...]
    legal: tuple[str, ...]
    replay: Replay
    invited: bool = False
    studied: bool = False

    @property
    def game(self) -> str:
        """The game's id."""
        return self.course.setup.game

    @property
    def short(self) -> str:
        """The beginning of the game's id, enough to name the game in a command."""
        return self.course.setup.game[:8]

    @property
    def hand(self) -> str:
        """The player's own hand as text, card after card; empty for a spectator."""
        course = self.course
        return "" if self.seat is None else course.setup.ruleset.pack.decode(course.state.hands[self.seat])

    @property
    def over(self) -> bool:
        """Whether the log has its `end`."""
        return self.course.finished

    @property
    def mine(self) -> bool:
        """Whether it is this player's turn: they owe the next entry, or are invited to join."""
        return self.invited or (self.seat is not None and self.course.actor == self.seat)

    @property
    def joinable(self) -> bool:
        """Whether this player may join now."""
        open_to_all = self.course.stage is Stage.JOIN and self.course.setup.invite is None
        return self.invited or (self.seat is None and open_to_all)

    def verify_player(self, *, hint: str = "") -> None:
        """Checks that the game is not over and that this player plays in it.

        Raises `GameOverError` or `NotYourTurnError`.
        """
        if self.over:
            raise GameOverError(self.game)
        if self.seat is None:
            raise NotYourTurnError(
                tell("you are not a player in game {game}", game=self.short), actor=self.course.actor, hint=hint
            )

    def choose(self, notation: str, *, wait: str = "", show: str = "", join: str = "") -> str:
        """Returns the canonical form of a move that can be made now.

        `wait`, `show` and `join` are the commands that hints name: to wait for the player's turn, to see the legal
        moves, and to join.
        Raises `GameOverError`, `NotYourTurnError`, `NotationError` or `IllegalActionError`.
        """
        course = self.course
        if self.joinable:
            hint = tell("nothing was sent; join first, with `{command}`", command=join) if join else _NOT_SENT
            raise NotYourTurnError(tell("you have not joined this game"), actor=None, hint=hint)
        self.verify_player()
        if course.stage is not Stage.PLAY or not self.mine:
            if course.actor is None:
                reason = tell("it is not your turn: the game waits for someone to join")
            elif self.mine:
                reason = tell("the game waits for your program, and not for a move")
            else:
                name = course.setup.names[course.actor]
                reason = tell("it is not your turn: the game waits for {name}", name=name)
            hint = tell("nothing was sent; wait for your turn with `{command}`", command=wait) if wait else _NOT_SENT
            raise NotYourTurnError(reason, actor=course.actor, hint=hint)
        if course.debtor is not None:
            raise IllegalError(
                tell(
                    "your program must give {name} a card before you can move",
                    name=course.setup.names[1 - course.debtor],
                ),
                hint=tell("nothing was sent; to give it: `hkoji release {game}`", game=self.short),
            )
        action = course.state.parse_action(notation)
        if action not in self.legal:
            raise self._illegal(action, show)
        return action

    def examples(self, meant: str) -> tuple[str, ...]:
        """Returns up to four legal moves of different kinds, if there are several; that of the move `meant` first."""
        return of_each_kind(sorted(self.legal, key=lambda move: move[0] != meant[:1]), 4)

    def _illegal(self, action: str, show: str) -> IllegalActionError:
        state = self.course.state
        moves = " ".join(self.examples(action))
        if show:
            hint = tell(
                "nothing was sent; legal moves include {moves}; see all with `{command}`", moves=moves, command=show
            )
        else:
            hint = tell("nothing was sent; legal moves include {moves}", moves=moves)
        error = find_refusal(state, action)
        return IllegalActionError(action, error.yours, shape=error.shape or state.shape(), hint=hint)


def read_position(replay: Replay, seat: Seat | None, name: str | None = None) -> Position:
    """Returns the position at the end of `replay`, which is how `seat`, or a player without a seat, knows the game.

    `name` is the player's.
    """
    course = replay.steps[-1].course
    mine = seat is not None and course.stage is Stage.PLAY and course.actor == seat
    invited = name is not None and course.stage is Stage.JOIN and course.to_move == name
    return Position(course, seat, replay.events, course.state.legal_actions() if mine else (), replay, invited)


def sealed_position(replay: Replay, seat: Seat | None, name: str | None = None) -> Position:
    """Returns the same of a sealed game, as somebody knows it who does not see the cards of `seat`: without moves."""
    course = replay.steps[-1].course
    invited = name is not None and course.stage is Stage.JOIN and course.to_move == name
    return Position(course, seat, replay.events, (), replay, invited)


def studied_position(replay: Replay, seat: Seat | None) -> Position:
    """Returns the position at the end of `replay` as `seat` saw it, to look at: no move is due in it."""
    return Position(replay.steps[-1].course, seat, replay.events, (), replay, studied=True)


def action_of(step: Step) -> str:
    """Returns a move's action, with the hidden cards that are known."""
    return next(event.action for event in step.events if isinstance(event, DECISIONS))


def summarise(course: Course, first: Line, last: Line) -> dict[str, Any]:  # Any: JSON
    """Returns what lists show of the game that stands as in `course`, from its first to its last line."""
    setup, outcome = course.setup, course.outcome
    return {
        "game": setup.game,
        "ruleset": setup.ruleset.to_json(),
        "status": course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "invite": setup.invited,
        "by_link": setup.link is not None and setup.names[1] is None,
        "seq": course.seq,
        "head": course.head,
        "round": course.state.round,
        "actor": course.actor,
        "to_move": course.to_move,
        "by_mail": {name: grade.value for name, grade in setup.by_mail.items()},
        "dealer": setup.terms.name,
        "created": time_of_record(first),
        "updated": time_of_record(last),
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
    }


def time_of_record(line: Line) -> str:
    """Returns the time of an entry's receipt; the time in the entry is only its author's claim."""
    return line.receipt.receipt.at if line.receipt else line.entry.at


SLACK_SECONDS: Final = 120
"""How long after a deadline a service writes a `timeout`, if it does not state another time."""


class ClockReading(NamedTuple):
    """The clock of a game as of its last entry.

    `deadline` is that of `seat`, which owes the next entry; of a game that waits for a guest (`seat` is None) it is the
    time when the offer expires. `since` is the time from which the time of `seat` runs on, after the `spent` seconds of
    the same turn. `reserve` has both players' reserves, that of `seat` as of the beginning of its turn; it is None
    where no clock runs. `credits` are the seconds that gifts and outages, as far as they are known, take off the turn.
    """

    control: TimeControl | None
    seat: Seat | None = None
    since: str | None = None
    deadline: str | None = None
    reserve: tuple[int, int] | None = None
    spent: int = 0
    credits: int = 0

    @property
    def text(self) -> str:
        """The control without rest days and zone; `none` for a game without a clock."""
        return format_time_control(self.control)

    @property
    def free_until(self) -> str | None:
        """The last second in which the turn that runs takes nothing out of the reserve; None if no time runs."""
        if self.control is None or self.since is None:
            return None
        return add_counted(self.control, self.since, self.control.move + self.credits - self.spent)

    def left(self, now: str) -> int | None:
        """The seconds from `now` to the deadline, rest days included; negative after it, None without one."""
        return None if self.deadline is None else parse_time(self.deadline) - parse_time(now)

    def spent_at(self, now: str) -> int:
        """The counted seconds of the turn that runs, up to `now`; 0 if no time runs."""
        if self.control is None or self.since is None:
            return 0
        return self.spent + max(0, counted(self.control, self.since, now))

    def reserve_at(self, now: str) -> tuple[int, int] | None:
        """Both reserves, less what the turn that runs has taken out of them by `now`."""
        if self.control is None or self.reserve is None or self.seat is None:
            return self.reserve
        host, guest = self.reserve
        taken = max(0, self.spent_at(now) - self.credits - self.control.move)
        return (max(0, host - taken), guest) if self.seat == 0 else (host, max(0, guest - taken))

    def is_overdue(self, now: str, slack: int = SLACK_SECONDS) -> bool:
        """Whether the service should have ended the game by `now`: the deadline and `slack` seconds have passed."""
        left = self.left(now)
        return left is not None and left + slack < 0

    def to_json(self, now: str, slack: int = SLACK_SECONDS) -> dict[str, JsonValue]:
        """Returns the reading for programs. docs/json.md."""
        return {
            "text": self.text,
            "seat": self.seat,
            "since": self.since,
            "spent": self.spent,
            "deadline": self.deadline,
            "reserve": None if self.reserve is None else list(self.reserve),
            "overdue": self.is_overdue(now, slack),
        }


def read_clock(course: Course, at: str, credits: int = 0) -> ClockReading:
    """Returns what the clock of a course shows.

    `at` is the time of record of the last entry, and `credits` are the seconds given to the seat that owes the next
    one, by gifts and outages that are known.
    """
    control, actor = course.setup.agreement.clock, course.actor
    if course.finished:
        return ClockReading(control)
    deadline = course.deadline(at, credits)
    if course.clock is None or actor is None:
        return ClockReading(control, deadline=deadline)
    pace = course.clock.settled(at).due(course.clock.control, actor)
    return ClockReading(control, actor, pace.since, deadline, pace.banks, pace.spent, credits)
