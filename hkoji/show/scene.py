"""The contents of a drawing. The drawings of each game are made from them, and need no board."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.rules.events import Seat
from hkoji.rules.protocol import State


class Scene(NamedTuple):
    """`near` is the seat at the lower edge. `news` has a line for each of the last events; `turn` says what is due."""

    state: State
    names: tuple[str, str]
    near: Seat = 0
    title: str = ""
    news: tuple[str, ...] = ()
    turn: str = ""
    turned_up: tuple[str, str] = ("", "")
    """The card that each seat has revealed in this round."""
    translate: Callable[[str], str] = str
    symbol: Callable[[str], str] = str
    """Returns the text on a card, which depends on the deck."""

    def word(self, message: str) -> str:
        """Returns a word of the drawing itself, a `Text`, in the reader's language."""
        return self.translate(message)
