"""The environment variables of hkoji: a name that begins like them and that nothing reads is refused.

A misspelt setting would otherwise be ignored, and the service would run with another one than its operator chose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

BEGINNING: Final = "HKOJI_"
PREFIX: Final = f"{BEGINNING}SERVER_"
"""The beginning of the variables that set a service."""
DATABASE: Final = "HKOJI_DATABASE"
OTHERS: Final = (
    "HKOJI_ALWAYS",
    "HKOJI_BOT_SEED",
    "HKOJI_CONFIG",
    "HKOJI_DECK",
    "HKOJI_DNS_SERVER",
    "HKOJI_EVENT",
    "HKOJI_GAME",
    "HKOJI_HOME",
    "HKOJI_LANG",
    "HKOJI_SEQ",
)
"""What the player's side reads, or sets for the programs that it starts. A test compares the list with the code."""
_FOREIGN: Final = re.compile(
    r"HKOJI_(?:TEST_\w+|VENV)=.*"
    r"|HKOJI_(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_\w+)?)=.*"
    r"|HKOJI_(?:\w+_)?PORT=(?:tcp|udp|sctp)://.*",
    re.DOTALL,
)
"""Variables of the tests; and those that Kubernetes gives each container, if a service there is called hkoji."""


def verify_environment(settings: Collection[str]) -> None:
    """Raises `UsageError` for a variable that nothing reads. `settings` are the names of all settings of a service.

    Empty variables count as not set. Values are not repeated, because one may be a secret.
    """
    known = {DATABASE, *OTHERS, f"{PREFIX}CONFIG", *(f"{PREFIX}{each.upper()}" for each in settings)}
    for given, value in os.environ.items():
        name = given.upper()
        if not value or not name.startswith(BEGINNING) or name in known or _FOREIGN.fullmatch(f"{name}={value}"):
            continue
        raise no_such_setting(name, _meant(name, known), tell("check the environment; docs/cli.md lists all settings"))


def no_such_setting(name: str, meant: str | None, hint: str) -> UsageError:
    """Returns the refusal of a setting that does not exist; `meant` is the name that was probably meant."""
    if meant is not None:
        hint = tell("did you mean {name}? {hint}", name=meant, hint=hint)
    return UsageError(tell("there is no setting {name}", name=shorten(name)), hint=hint)


def _meant(name: str, known: Collection[str]) -> str | None:
    """Returns the nearest name: first by what follows the common beginnings, which would make all names alike."""
    ends = get_close_matches(_end(name), {_end(each) for each in known}, n=1)
    same = [each for each in sorted(known) if _end(each) in ends]
    return next(iter(get_close_matches(name, same, n=1, cutoff=0)), None)


def _end(name: str) -> str:
    return name.removeprefix(BEGINNING).removeprefix("SERVER").removeprefix("_")
