"""A position to be drawn, as one observer knows it, with the texts around it in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.messages.language import Speaker
from hkoji.rules.events import Seat
from hkoji.rules.protocol import State


class Scene(NamedTuple):
    """A drawing's contents: `near` is the seat at the lower edge, `news` the last events, `turn` what is due.

    `say` translates the drawing's own words, and `symbol` gives the name that is written on a card.
    """

    state: State
    names: tuple[str, str]
    near: Seat = 0
    title: str = ""
    news: tuple[str, ...] = ()
    turn: str = ""
    say: Speaker = str
    symbol: Callable[[str], str] = str
