"""The table of all bots by name. A new bot is one more line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from hkoji.bots.by_game import ByGame
from hkoji.bots.chance import RandomBot
from hkoji.bots.command import named_program
from hkoji.bots.protocol import Bot
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell


def _by_game(name: str, seed: int, **options: object) -> Bot:
    return ByGame(name, lambda brain: brain(seed, **options))


BOTS: Final[dict[str, Callable[[int], Bot]]] = {
    "random": RandomBot,
    "greedy": partial(_by_game, "greedy"),
    "search": partial(_by_game, "search", level="hard"),
    "search:easy": partial(_by_game, "search", level="easy"),
    "search:normal": partial(_by_game, "search", level="normal"),
    "search:hard": partial(_by_game, "search", level="hard"),
}
"""For each bot's name, the function that makes the bot from a seed."""


def make_bot(name: str, seed: int) -> Bot:
    """Makes a bot from its name, or from a program: `./mybot`, `cmd:python3 mybot.py`, `keep+referee:./theirs`.

    The same name and seed give the same play, if a program honours its seed. Raises `UsageError` for an unknown bot.
    """
    if name in BOTS:
        return BOTS[name](seed)
    program = named_program(name, seed)
    if program is not None:
        return program
    raise UsageError(
        tell("there is no bot {name}", name=repr(shorten(name))),
        hint=tell(
            "bots: {names}; or a program, as in ./mybot or 'cmd:python3 mybot.py'", names=", ".join(sorted(BOTS))
        ),
    )
