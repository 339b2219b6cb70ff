"""The form for a new game offers these: each game with its usual options, and three common clocks.

Scripts know neither rules nor clocks: the form has their texts as values, as they stand in the log.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from hkoji.game.agreement import parse_time_control
from hkoji.rules.registry import RULESETS
from hkoji.show.games import board_type

CLOCKS: Final = ("3d/14d", "1d/7d", "none")
"""The clocks of the form, the usual one first. Each has its words in `page_texts`, under `new.clock.` and its name."""


@cache
def offered_games() -> list[tuple[str, str]]:
    """Returns the name of each game for people, and its ruleset as JSON."""
    return [(board_type(name).game, json.dumps(RULESETS[name]().to_json())) for name in RULESETS]


@cache
def offered_clocks() -> list[tuple[str, str]]:
    """Returns each clock as it is typed, and as JSON; `null` is no clock."""
    controls = [(text, parse_time_control(text)) for text in CLOCKS]
    return [(text, json.dumps(None if control is None else control.to_json())) for text, control in controls]
