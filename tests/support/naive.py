"""The interface of the naive referees: modules of plain functions over a game that is a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Table = dict[str, Any]  # a game as plain data of many shapes, listed in each referee's `new_game`


class Naive(Protocol):
    """A module such as `naive_hanamikoji`."""

    @property
    def new_game(self) -> Callable[..., Table]:
        """Makes a new game from who starts (None: not known yet) and the game's options."""

    @property
    def deal(self) -> Callable[..., None]:
        """Deals, given a game and the texts of the deal's places: both hands, the deck, and the removed card if there
        is one."""

    def draw(self, game: Table) -> None:
        """The player whose turn it is draws the top card."""

    def draw_is_due(self, game: Table) -> bool:
        """Whether a draw is due."""

    def decider(self, game: Table) -> int | None:
        """The seat that has to decide or to draw."""

    def moves(self, game: Table) -> set[str]:
        """The legal actions."""

    def decide(self, game: Table, move: str) -> None:
        """Carries out one of the legal actions."""

    def round_is_over(self, game: Table) -> bool:
        """Whether only the face-down cards are left."""

    def score(self, game: Table) -> None:
        """Scores the round."""

    def copy_of(self, game: Table) -> Table:
        """A copy of a game, to play on differently."""
