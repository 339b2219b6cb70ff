"""The number of ways to go on agrees with the naive referee's counts in tests/data/hanamikoji.perft."""

from __future__ import annotations

import pytest

from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due
from tests.support import oracle

LINES = oracle.lines("hanamikoji")


@pytest.mark.parametrize("line", LINES, ids=oracle.name)
def test_counts(line: str) -> None:
    oracle.check(Hanamikoji, line)


def test_the_first_player_with_one_of_each_has_168_actions() -> None:
    state = oracle.position(Hanamikoji, "host =ABCDEF/ABCDEF/GGDEFFGG/G")
    by_number = [sum(action[0] == number for action in state.legal_actions()) for number in "1234"]
    assert by_number == [7, 21, 35, 105]
    assert f"; {sum(by_number)} " in LINES[0]


def test_the_last_action_of_a_round_is_one_of_one_and_still_a_decision() -> None:
    state = oracle.position(Hanamikoji, "host =ABCDEF/ABCDEF/GGDEFFGG/G 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF 1G")
    assert state.due in DECISION_DUE
    assert state.legal_actions() == ("1G",)
    assert oracle.decide(state, "1G").due is Due.REVEAL
