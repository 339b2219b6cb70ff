"""How long a game may take at most with a clock, if both players use all of their time.

docs/spec/log.md, "Clock". A turn takes at most `move` and what is in reserve. Rest days, gifts and outages come on top.
"""

from __future__ import annotations

from hkoji.game.time_control import TimeControl
from hkoji.rules.protocol import Ruleset

_SEED_TURNS = 2
"""Before the first round each player reveals entropy, which is a turn."""


def longest_round(ruleset: Ruleset, control: TimeControl) -> int:
    """The most counted seconds of one round. No reserve is above its limit when the round begins."""
    return ruleset.most_turns * (control.move + control.add) + 2 * control.cap


def longest_game(ruleset: Ruleset, control: TimeControl) -> int | None:
    """The most counted seconds of a game, from the join to its end; None if nothing limits them."""
    if control.move == control.add == 0:
        return 2 * control.bank
    if ruleset.most_rounds is None:
        return None
    turns = _SEED_TURNS + ruleset.most_rounds * ruleset.most_turns
    return turns * (control.move + control.add) + 2 * control.bank
