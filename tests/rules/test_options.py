"""The ruleset object of the log, for every game: every option is there, and unknown options are reported as such."""

from __future__ import annotations

import pytest

from hkoji.errors import InvalidError, MalformedError, NotUnderstoodError
from hkoji.rules.protocol import Json
from hkoji.rules.registry import parse_ruleset, reasons
from tests.support.rules import GAMES, Game, every_game


@every_game
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 2}, NotUnderstoodError),
        ({"version": True}, MalformedError),
        ({"version": "1"}, MalformedError),
        ({"version": None}, MalformedError),
        ({"first": 0}, MalformedError),
        ({"first": None}, MalformedError),
        ({"first": ""}, MalformedError),
        ({"first": []}, MalformedError),
        ({"first": "youngest"}, MalformedError),
        ({"deck": "everdeck"}, NotUnderstoodError),
        ({"name": "hanafuda"}, NotUnderstoodError),
        ({"name": None}, MalformedError),
    ],
)
def test_an_unreadable_ruleset(game: Game, change: dict[str, Json], error: type[InvalidError]) -> None:
    for ruleset in game.rulesets:
        with pytest.raises(error):
            parse_ruleset({**ruleset.to_json(), **change})


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


@pytest.mark.parametrize("options", [None, [], "hanamikoji", 1])
def test_a_ruleset_is_an_object(options: Json) -> None:
    with pytest.raises(MalformedError):
        parse_ruleset(options)
