"""Plans as text: what is read is written, and read again; each error names its place."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import PlanTextError
from hkoji.plans.grammar import MAX_PLAN_BYTES, Plan, format_plan, parse_plan
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


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("3cbc -DB +e : 4bdac ONLY1e", None),
        ("3cbc -DB +e : 4bdac 1e", "3BCC -BD +E : 4ABCD 1E"),
        ("\t3b*   **:only#x:y", "3B* ** : only"),
        ("? * : 2ba", "? * : 2AB"),
    ],
)
def test_input_may_be_loose(typed: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(PlanTextError):
            parse_plan(typed, HANAMIKOJI)
    else:
        assert format_plan(parse_plan(typed, HANAMIKOJI)) == f"{canonical}\n".replace("4ABCD", "4ACBD")


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e"])
def test_a_comment_goes_on_to_the_end_of_the_line(sign: str) -> None:
    plan = parse_plan(f"3* : -G # mine{sign}** : -A\r\n4* : only\r\n", Hanamikoji())
    assert [(line.text, line.number) for line in plan.lines] == [("3* : -G", 1), ("4* : only", 2)]


@every_game
@fewer
@given(data=st.data())
def test_what_is_written_is_read_again(game: Game, data: st.DataObject) -> None:
    play: Played = data.draw(played(game))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    text = "\n".join(random_line(play, seat, chance) for seat in (0, 1, 0))
    plan = parse_plan(text, play.ruleset)
    assert parse_plan(format_plan(plan), play.ruleset) == plan
    assert len(plan.lines) == 3
    # Whatever the seats see can stand in a pattern, and whatever they play among the choices.
    for line, row in zip(plan.lines, text.splitlines(), strict=True):
        assert line.text == " ".join(row.split())


@pytest.mark.parametrize(
    ("ruleset", "text", "line", "column", "reason"),
    [
        (HANAMIKOJI, "", 1, 1, "no line"),
        (HANAMIKOJI, "# nothing\n\n", 1, 1, "no line"),
        (HANAMIKOJI, "3* : -C\n3* -C", 2, 6, "the : before the moves is missing"),
        (HANAMIKOJI, "3* : -C : -D", 1, 9, "second :"),
        (HANAMIKOJI, " : only", 1, 1, "the pattern is empty"),
        (HANAMIKOJI, "3* :  # -C", 1, 5, "no move after"),
        (HANAMIKOJI, "3* : -C only", 1, 9, "only stands alone"),
        (HANAMIKOJI, "3* : only -C", 1, 6, "only stands alone"),
        (HANAMIKOJI, "3* : -C 5A", 1, 9, "moves begin with 1 to 4"),
        (HANAMIKOJI, "3* : C", 1, 6, "moves begin with 1 to 4"),
        (HANAMIKOJI, "3* : 1X", 1, 6, "which cards"),
        (HANAMIKOJI, "3* : 3AAA", 1, 6, "only two A cards"),
        (HANAMIKOJI, "3AAA : -A", 1, 1, "only two A cards"),
        (HANAMIKOJI, "\n\n  1E : -A", 3, 3, "you see it as 1X"),
        (HANAMIKOJI, "2AB : -A", 1, 1, "you see it as 2XX"),
        (HANAMIKOJI, "3BCC-C : -A", 1, 1, "no card"),
        (HANAMIKOJI, "+X : only", 1, 1, "only your own draws"),
        (HANAMIKOJI, "+AB : only", 1, 1, "one card"),
        (HANAMIKOJI, "1X +H : only", 1, 4, "there is no card"),
        (HANAMIKOJI, "3** : only", 1, 1, "** stands alone"),
        (HANAMIKOJI, "3H? : only", 1, 1, "stands in no move"),
        (HANAMIKOJI, "=* : only", 1, 1, "nothing that you see"),
        (ROAD, "Rß? : only", 1, 1, "plain letters"),
        (HANAMIKOJI, "3è* : only", 1, 1, "plain letters"),
        (HANAMIKOJI, "** : -É", 1, 6, "plain letters"),
        (HANAMIKOJI, f"{'* ' * 65}: only", 1, 129, "more than 64 words"),
        (HANAMIKOJI, f"{'A' * 33} : only", 1, 1, "over 32 characters"),
        (HANAMIKOJI, "** : only\n" * 201, 201, 1, "a plan has at most 200 lines"),
        (HANAMIKOJI, "#" * (MAX_PLAN_BYTES + 1), 1, 1, "a plan has at most 16384 bytes"),
        (ROAD, "IB2C1 : only", 1, 1, "you see it as IXX"),
        (ROAD, "** : RA5", 1, 6, "not colours"),
        (ROAD, "** : GA1A1B2", 1, 6, "only one A1 card"),
        (ROAD, "3* : only", 1, 1, "nothing that you see"),
    ],
)
def test_an_error_names_its_place(
    ruleset: Hanamikoji | GeishasRoad, text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(PlanTextError) as caught:
        parse_plan(text, ruleset)
    error = caught.value
    assert (error.line, error.column) == (line, column), str(error)
    assert reason in str(error)
    assert error.hint
    assert str(error).startswith(f"plan, line {line}, column {column}: ")


def test_a_word_that_is_no_move_is_named_with_what_moves_begin_with() -> None:
    with pytest.raises(PlanTextError) as caught:
        parse_plan("ZZ : -C", HANAMIKOJI)
    assert caught.value.message == "plan, line 1, column 1: 'ZZ' is not a move; moves begin with 1 to 4"


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
