"""What the naive referees have in common: modules of plain functions over a game that is a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Table = dict[str, Any]  # a game as plain data of many shapes, listed in each referee's `new_game`


class Naive(Protocol):
    """A module such as `naive_hanamikoji`."""

    @property
    def new_game(self) -> Callable[..., Table]:
        """Who starts (None: not known yet) and the game's options."""

    @property
    def deal(self) -> Callable[..., None]:
        """A game and the texts of a deal's places: both hands, the deck, and what is removed where a card is."""

    def draw(self, game: Table) -> None:
        """The top card for whose turn it is."""

    def draw_is_due(self, game: Table) -> bool:
        """Whether that is what comes next."""

    def decider(self, game: Table) -> int | None:
        """Who has to decide or to draw."""

    def moves(self, game: Table) -> set[str]:
        """The legal actions."""

    def decide(self, game: Table, move: str) -> None:
        """Carries one out."""

    def round_is_over(self, game: Table) -> bool:
        """Whether only the face-down cards are left."""

    def score(self, game: Table) -> None:
        """Scores the round."""

    def copy_of(self, game: Table) -> Table:
        """A game to go on with in another way."""
