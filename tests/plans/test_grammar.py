"""Plans as text: what is read is written, and read again; each error names its place."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import PlanTextError
from hkoji.plans.grammar import Plan, format_plan, parse_plan
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.plans import random_line
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
