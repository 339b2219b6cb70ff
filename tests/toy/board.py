"""The board of Showdown."""

from __future__ import annotations

from collections.abc import Iterator

from hkoji.game.replay import Step
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Due
from hkoji.show.board import SIDE, Board, Choice
from tests.toy.showdown import PACK, ShowdownState


class ShowdownBoard(Board):
    """A position of Showdown."""

    game = "Showdown"

    @property
    def state(self) -> ShowdownState:
        """The position."""
        state = self.course.state
        assert isinstance(state, ShowdownState)
        return state

    def where(self) -> str:
        return f"round {self.state.round}"

    def task(self) -> str:
        return "answer" if self.state.due is Due.ANSWER else "act"

    def decision_line(self, seat: Seat, action: str) -> str:
        return f"{self.name(seat)} played {action}"

    def reveal_line(self, seat: Seat, cards: str) -> str:
        return f"{self.name(seat)} revealed {cards}"

    def score_line(self, step: Step) -> str:
        state = step.course.state
        assert isinstance(state, ShowdownState)
        return f"rounds won: {state.wins[0]} and {state.wins[1]}"

    def table(self) -> Iterator[str]:
        for seat in (1 - self.me, self.me):
            yield f"{self.label(seat)}{PACK.decode(self.state.rows[seat])} {self.state.points(seat)} points"
        yield from self.sentences()

    def sentences(self) -> Iterator[str]:
        yield f"{'hand':{SIDE}}{PACK.decode(self.state.hands[self.me])}"
        yield f"{'offer':{SIDE}}{self.state.proposal}"

    def decisions(self) -> Iterator[Choice]:
        for action in self.position.legal:
            yield Choice(action, action)
