"""The page of a game: all that it shows, as values for its template.

A page at entry N is made of the lines up to N alone, so it is the same before and after what comes later. Only a page
without `at` shows what is so now: the clock, and after the end the choice of eyes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.game.position import Position, read_position, studied_position
from hkoji.game.replay import Replay, Step, public_knowledge, replay
from hkoji.game.result_text import closing_body
from hkoji.log.line import Line, parse_log
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import Speaker
from hkoji.rules.events import SEATS, Event, Reveal, Seat
from hkoji.rules.protocol import Due
from hkoji.show.board import Board, Look
from hkoji.show.games import board, brief_type
from hkoji.show.steps import step_text
from hkoji.show.terms import terms_lines
from hkoji.study.stops import SPECTATOR, Eyes, see


class ToldEntry(NamedTuple):
    """An entry of the log: its number, what it brought in words, and notation where it was a decision."""

    seq: int
    told: tuple[tuple[str, str], ...]
    played: bool
    """Whether it brought something on the table."""


class ToldRound(NamedTuple):
    """The entries of a round, from its deal to its score; those before the first have number 0.

    `table` is that at its end, for the template of the board; None before the end. `ended` is the entry that ended it.
    """

    number: int
    moves: tuple[ToldEntry, ...]
    table: object = None
    ended: int = 0


class SeenGame(NamedTuple):
    """A game at an entry, through some eyes, from one side."""

    position: Position
    near: Seat
    board: Board
    say: Speaker

    @property
    def ruleset(self) -> str:
        """The name of the ruleset."""
        return self.position.course.setup.ruleset.name

    @property
    def drawn(self) -> object:
        """The values for the template `board_RULESET.html`; None for a game that has none."""
        return self._drawn(self.position)

    def _drawn(self, position: Position) -> object:
        name = f"hkoji_server.web.board_{self.ruleset.replace('-', '_')}"
        if find_spec(name) is None:
            return None
        return import_module(name).board_context(position, self.near)

    @property
    def sentences(self) -> list[str]:
        """The board in words."""
        return [*self.board.sentences()] if self.board.dealt else []

    @property
    def terms(self) -> list[str]:
        """The agreement of the players, in sentences."""
        setup = self.position.course.setup
        options = brief_type(setup.ruleset.name).options(setup.ruleset, self.say)
        return [*options, *terms_lines(setup.agreement, self.say, typed=False)]

    @property
    def beginning(self) -> int:
        """The entry after which the first cards were on the table; 0 before there are any."""
        steps = self.position.replay.steps
        return next((step.entry.seq for step in steps if step.course.state.round), 0)

    def rounds(self) -> list[ToldRound]:
        """The entries, round by round."""
        found: list[ToldRound] = []
        steps = self.position.replay.steps
        closed = closing_body(step.body for step in steps)
        for before, step in zip((None, *steps), steps, strict=False):
            # The entry that ends a round is told in that round, although the next is dealt by then.
            number = before.course.state.round if before else 0
            told = tuple(self._told(step))
            played = bool(told)
            move = ToldEntry(step.entry.seq, told or ((step_text(step, self.say, closed=closed), ""),), played)
            if found and found[-1].number == number:
                found[-1] = found[-1]._replace(moves=(*found[-1].moves, move))
            else:
                found.append(ToldRound(number, (move,)))
            if before and _turns_up(step):
                found[-1] = found[-1]._replace(table=self._scored(before, step), ended=step.entry.seq)
        return found

    def _scored(self, before: Step, step: Step) -> object:
        """The table at the end of the round that `step` has ended: in the same step the next one may be dealt."""
        state, shown = before.course.state, list[Event]()
        for event in step.events:
            state = state.apply(event)
            shown.append(event)
            if state.due in (Due.DEAL, Due.OVER):
                break
        return self._drawn(self.position._replace(course=step.course._replace(state=state), events=tuple(shown)))

    def _told(self, step: Step) -> Iterator[tuple[str, str]]:
        for event in step.events:
            words, _, notation = self.board.event_line(event).partition("   ")
            if words:
                yield words, notation
        if _turns_up(step):
            yield self.board.score_line(step), ""


def _turns_up(step: Step) -> bool:
    """Whether an entry ends a round: a `reveal`, or the `release` of a sealed game that takes its place."""
    return any(isinstance(event, Reveal) for event in step.events)


EXAMPLES: Final = Path(__file__).with_name("examples")
"""For each ruleset the log of a game up to a middle: `scripts/build/web_examples.py`."""


@cache
def example(ruleset: str, language: str) -> SeenGame | None:
    """Returns the game that shows how a board of this ruleset looks; None if there is none."""
    file = EXAMPLES / f"{ruleset}.jsonl"
    if not file.is_file():
        return None
    lines = parse_log(file.read_bytes())
    return look(lines, load_speaker(language), at=len(lines) - 1, near=0)


def look(lines: Sequence[Line], say: Speaker, *, at: int, near: Seat | None, eyes: Eyes = SPECTATOR) -> SeenGame:
    """Returns the game at entry `at`. Eyes other than a spectator's need all lines of a game that is over.

    Raises `IllegalError` for eyes whose cards the log does not reveal.
    """
    known = lines if eyes is not SPECTATOR else lines[: at + 1]
    whole = replay(known, public_knowledge(known))
    if eyes is SPECTATOR:
        position = read_position(whole, None)
    else:
        through = see(whole, eyes)
        position = studied_position(Replay(through.steps[: at + 1], None), eyes.seat)
    if near is None:
        near = SEATS[eyes.seat or 0]
    return SeenGame(position, near, board(position, Look(say, plain=True)), say)
