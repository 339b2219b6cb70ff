"""A game as its player knows it, with the moves that this player can make, and as a list of games shows it.

This module knows no command line: callers pass the commands that its hints name. docs/spec/http.md has the lists.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.errors import GameOverError, IllegalActionError, NotYourTurnError
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Replay, Step
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
            else:
                name = course.setup.names[course.actor]
                reason = tell("it is not your turn: the game waits for {name}", name=name)
            hint = tell("nothing was sent; wait for your turn with `{command}`", command=wait) if wait else _NOT_SENT
            raise NotYourTurnError(reason, actor=course.actor, hint=hint)
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
        "created": time_of_record(first),
        "updated": time_of_record(last),
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
    }


def time_of_record(line: Line) -> str:
    """Returns the time of an entry's receipt; the time in the entry is only its author's claim."""
    return line.receipt.receipt.at if line.receipt else line.entry.at
