"""A game as its player knows it, and what they may do in it."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.errors import GameOverError, IllegalActionError, NotYourTurnError
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Replay, Step
from hkoji.messages.text import tell
from hkoji.rules.events import DECISIONS, Event, Seat
from hkoji.rules.protocol import DECISION_KINDS


class Position(NamedTuple):
    """A game as one player knows it: `seat` is None for a spectator; `legal` is empty when no move is due here.

    `studied` is a position of the past that somebody looks at through the eyes of `seat`: nobody is to move.
    """

    course: Course
    seat: Seat | None
    events: tuple[Event, ...]
    legal: tuple[str, ...]
    replay: Replay
    studied: bool = False

    @property
    def short(self) -> str:
        """Enough of the game's id to name it in a command."""
        return self.course.setup.game[:8]

    @property
    def over(self) -> bool:
        """Whether the log has its end."""
        return self.course.finished

    @property
    def mine(self) -> bool:
        """Whether this player owes the next entry."""
        return self.seat is not None and self.course.actor == self.seat

    def choose(self, notation: str) -> str:
        """The canonical form of a move, if it can be made now.

        Raises `GameOverError`, `NotYourTurnError`, `NotationError` or `IllegalActionError`.
        """
        course = self.course
        if self.over:
            raise GameOverError(course.setup.game)
        if self.seat is None:
            raise NotYourTurnError(tell("you do not play in this game"), actor=course.actor)
        if course.stage is not Stage.PLAY or not self.mine:
            if course.actor is None:
                reason = tell("it is not your turn: the game waits for someone to join")
            else:
                name = course.setup.names[course.actor]
                reason = tell("it is not your turn: the game waits for {name}", name=name)
            raise NotYourTurnError(
                reason,
                actor=course.actor,
                hint=tell("nothing was sent; wait for your turn with `hkoji wait {game}`", game=self.short),
            )
        action = course.state.parse_action(notation)
        if action not in self.legal:
            raise self._illegal(action)
        return action

    def _illegal(self, action: str) -> IllegalActionError:
        state, seat = self.course.state, self.seat
        near = [each for each in self.legal if each[0] == action[0]][:4]
        if near:
            hint = tell(
                "nothing was sent; legal now are for example {moves}; see all with `hkoji show {game}`",
                moves=" ".join(near),
                game=self.short,
            )
        else:
            hint = tell("nothing was sent; see all with `hkoji show {game}`", game=self.short)
        try:
            assert seat is not None
            state.apply(DECISION_KINDS[state.due](seat, action))
        except IllegalActionError as error:
            return IllegalActionError(action, error.reason, shape=error.shape or state.shape(), hint=hint)
        return IllegalActionError(action, tell("it is not among the legal moves"), shape=state.shape(), hint=hint)


def read_position(replay: Replay, seat: Seat | None) -> Position:
    """The position at the end of `replay`, which is how `seat` knows the game."""
    course = replay.steps[-1].course
    mine = seat is not None and course.stage is Stage.PLAY and course.actor == seat
    return Position(course, seat, replay.events, course.state.legal_actions() if mine else (), replay)


def studied_position(replay: Replay, seat: Seat | None) -> Position:
    """The position at the end of `replay`, which is what the eyes of `seat` saw, to look at and not to move in."""
    return Position(replay.steps[-1].course, seat, replay.events, (), replay, studied=True)


def action_of(step: Step) -> str:
    """A move's action, with the hidden cards that are known."""
    return next(event.action for event in step.events if isinstance(event, DECISIONS))
