"""A position in a few lines of plain text, without drawing: for letters, whose readers may have any font.

A game's brief says what its board says, and how a move is asked for and typed in a mail. A game without a brief of its
own has this one, which uses the sentences of its board.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from hkoji.game.position import Position
from hkoji.messages.text import Speaker, tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from hkoji.show.board import Board

WIDTH: Final = 72
"""The columns that a brief's rows take at most, if they are not sentences."""
_COLUMNS: Final = 2
_SIGNS: Final = ">!^"

WHO_STARTS: Final = {
    "host": tell("The player who invites starts."),
    "guest": tell("The player who is invited starts."),
    "random": tell("Chance decides who starts."),
}
"""Sentences on the player who starts, by the option `first` of a ruleset."""


STARTS: Final = {
    "host": tell("The host starts"),
    "guest": tell("The guest starts"),
    "random": tell("Chance decides who starts"),
}
"""The same in a few words."""


class Brief:
    """A position in a few lines."""

    about: ClassVar[str] = ""
    """The game in a few sentences for somebody who has never seen it."""

    heading: ClassVar[str] = ""
    """The words over the table, if something lies on it."""

    def __init__(self, board: Board) -> None:
        self.board: Final = board
        self.position: Final[Position] = board.position
        self.say: Final[Speaker] = board.say
        self.said: Final = board.said
        self.by: Final = board.by
        self.me: Final[Seat] = board.me

    @classmethod
    def options(cls, ruleset: Ruleset, say: Speaker) -> Iterator[str]:  # noqa: ARG003
        """Sentences on the options of a ruleset; here as they stand in the log."""
        for name, value in ruleset.to_json().items():
            if name not in ("name", "version"):
                yield f"{name}: {value}."

    @classmethod
    def terms(cls, ruleset: Ruleset) -> str:
        """The options of a ruleset as a phrase; here as they are written after `--option`."""
        options = ruleset.to_json().items()
        return ", ".join(f"{name}={value}" for name, value in options if name not in ("name", "version"))

    def news(self) -> list[str]:
        """The news since the reader last decided: words, and the notation in brackets."""
        return [self._bracketed(line) for line in self.board.news()]

    def decided(self, seat: Seat, action: str) -> str:
        """A decision of a seat as `news` has it: words, and the notation in brackets."""
        return self._bracketed(self.board.decision_line(seat, action))

    def _bracketed(self, line: str) -> str:
        words, _, notation = line.partition("   ")
        return f"{words} ({self.written(notation)})" if notation else words

    def told(self, action: str) -> str:
        """A decision of the reader, as what was sent: `F face down (1F)`."""
        phrase = self.phrase(action)
        return f"{phrase} ({self.written(action)})" if phrase else self.written(action)

    def phrase(self, action: str) -> str:  # noqa: ARG002
        """A decision of the reader in a few words without a verb that says who; empty if the game has none."""
        return ""

    def written(self, notation: str) -> str:
        """A decision in notation, for reading. One with a sign that mail programs understand is written in words."""
        return self.typed(notation) if notation[0] in _SIGNS else notation

    def table(self) -> Iterator[str]:
        """The cards on the table, a row or sentence a line, without indent."""
        yield from self.board.sentences()

    def standing(self) -> Iterator[str]:
        """Sentences on how the game stands, beside the table."""
        return iter(())

    def offer(self) -> Iterator[str]:
        """Sentences on what the reader has to answer or to order."""
        return iter(())

    def hand(self) -> Iterator[str]:
        """Sentences on what the reader holds and has lying face down."""
        return iter(())

    def left(self) -> Iterator[str]:
        """Sentences on the actions that are left, without cards."""
        return iter(())

    def ask(self, action: str) -> str:
        """How a letter offers a move: `To trade off B and C, write:`."""
        return self.said("To play {move}, write:", move=action)

    def typed(self, action: str) -> str:
        """The line of a mail that plays a move."""
        return action

    def examples(self) -> Sequence[str]:
        """The moves to offer: all of a few, or one of each action that is left."""
        return self.position.legal[:3]

    def columns(self, rows: Sequence[str]) -> Iterator[str]:
        """Rows side by side, two in a line."""
        width = WIDTH // _COLUMNS - 1
        for n in range(0, len(rows), _COLUMNS):
            yield "".join(f"{row:{width}}" for row in rows[n : n + _COLUMNS]).rstrip()


def spread_over(moves: Sequence[str], number: int) -> str:
    """One of the moves, which depends on a number only: it is no advice, and not always the first."""
    return moves[(7 * number + 3) % len(moves)]
