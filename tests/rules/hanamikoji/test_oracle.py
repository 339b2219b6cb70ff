"""The engine agrees, move by move, with a referee written from the rulebook alone, and counts as many ways to go
on.
"""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

import pytest

from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due
from tests.support import naive_hanamikoji as naive
from tests.support import oracle
from tests.support.oracle import follow
from tests.support.plays import whole_plays
from tests.support.rules import GAMES, takes_only

HANAMIKOJI = next(game for game in GAMES if game.name == "hanamikoji")


def test_the_naive_referee_agrees() -> None:
    for play in whole_plays(HANAMIKOJI):
        follow(play)


def test_of_all_that_can_be_written_only_the_legal_actions_are_taken() -> None:
    chance = random.Random(1)
    for play in whole_plays(HANAMIKOJI)[::2]:
        for due in (Due.ACT, Due.ANSWER):
            state = chance.choice([state for state in play.states if state.due is due])
            legal = set(state.legal_actions())
            assert legal <= WRITABLE
            takes_only(state, legal, sorted(WRITABLE))


def _writable() -> set[str]:
    found = set()
    for number in (1, 2, 3, 4):
        for cards in combinations_with_replacement("ABCDEFG", number):
            found.add(naive.spell(number, list(cards)))
            if number == 4:
                a, b, c, d = cards
                found |= {naive.spell(4, [a, c, b, d]), naive.spell(4, [a, d, b, c])}
            elif number < 3:
                found.add("-" + "".join(cards))
    return found


WRITABLE = _writable()


def test_writable_actions_are_what_they_should_be() -> None:
    """7 secrets, 28 trade-offs, 84 gifts, 7 + 28 answers; pairs of 28 pairs for the competitions."""
    assert len(WRITABLE) == 7 + 28 + 84 + 28 * 29 // 2 + 7 + 28


# --- the number of ways to go on --------------------------------------------------------------------------------------


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
