"""The ruleset object of the log, for every game: every option is there, and unknown options are reported as such."""

from __future__ import annotations

import pytest

from hkoji.errors import InvalidError
from hkoji.rules.registry import parse_ruleset, reasons
from tests.support.rules import GAMES, Game, every_game


@every_game
def test_every_option_is_always_there(game: Game) -> None:
    for ruleset in game.rulesets:
        options = ruleset.to_json()
        for key in options:
            with pytest.raises(InvalidError):
                parse_ruleset({other: value for other, value in options.items() if other != key})


@every_game
def test_every_end_has_a_known_reason(game: Game) -> None:
    assert reasons() >= set(game.rulesets[0].reasons) | {"resign", "timeout", "cancel"}
    assert reasons() == {"resign", "timeout", "cancel"}.union(*(each.rulesets[0].reasons for each in GAMES))
