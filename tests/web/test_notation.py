"""The one thing that pages know of the games: which cards of an action lie face down. It is compared with the rules."""

from __future__ import annotations

import pytest

from hkoji.game.commitments import hidden_commit
from hkoji.rules.registry import RULESETS
from tests.support.page_modules import run_module
from tests.support.rules import GAMES, decisions, random_game

ID = "ab" * 16


@pytest.mark.parametrize("name", [name for name in RULESETS if name != "showdown"])  # that is the game of tests
def test_hidden_cards_are_those_of_the_rules(name: str) -> None:
    game = next(each for each in GAMES if each.rulesets[0].name == name)
    actions = sorted(
        {
            action
            for seed, ruleset in enumerate(game.rulesets)
            for position in decisions(random_game(ruleset, seed, 3))
            for action in position.legal_actions()
        }
    )
    ruleset = game.rulesets[0]
    rows = [{"ruleset": name, "game": ID, "seq": seq, "action": action} for seq, action in enumerate(actions, 6)]
    signs = set()
    for row, made in zip(rows, run_module("node", "notation.js", rows), strict=True):
        action, seq = str(row["action"]), int(str(row["seq"]))
        groups = ruleset.hidden(action)
        assert made["action"] == ruleset.public(action)
        assert [(it["cards"], it["part"], it["seq"]) for it in made["opening"]] == [
            (group.cards, part, seq) for part, group in enumerate(groups)
        ]
        commits = [hidden_commit(ID, seq, it["part"], it["cards"], it["salt"]) for it in made["opening"]]
        assert made.get("commit", []) == commits
        assert len({it["salt"] for it in made["opening"]}) == len(groups)
        signs.add((action[0], bool(groups)))
    assert len(signs) > 4
    assert {hides for _, hides in signs} == {True, False}
