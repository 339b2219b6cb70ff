"""Values that the boards of both games share, for templates: a player's strip, an action, what is on offer."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.rules.events import Seat


class Action(NamedTuple):
    """An action of a player: its name, a message whose English names its sign, and whether it has been taken."""

    name: str
    done: bool


class Strip(NamedTuple):
    """A player beside the board. `hand` and `down` have a card's name each, or `X` for one that is not known here.

    `totals` are keys and numbers of the texts of boards.
    """

    seat: Seat
    name: str | None
    turn: bool
    totals: tuple[tuple[str, int], ...]
    hand: tuple[str, ...]
    down: tuple[str, ...]
    actions: tuple[Action, ...]


class Offer(NamedTuple):
    """The groups of cards of which one is chosen: `kind` is a key of the texts of boards, `by` the seat that offers."""

    kind: str
    by: Seat
    groups: tuple[tuple[str, ...], ...]
