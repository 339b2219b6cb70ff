"""Counting every way to go on, against the naive referee's counts in tests/data/hanamikoji.perft."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.rules.events import Deal, Draw
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, State

FILE = Path(__file__).parents[2] / "data" / "hanamikoji.perft"
LINES = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def position(text: str) -> State:
    """The position that a line of the file describes, ready for a decision."""
    first, dealt, *tokens = text.split()
    host, guest, rest, aside = dealt.removeprefix("=").split("/")
    state: State = drawn(Hanamikoji(first).initial().apply(Deal((host, guest), rest, aside)))
    for token in tokens:
        offer, dash, chosen = token.partition("-")
        for action in [offer, dash + chosen] if dash else [offer]:
            state = decide(state, action)
    return state


def decide(state: State, action: str) -> State:
    assert state.actor is not None
    return drawn(state.apply(DECISION_KINDS[state.due](state.actor, action)))


def drawn(state: State) -> State:
    if state.due is not Due.DRAW:
        return state
    assert state.actor is not None
    return state.apply(Draw(state.actor, state.deck[0]))


def count(state: State, depth: int) -> int:
    if depth == 1:
        return len(state.legal_actions())
    return sum(count(decide(state, action), depth - 1) for action in state.legal_actions())


@pytest.mark.parametrize("line", LINES, ids=[line.partition(" ;")[0] for line in LINES])
def test_counts(line: str) -> None:
    text, _, numbers = line.partition(" ; ")
    start = position(text)
    assert [count(start, depth) for depth in range(1, len(numbers.split()) + 1)] == [int(n) for n in numbers.split()]


def test_the_first_player_with_one_of_each_has_168_actions() -> None:
    state = position("host =ABCDEF/ABCDEF/GGDEFFGG/G")
    by_number = [sum(action[0] == number for action in state.legal_actions()) for number in "1234"]
    assert by_number == [7, 21, 35, 105]
    assert f"; {sum(by_number)} " in LINES[0]


def test_the_last_action_of_a_round_is_one_of_one_and_still_a_decision() -> None:
    state = position("host =ABCDEF/ABCDEF/GGDEFFGG/G 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF 1G")
    assert state.due in DECISION_DUE
    assert state.legal_actions() == ("1G",)
    assert decide(state, "1G").due is Due.REVEAL
