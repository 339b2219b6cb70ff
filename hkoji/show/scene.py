"""What is drawn: a position as one observer knows it, whose side is near, and the words around it.

The words come from outside, where they are put into a language; here they are only set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.rules.events import Seat
from hkoji.rules.protocol import State


class Scene(NamedTuple):
    """`near` is the seat at the lower edge. `news` has a line for each thing that happened last, `turn` what is due."""

    state: State
    names: tuple[str, str]
    near: Seat = 0
    title: str = ""
    news: tuple[str, ...] = ()
    turn: str = ""
    translate: Callable[[str], str] = str
    symbol: Callable[[str], str] = str
    """A card's name as it is written on it: the cards may be named after another deck."""

    def word(self, message: str) -> str:
        """One of the words of the drawing itself, which is a `Text`, in the language asked for."""
        return self.translate(message)
