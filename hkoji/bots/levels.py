"""The bot for each level: the first of a short list that exists and plays the game."""

from __future__ import annotations

from typing import Final

from hkoji.bots.by_game import BRAINS
from hkoji.bots.registry import BOTS
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

LEVELS: Final[dict[str, tuple[str, ...]]] = {
    "beginner": ("random",),
    "easy": ("search:easy", "greedy", "random"),
    "normal": ("search:normal", "greedy", "random"),
    "hard": ("search:hard", "greedy", "random"),
}
"""The bots of each level, in order of preference."""

USUAL: Final = "easy"
"""The level if none is given: it punishes carelessness, answers at once, and can be beaten."""


def bot_of_level(level: str, ruleset: str) -> str:
    """Returns the name of a bot of `level` that plays the game `ruleset`. Raises `UsageError` for an unknown level."""
    if level not in LEVELS:
        raise UsageError(
            tell("there is no level {name}", name=repr(shorten(level))),
            hint=tell("levels: {names}", names=", ".join(LEVELS)),
        )
    return next(name for name in LEVELS[level] if plays(name, ruleset))


def plays(name: str, ruleset: str) -> bool:
    """Reports whether there is a bot `name` that plays the game `ruleset`."""
    kind = name.partition(":")[0]
    every_game = not any(bot == kind for bot, _ in BRAINS)
    return name in BOTS and (every_game or (kind, ruleset) in BRAINS)
