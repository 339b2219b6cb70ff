"""Which bots there are, by name. The one place that names them all; adding a bot is adding a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from hkoji.bots.by_game import ByGame
from hkoji.bots.chance import RandomBot
from hkoji.bots.protocol import Bot
from hkoji.errors import UsageError, shorten


def _by_game(name: str, seed: int, **options: object) -> Bot:
    return ByGame(name, lambda brain: brain(seed, **options))


BOTS: Final[dict[str, Callable[[int], Bot]]] = {
    "random": RandomBot,
    "greedy": partial(_by_game, "greedy"),
}
"""From a bot's name to what makes one from a seed (an int)."""


def make_bot(name: str, seed: int) -> Bot:
    """A bot; the same name and seed give the same play. Raises `UsageError` for an unknown name."""
    if name not in BOTS:
        raise UsageError(f"there is no bot {shorten(name)!r}", hint=f"bots: {', '.join(sorted(BOTS))}")
    return BOTS[name](seed)
