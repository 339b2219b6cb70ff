"""How a player who has only letters plays: finds in a letter what can be written, and chooses.

A letter shows what to write as a line by itself, indented, below a line that ends in a colon; several moves may stand
side by side. The player relies on that, not on the words around it. Within a sentence a word to write has two spaces
on each side.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from tests.support.mail.post_office import Letter

ACCEPT: Final = {"en": "accept", "it": "accetto"}
MOVES: Final = {"en": "moves", "it": "mosse"}
_ASKS: Final = 0.2
_SLIPS: Final = 0.1
_MOST_IDLE: Final = 2
_SLIP: Final = {"en": "thanks, that was quick", "it": "grazie, come sei veloce"}
"""A line that is no command."""


_LINE: Final = re.compile(r"(?:[a-z]+ )?[-!^>]?[a-z0-9]{1,12}(?:/[a-z0-9]{1,6})?")
"""The look of a move to write: not like an address, a row of a table or a command for a shell."""
_ADDRESS: Final = re.compile(r"^  (\S+@\S+)$", re.M)


def offered(letter: Letter) -> list[str]:
    """The moves that a letter says can be written, in its order."""
    found: list[str] = []
    above = ""
    for indented, block in groupby(letter.lines, lambda line: line.startswith("  ") and bool(line.strip())):
        lines = list(block)
        each = [part for line in lines for part in re.split(r"\s{2,}", line.strip())]
        if indented and above.endswith(":") and all(map(_LINE.fullmatch, each)):
            found += each
        above = lines[-1].rstrip()
    return found


def is_invitation(letter: Letter, lang: str) -> bool:
    """Whether a letter can be answered with the word that accepts."""
    return re.search(rf"(?:^|  ){ACCEPT[lang]}(?:  |$)", letter.text, re.M) is not None


def has_command_address(letter: Letter) -> bool:
    """Whether a letter tells an address, and is not to be answered instead."""
    return _ADDRESS.search(letter.text) is not None


def command_address(letter: Letter) -> str:
    """The address that a letter tells, on a line by itself."""
    found = _ADDRESS.search(letter.text)
    assert found, letter.text
    return found[1]


@dataclass
class LetterReader:
    """Decides what to answer. Now and then it asks for all moves first, or writes a line that is no command."""

    lang: str
    rng: random.Random
    slips: float = _SLIPS
    asked: list[str] = field(default_factory=list)
    """Its lines, in order."""
    idle: int = 0
    """How many mails in a row had no move: a letter that is answered too often without one gets no more answers."""

    def answer_to(self, letter: Letter) -> Sequence[str]:
        """The lines to answer with; none if the letter asks for nothing."""
        if is_invitation(letter, self.lang):
            self.idle = 0
            return self._said(ACCEPT[self.lang])
        lines = offered(letter)
        if not lines:
            return ()
        may_wait, self.idle = self.idle < _MOST_IDLE, self.idle + 1
        if self.rng.random() < self.slips and may_wait:
            return self._said(_SLIP[self.lang])
        many = self.asked[-1:] == [MOVES[self.lang]]
        if not many and self.rng.random() < _ASKS and may_wait:
            return self._said(MOVES[self.lang])
        self.idle = 0
        return self._said(self.rng.choice(lines))

    def _said(self, line: str) -> Sequence[str]:
        self.asked.append(line)
        return (line,)
