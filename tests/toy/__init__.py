"""Showdown, a game made up for the tests: everything that docs/adding-a-game.md asks for, and nothing else.

`register` adds it to the registries, in place of the lines that the recipe adds to them.
"""

from __future__ import annotations

from hkoji.rules.registry import RULESETS
from hkoji.show.games import SHOWN_GAMES, ShownGame
from tests.toy.showdown import NAME, Showdown


def register() -> None:
    """Adds the game to this process."""
    RULESETS[NAME] = Showdown
    SHOWN_GAMES[NAME] = ShownGame("tests.toy.board:ShowdownBoard")
