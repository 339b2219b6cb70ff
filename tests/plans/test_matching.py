"""Patterns against tokens, compared with a naive matcher."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from hkoji.plans.grammar import Plan, parse_plan
from hkoji.plans.standing import choose, matches, may_follow
from hkoji.rules.events import Deal
from hkoji.rules.protocol import DECISION_DUE
from tests.support.plans import naive_choice, naive_matches, naive_tokens, random_line
from tests.support.rules import Game, Played, every_game, fewer, played

WORDS = st.lists(st.sampled_from(["3BCC", "3B", "-C", "1X", "+C3", "+D"]), max_size=5)
PATTERNS = st.lists(st.sampled_from(["**", "*", "?", "3*", "*C", "3?C*", "-?", "1X", "+??", "3BCC", "*B*"]), max_size=5)


@settings(max_examples=settings().max_examples * 4)
@given(PATTERNS, WORDS)
def test_as_the_naive_matcher(pattern: list[str], seen: list[str]) -> None:
    assert matches(pattern, seen) is naive_matches(pattern, seen)


@settings(max_examples=settings().max_examples * 3)
@given(PATTERNS, WORDS, WORDS)
def test_a_later_match_may_follow_now(pattern: list[str], seen: list[str], more: list[str]) -> None:
    if more and naive_matches(pattern, [*seen, *more]):
        assert may_follow(pattern, seen)
    # And the other way round: what may follow does so after some tokens that fit the rest of the pattern.
    if may_follow(pattern, seen):
        rests = [pattern[place:] for place in range(len(pattern)) if naive_matches(pattern[:place], seen)]
        rests += [
            pattern[place:]
            for place in range(len(pattern))
            if pattern[place] == "**" and naive_matches(pattern[: place + 1], seen)
        ]
        assert rests
        fitting = [[word.replace("*", "A").replace("?", "A") for word in rest if word != "**"] for rest in rests]
        assert any(naive_matches(pattern, [*seen, *(words or ["A"])]) for words in fitting)


@every_game
@fewer
@given(data=st.data())
def test_a_plan_chooses_only_what_is_legal_and_as_the_page_says(game: Game, data: st.DataObject) -> None:
    play: Played = data.draw(played(game))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    seat = chance.randrange(2)
    lines = [random_line(play, seat, chance) for _ in range(6)]
    plan: Plan = parse_plan("\n".join(lines), play.ruleset)
    events = play.seen_by(seat)
    begin = chance.randrange(len(events))
    chosen = 0
    for number in range(begin, len(events)):
        if isinstance(events[number], Deal) and number > begin:
            break
        state = play.states[number].project(seat)
        if state.due not in DECISION_DUE or state.actor != seat:
            continue
        seen, legal = naive_tokens(events[begin:number], seat), state.legal_actions()
        choice = choose(plan, seen, state, legal)
        assert (choice and choice.action) == naive_choice([line.text for line in plan.lines], seen, legal, state)
        assert choice is None or choice.action in legal
        chosen += choice is not None
