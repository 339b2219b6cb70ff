"""What the page of a game shows, as values for its template.

A page at entry N is made of the lines up to N alone, so it is the same before and after what comes later. Only a page
without `at` shows what is so now: the clock, and after the end the choice of eyes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hkoji.game.position import Position, read_position, studied_position
from hkoji.game.replay import Replay, Step, public_knowledge, replay
from hkoji.log.line import Line
from hkoji.messages.text import Speaker
from hkoji.rules.events import SEATS, Seat
from hkoji.show.board import Board, Look
from hkoji.show.games import board
from hkoji.study.stops import SPECTATOR, Eyes, see


class Move(NamedTuple):
    """An entry of the log in the list of moves: its number, what it brought in words, and notation or empty."""

    seq: int
    words: tuple[tuple[str, str], ...]


class Round(NamedTuple):
    """The entries of a round, or those before the first, which has number 0."""

    number: int
    moves: tuple[Move, ...]


class Seen(NamedTuple):
    """A game at an entry, through some eyes, from one side."""

    position: Position
    near: Seat
    board: Board

    @property
    def sentences(self) -> list[str]:
        """The board in words."""
        return [*self.board.sentences()] if self.board.dealt else []

    def rounds(self) -> Iterator[Round]:
        """The moves, round by round."""
        number, moves = 0, list[Move]()
        for step in self.position.replay.steps:
            if step.course.state.round != number and moves:
                yield Round(number, tuple(moves))
                moves = []
            number = step.course.state.round
            if words := tuple(self._words(step)):
                moves.append(Move(step.entry.seq, words))
        if moves:
            yield Round(number, tuple(moves))

    def _words(self, step: Step) -> Iterator[tuple[str, str]]:
        for event in step.events:
            words, _, notation = self.board.event_line(event).partition("   ")
            if words:
                yield words, notation
        if step.entry.kind == "reveal":
            yield self.board.score_line(step), ""


def look(lines: Sequence[Line], say: Speaker, *, at: int, near: Seat | None, eyes: Eyes = SPECTATOR) -> Seen:
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
    return Seen(position, near, board(position, Look(say, plain=True)))
