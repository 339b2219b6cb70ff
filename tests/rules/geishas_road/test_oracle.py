"""The engine agrees, move by move, with a referee written from the rulebook alone."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations

from hkoji.rules.events import DECISIONS
from hkoji.rules.protocol import DECISION_DUE, Due
from tests.support import naive_geishas_road as naive
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
