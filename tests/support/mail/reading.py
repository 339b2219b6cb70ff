"""How a player who has only letters plays: finds in a letter what can be written, and chooses.

A letter shows what to write as a line by itself, indented, below a line that ends in a colon. The player relies on
that, not on the words around it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support.mail.post_office import Letter

ACCEPT: Final = {"en": "accept", "it": "accetto"}
MOVES: Final = {"en": "moves", "it": "mosse"}
_ASKS: Final = 0.2
_SLIPS: Final = 0.1
_SLIP: Final = {"en": "thanks, that was quick", "it": "grazie, come sei veloce"}
"""A line that is no command."""


def offered(letter: Letter) -> list[str]:
    """The lines that a letter says can be written, in its order."""
    found: list[str] = []
    within = False
    for line in letter.lines:
        if line.startswith("  ") and line.strip():
            if within:
                found.append(line.strip())
        else:
            within = line.rstrip().endswith(":")
    return found


@dataclass
class LetterReader:
    """Decides what to answer. Now and then it asks for all moves first, or writes a line that is no command."""

    lang: str
    rng: random.Random
    slips: float = _SLIPS
    asked: list[str] = field(default_factory=list)
    """What it has written, in order."""

    def answer_to(self, letter: Letter) -> Sequence[str]:
        """The lines to answer with; none if the letter asks for nothing."""
        lines = offered(letter)
        if not lines:
            return ()
        if ACCEPT[self.lang] in lines:
            return self._said(ACCEPT[self.lang])
        if self.rng.random() < self.slips:
            return self._said(_SLIP[self.lang])
        many = self.asked[-1:] == [MOVES[self.lang]]
        if not many and self.rng.random() < _ASKS:
            return self._said(MOVES[self.lang])
        return self._said(self.rng.choice(lines))

    def _said(self, line: str) -> Sequence[str]:
        self.asked.append(line)
        return (line,)
