"""How a bot's program is asked: one decision as one line of JSON. Other interfaces are made like this one.

The answer is one line in every interface: a move in any notation that people may type.
"""

from __future__ import annotations

import json
from typing import Final, Protocol

from hkoji.bots.protocol import Seen
from hkoji.rules.information import information_json


class Interface(Protocol):
    """How to put a decision to a program."""

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """What to run for the command `words` of a bot."""

    def question(self, seen: Seen) -> str:
        """What the program reads: whole lines. Raises `UsageError` for a game that cannot be put so."""


class JsonLine:
    """One JSON object on one line: what `hkoji show --json` says of the rules' side of a game. docs/cli.md, "JSON"."""

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The command as it stands."""
        return words

    def question(self, seen: Seen) -> str:
        """The information state."""
        value = information_json(seen.view, seen.seat, seen.events, seen.view.legal_actions())
        return json.dumps(value, sort_keys=True) + "\n"


JSON_LINE: Final = JsonLine()
