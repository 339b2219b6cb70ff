"""A bot that knows several games: it finds out which one it sits at from the first view, and only then loads it."""

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
"""From a bot's name and a game's name to the module and class that plays it."""


class ByGame:
    """Plays each game with what `BRAINS` names for it; `make` makes a bot of the class named there."""

    def __init__(self, name: str, make: Callable[[Callable[..., Bot]], Bot]) -> None:
        self._name = name
        self._make = make
        self._bots: dict[str, Bot] = {}

    def decide(self, seen: Seen) -> str:
        """What the bot for this game decides. Raises `UsageError` if it does not know the game."""
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
        """Closes what has been loaded."""
        for bot in self._bots.values():
            bot.close()
        self._bots.clear()
