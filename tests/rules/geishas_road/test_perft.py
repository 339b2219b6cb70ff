"""The number of ways to go on agrees with the naive referee's counts in tests/data/geishas-road.perft."""

from __future__ import annotations

import pytest

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.protocol import Due
from tests.support import oracle

LINES = oracle.lines("geishas-road")


@pytest.mark.parametrize("line", LINES, ids=oracle.name)
def test_counts(line: str) -> None:
    oracle.check(GeishasRoad, line)


def test_the_first_player_has_189_actions_whatever_the_hand() -> None:
    for first in ("host", "guest"):
        texts = [oracle.name(line) for line in LINES if line.startswith(first)]
        state = oracle.position(GeishasRoad, f"{' '.join(texts[0].split()[:2])} !A !B")
        by_letter = [sum(action[0] == letter for action in state.legal_actions()) for letter in "RIGC"]
        assert by_letter == [7, 42, 35, 105]


def test_the_counts_go_over_every_number_of_answers_and_every_due() -> None:
    """Two, three and four answers to a competition, three to a gift, two orders, the markers, the one last action."""
    found = set()
    for line in LINES:
        state = oracle.position(GeishasRoad, oracle.name(line))
        found.add((state.due, str(state.to_json()["offer"] or "-")[0], len(state.legal_actions())))
    assert {due for due, _, _ in found} == {Due.PICK, Due.ACT, Due.ANSWER, Due.ORDER}
    answers = {(offered, ways) for due, offered, ways in found if due is Due.ANSWER}
    assert answers == {("G", 3), ("C", 2), ("C", 3), ("C", 4)}
    assert {(Due.ORDER, "-", 2), (Due.ACT, "-", 1)} <= found
