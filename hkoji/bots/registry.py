"""Which bots there are, by name. The one place that names them all; adding a bot is adding a line here."""

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
"""From a bot's name to what makes one from a seed (an int)."""


def make_bot(name: str, seed: int) -> Bot:
    """A bot by its name, or somebody's program: `./mybot`, `cmd:python3 mybot.py`, `keep+referee:./theirs`.

    The same name and seed give the same play, as far as a program keeps to it. Raises `UsageError` for a bot that
    there is not.
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
