"""The interface between hkoji and a bot's program, and its usual form: one line of JSON for each decision.

In every interface the answer is one line: a move in any notation that people may type.
"""

from __future__ import annotations

import json
from typing import Final, Protocol

from hkoji.bots.protocol import Seen
from hkoji.rules.information import information_json


class Interface(Protocol):
    """A way to put a decision to a program."""

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the command to run for a bot that was given as `words`."""

    def question(self, seen: Seen) -> str:
        """Returns the text that the program reads: complete lines. Raises `UsageError` if it does not know the game."""


class JsonLine:
    """One JSON object on one line: the fields of `hkoji show --json` that come from the rules. docs/cli.md, "JSON"."""

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the command unchanged."""
        return words

    def question(self, seen: Seen) -> str:
        """Returns the information state."""
        value = information_json(seen.view, seen.seat, seen.events, seen.view.legal_actions())
        return json.dumps(value, sort_keys=True) + "\n"


JSON_LINE: Final = JsonLine()
