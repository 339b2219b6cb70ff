"""The engine agrees, move by move, with a referee written from the rulebook alone, and counts as many ways to go
on.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations

import pytest

from hkoji.rules.events import DECISIONS
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.protocol import DECISION_DUE, Due
from tests.support import naive_geishas_road as naive
from tests.support import oracle
from tests.support.oracle import follow
from tests.support.plays import whole_plays
from tests.support.rules import GAMES, decisions, takes_only

GEISHAS_ROAD = next(game for game in GAMES if game.name == "geishas-road")
CARDS = [f"{colour}{number}" for colour in naive.COLOURS for number in (1, 2, 3, 4)]


def test_the_naive_referee_agrees() -> None:
    """Orders are rare, and markers are chosen once a game: the games would prove little without these."""
    kinds = Counter[str]()
    for play in whole_plays(GEISHAS_ROAD):
        follow(play)
        kinds.update(type(event).__name__ for event in play.events)
        kinds.update(event.action[0] for event in play.events if isinstance(event, DECISIONS))
    assert min(kinds[kind] for kind in ("Chance", "Pick", "Order", "!", "^", ">", "R", "I", "G", "C", "-")) > 2


def test_of_all_that_can_be_written_only_the_legal_actions_are_taken() -> None:
    chance, met = random.Random(1), set[Due]()
    for play in whole_plays(GEISHAS_ROAD)[::2]:
        for due in sorted({state.due for state in decisions(play)}):
            state = chance.choice([state for state in play.states if state.due is due])
            legal = set(state.legal_actions())
            assert legal <= WRITABLE.keys()
            takes_only(state, legal, {*legal, *chance.sample(list(WRITABLE), 300)})
            met.add(due)
    assert met == DECISION_DUE


def _writable() -> dict[str, None]:
    """Every decision in canonical notation, for any cards; a dictionary because it keeps its order."""
    found = [f"R{card}" for card in CARDS]
    found += [f"I{kept}{discarded}" for kept, discarded in permutations(CARDS, 2)]
    found += [naive.spell("G", list(cards)) for cards in combinations(CARDS, 3)]
    for a, b, c, d in combinations(CARDS, 4):
        found += [naive.spell("C", cards) for cards in ([a, b, c, d], [a, c, b, d], [a, d, b, c])]
    found += [f"-{card}" for card in CARDS]
    found += [f"{sign}{first}{second}" for sign in "->" for first, second in permutations(CARDS, 2)]
    return dict.fromkeys([*found, *(f"!{colour}" for colour in naive.COLOURS), "^0", "^1"])


WRITABLE = _writable()


def test_writable_actions_are_what_they_should_be() -> None:
    """Reveals, intrigues, gifts, three ways to pair four cards; answers of one and of two cards, orders; picks."""
    actions = 20 + 20 * 19 + 1140 + 4845 * 3
    assert len(WRITABLE) == actions + 20 + 2 * 380 + 5 + 2


# --- the number of ways to go on --------------------------------------------------------------------------------------


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
