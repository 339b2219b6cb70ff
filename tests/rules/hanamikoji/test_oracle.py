"""The engine agrees, move by move, with a referee written from the rulebook alone."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

from hkoji.rules.protocol import Due
from tests.support import naive_hanamikoji as naive
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
