"""The names of bots that are programs: `./mybot`, `cmd:python3 mybot.py`, `keep:…`.

The code that runs processes is imported only when such a bot is made.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from hkoji.bots.interface import JSON_LINE, Interface
from hkoji.bots.protocol import Bot
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

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
    from hkoji.bots.program import TIMEOUT, ProgramBot

    spoken: Interface = JSON_LINE
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
