"""Counts every way to go on from the positions of tests/data/*.perft, with the engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hkoji.rules.events import Draw
from hkoji.rules.protocol import DECISION_KINDS, Due, Ruleset, State
from tests.support.rules import dealt

FOLDER = Path(__file__).parents[1] / "data"


def lines(game: str) -> list[str]:
    """A game's positions with their counts."""
    return [line for line in (FOLDER / f"{game}.perft").read_text().splitlines() if line and not line.startswith("#")]


def name(line: str) -> str:
    """The position of a line."""
    return line.partition(" ;")[0]


def check(ruleset: Callable[[str], Ruleset], line: str) -> None:
    """Asserts that the position of `line` has as many continuations as the line says."""
    start = position(ruleset, name(line))
    expected = [int(number) for number in line.partition(" ; ")[2].split()]
    assert expected
    assert [count(start, depth) for depth in range(1, len(expected) + 1)] == expected


def position(ruleset: Callable[[str], Ruleset], text: str) -> State:
    """The position that a line describes, ready for a decision; `ruleset` makes the game from who starts."""
    first, deal, *tokens = text.split()
    state = drawn(ruleset(first).initial().apply(dealt(deal)))
    for token in tokens:
        for action in re.findall(r"^[^->]+|[->][^->]+", token):
            state = decide(state, action)
    return state


def decide(state: State, action: str) -> State:
    """The position after a decision and the draw that follows."""
    assert state.actor is not None
    return drawn(state.apply(DECISION_KINDS[state.due](state.actor, action)))


def drawn(state: State) -> State:
    """The position after the draw, if one is due."""
    if state.due is not Due.DRAW:
        return state
    assert state.actor is not None
    return state.apply(Draw(state.actor, state.deck[: state.ruleset.pack.width]))


def count(state: State, depth: int) -> int:
    """The number of sequences of so many decisions."""
    if depth == 1:
        return len(state.legal_actions())
    return sum(count(decide(state, action), depth - 1) for action in state.legal_actions())
