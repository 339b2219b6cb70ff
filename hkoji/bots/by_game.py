"""A bot that plays several games: it loads the code for a game when it first sees a view of that game."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from hkoji.bots.protocol import Bot, Seen
from hkoji.errors import UsageError
from hkoji.messages.text import tell

BRAINS: Final = {
    ("greedy", "hanamikoji"): ("hkoji.bots.hanamikoji.greedy", "HanamikojiGreedy"),
    ("greedy", "geishas-road"): ("hkoji.bots.geishas_road.greedy", "GeishasRoadGreedy"),
    ("search", "hanamikoji"): ("hkoji.bots.hanamikoji.search", "HanamikojiSearch"),
    ("search", "geishas-road"): ("hkoji.bots.geishas_road.search", "GeishasRoadSearch"),
}
"""For a bot's name and a game's name, the module and class that plays the game."""


class ByGame:
    """Plays each game with the class that `BRAINS` names for it; `make` makes a bot from that class."""

    def __init__(self, name: str, make: Callable[[Callable[..., Bot]], Bot]) -> None:
        self._name = name
        self._make = make
        self._bots: dict[str, Bot] = {}

    def decide(self, seen: Seen) -> str:
        """Returns the decision of the bot for this game. Raises `UsageError` if there is none for the game."""
        game = seen.view.ruleset.name
        if game not in self._bots:
            if (self._name, game) not in BRAINS:
                raise UsageError(
                    tell("the bot {bot!r} does not play {game}", bot=self._name, game=game),
                    hint=tell("the bot 'random' plays every game"),
                )
            module, maker = BRAINS[self._name, game]
            self._bots[game] = self._make(getattr(import_module(module), maker))
        return self._bots[game].decide(seen)

    def close(self) -> None:
        """Closes the bots that have been loaded."""
        for bot in self._bots.values():
            bot.close()
        self._bots.clear()
