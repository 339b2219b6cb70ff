"""The form for a new game offers these: each game with its usual options, and three common clocks.

Scripts know neither rules nor clocks: the form has their texts as values, as they stand in the log.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from hkoji.game.agreement import parse_time_control
from hkoji.messages.text import Text, tell
from hkoji.rules.registry import RULESETS
from hkoji.show.games import board_type

CLOCKS: Final = {
    "3d/14d": tell("3 days for each turn, and 14 days in reserve"),
    "1d/7d": tell("1 day for each turn, and 7 days in reserve"),
    "none": tell("No clock: nobody can lose on time"),
}
"""The clocks of the form as they are typed, the usual one first, each with its words."""


@cache
def offered_games() -> list[tuple[str, str]]:
    """Returns the name of each game for people, and its ruleset as JSON."""
    return [(board_type(name).game, json.dumps(RULESETS[name]().to_json())) for name in RULESETS]


@cache
def offered_clocks() -> list[tuple[Text, str]]:
    """Returns the words of each clock, and the clock as JSON; `null` is no clock."""
    controls = [(words, parse_time_control(typed)) for typed, words in CLOCKS.items()]
    return [(words, json.dumps(None if control is None else control.to_json())) for words, control in controls]
