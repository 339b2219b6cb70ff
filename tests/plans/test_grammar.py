"""Plans as text: what is read is written, and read again; each error names its place. Patterns match
as a naive matcher says.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkoji.errors import PlanTextError
from hkoji.plans.grammar import Plan, format_plan, parse_plan
from hkoji.plans.standing import choose, matches, may_follow
from hkoji.rules.events import Deal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE
from tests.support.plans import naive_choice, naive_matches, naive_tokens, random_line
from tests.support.rules import Game, Played, every_game, fewer, played

HANAMIKOJI, ROAD = Hanamikoji(), GeishasRoad()

SPOKEN = """
3BCC : -C                  # they offer exactly this: take C
3*   : -G -F -E -D         # any gift: the first of these that is offered
-C 1X +? : 3DEE 2AB        # they answer with C, play the secret, and I draw any card
** : only                  # whatever happens
"""


def test_the_lines_of_the_page() -> None:
    plan = parse_plan(SPOKEN, HANAMIKOJI)
    assert format_plan(plan) == "3BCC : -C\n3* : -G -F -E -D\n-C 1X +? : 3DEE 2AB\n** : only\n"
    assert [line.number for line in plan.lines] == [2, 3, 4, 5]
    assert plan.lines[-1].choices == ()


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e"])
def test_a_comment_goes_on_to_the_end_of_the_line(sign: str) -> None:
    plan = parse_plan(f"3* : -G # mine{sign}** : -A\r\n4* : only\r\n", Hanamikoji())
    assert [(line.text, line.number) for line in plan.lines] == [("3* : -G", 1), ("4* : only", 2)]


@every_game
@fewer
@given(data=st.data())
def test_a_written_plan_is_read_again(game: Game, data: st.DataObject) -> None:
    play: Played = data.draw(played(game))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    text = "\n".join(random_line(play, seat, chance) for seat in (0, 1, 0))
    plan = parse_plan(text, play.ruleset)
    assert parse_plan(format_plan(plan), play.ruleset) == plan
    assert len(plan.lines) == 3
    # Everything that the seats see can stand in a pattern, and everything that they play among the choices.
    for line, row in zip(plan.lines, text.splitlines(), strict=True):
        assert line.text == " ".join(row.split())


@given(st.text(st.sampled_from("13XABC?*-+>!^: #\nonlyé\0"), max_size=40))
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    for ruleset in (HANAMIKOJI, ROAD):
        read = read_or_error(text, ruleset)
        if isinstance(read, Plan):
            assert parse_plan(format_plan(read), ruleset) == read
        else:
            rows = text.splitlines() or [""]
            assert 1 <= read.line <= len(rows)
            assert 1 <= read.column <= len(rows[read.line - 1]) + 1


def read_or_error(text: str, ruleset: Hanamikoji | GeishasRoad) -> Plan | PlanTextError:
    try:
        return parse_plan(text, ruleset)
    except PlanTextError as error:
        return error


# --- matching ---------------------------------------------------------------------------------------------------------


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
