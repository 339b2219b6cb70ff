"""All bots: by name, by level, and programs of other people; and `random`, which plays every game.

A new bot is one more line in `BOTS`; a game that it plays is one more line in `BRAINS`. The code for a game, and the
code that runs programs, is imported only when it is needed.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Final

from hkoji.bots.protocol import Bot, Seen
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell


class RandomBot(Bot):
    """Plays at random; the same seed gives the same play."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def decide(self, seen: Seen) -> str:
        """Returns a random legal action."""
        actions = seen.view.legal_actions()
        kind = self._random.choice(sorted({action[0] for action in actions}))
        return self._random.choice([action for action in actions if action[0] == kind])


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
            verify_plays(self._name, game)
            module, maker = BRAINS[self._name, game]
            self._bots[game] = self._make(getattr(import_module(module), maker))
        return self._bots[game].decide(seen)

    def close(self) -> None:
        """Closes the bots that have been loaded."""
        for bot in self._bots.values():
            bot.close()
        self._bots.clear()


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


# --- levels -----------------------------------------------------------------------------------------------------------

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


def verify_plays(name: str, ruleset: str) -> None:
    """Checks that there is a bot `name` that plays the game `ruleset`. Raises `UsageError`."""
    if not plays(name, ruleset):
        raise UsageError(
            tell("the bot {bot!r} does not play {game}", bot=name, game=ruleset),
            hint=tell("the bot 'random' plays every game"),
        )


# --- bots that are programs -------------------------------------------------------------------------------------------

WORDS: Final = ("cmd", "keep", "referee")
"""The prefixes of a command, joined by `+`: a program; one process for all decisions; the referees' interface."""

INTERFACES: Final = ("json", "referee")
"""The names of the interfaces through which a program can be asked."""


def named_program(name: str, seed: int) -> Bot | None:
    """Returns the program that `name` denotes, or None if it denotes none.

    Raises `UsageError` if the program cannot be run.
    """
    words, colon, command = name.partition(":")
    kinds = words.split("+")
    if colon and all(kind in WORDS for kind in kinds):
        interface = "referee" if "referee" in kinds else "json"
        return make_program(_split(command), seed, keep="keep" in kinds, interface=interface)
    return make_program((name,), seed) if "/" in name else None


def make_program(
    words: Sequence[str], seed: int, *, keep: bool = False, interface: str = "json", timeout: float | None = None
) -> Bot:
    """Makes a bot of the program `words`; `interface` is one of `INTERFACES`, `timeout` is in seconds per decision.

    Raises `UsageError` if it cannot be run.
    """
    from hkoji.bots.program import JSON_LINE, TIMEOUT, ProgramBot

    spoken = JSON_LINE
    if interface == "referee":
        from hkoji.bots.hanamikoji.referee_interface import REFEREE

        spoken = REFEREE
    elif interface not in INTERFACES:
        raise UsageError(
            tell("there is no interface {name}", name=repr(shorten(interface))),
            hint=tell("one of {names}", names=", ".join(INTERFACES)),
        )
    return ProgramBot(words, seed, keep=keep, interface=spoken, timeout=TIMEOUT if timeout is None else timeout)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(
            tell("the command {text} cannot be read: {reason}", text=repr(shorten(command)), reason=str(error)),
            hint=tell("quote as in a shell"),
        ) from error
