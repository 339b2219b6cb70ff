"""The pages of the rules and the notation describe what the engine does: their examples are played."""

from __future__ import annotations

import re

import pytest

from hkoji.errors import NotationError
from hkoji.rules.events import project
from hkoji.rules.geishas_road.actions import CODES, COLOURS, NAMES, NUMBERS, PACK, SIZES, parse
from hkoji.rules.geishas_road.road import DARK, LIGHT, Road
from hkoji.rules.geishas_road.ruleset import FIRST, MARKERS, GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due
from hkoji.rules.transcript import format_event, parse_transcript
from tests.support.docs import DOCS, ROAD_NOTATION, blocks, check_options, quoted, rows
from tests.support.rules import random_game

RULES = (DOCS / "rules" / "geishas-road.md").read_text()
BLOCKS = blocks(ROAD_NOTATION)


def test_the_cards_are_those_of_the_game() -> None:
    head = next(line for line in RULES.splitlines() if line.startswith("| colour |"))
    assert "".join(head.strip("|").split("|")[1:]).replace(" ", "") == COLOURS
    ((name, *cells),) = rows(RULES, "colour")
    assert (name, set(cells)) == ("items", {" ".join(map(str, NUMBERS))})


def test_the_lanterns_are_those_of_the_game() -> None:
    decks = {row[0]: tuple(int(number) for number in row[2].split()) for row in rows(RULES, "deck")}
    assert decks == {"Light": LIGHT, "Dark": DARK}


def test_the_actions_are_those_of_the_game() -> None:
    table = rows(RULES, "letter")
    assert [row[0] for row in table] == list(CODES)
    assert {row[0]: row[1] for row in table} == NAMES
    assert {row[0]: int(row[2][0]) for row in table} == SIZES


def test_the_options_are_those_of_the_game() -> None:
    assert check_options(RULES, GeishasRoad().to_json()) == {"first": list(FIRST), "markers": list(MARKERS)}


def test_the_examples_of_orders() -> None:
    table = rows(RULES, "played before")
    assert len(table) == 6
    for before, pair, orders, _ in table:
        road = Road().walk(PACK.split(before.replace(" ", "")))
        first, second = pair.split()
        assert len(road.orders((first, second))) == int(orders), (before, pair)


def test_of_each_colour_at_least_two_items_are_played() -> None:
    """So no marker wins a geisha by itself."""
    assert "at least two are always played" in re.sub(r"\s+", " ", RULES)
    scored = 0
    for seed in range(40):
        for state in random_game(GeishasRoad(), seed).states:
            assert isinstance(state, GeishasRoadState)
            if state.counted:
                cards = PACK.decode(state.tableaus[0] + state.tableaus[1])
                assert min(cards.count(colour) for colour in COLOURS) >= 2
                scored += 1
    assert scored >= 80


# --- the notation ---------------------------------------------------------------------------------------------------


def test_a_word_that_you_type_is_the_action_that_it_says() -> None:
    table = rows(ROAD_NOTATION, "what you type")
    assert {canonical.strip("`")[0] for _, _, canonical in table} == set("RIGC->!^")
    for typed, _, canonical in table:
        for text in (*quoted(typed), canonical.strip("`")):
            assert parse(text) == canonical.strip("`")


@pytest.mark.parametrize(
    ("due", "typed", "canonical"),
    [
        (Due.ANSWER, "b2 a1", "-B2A1"),
        (Due.ORDER, "c4 a1", ">C4A1"),
        (Due.PICK, "a", "!A"),
        (Due.PICK, "host", "^0"),
        (Due.PICK, "0", "^0"),
    ],
)
def test_a_due_decision_needs_no_sign(due: Due, typed: str, canonical: str) -> None:
    (sentence,) = re.findall(r"^When one of these is due.*?\.$", ROAD_NOTATION, re.MULTILINE | re.DOTALL)
    assert typed in quoted(sentence)
    assert parse(typed, due=due) == canonical


def test_every_word_for_a_move_is_named() -> None:
    (sentence,) = re.findall(r"Actions also go by name: (.*?)\. An order may begin", ROAD_NOTATION, re.DOTALL)
    cards = {"R": "a1", "I": "a1b2", "G": "a1b2c3", "C": "a1b2c3d4"}
    found = []
    for word in quoted(sentence):
        found += [code for code, text in cards.items() if _is_read(f"{word} {text}", code)]
    assert found == list("RIGCC" + "RRIGC")
    (sentence,) = re.findall(r"An order may begin with (.*?)\. The words are there", ROAD_NOTATION, re.DOTALL)
    found = []
    for word in quoted(sentence):
        found += [sign for sign, text in ((">", "a1 b2"), ("!", "a"), ("^", "0")) if _is_read(f"{word} {text}", sign)]
    assert found == list(">>!!^^^" + ">>>!^")


def _is_read(text: str, sign: str) -> bool:
    try:
        return parse(text)[0] == sign
    except NotationError:
        return False


def test_a_sign_in_quotes_is_safe_in_a_shell() -> None:
    (command,) = (text for text in quoted(ROAD_NOTATION) if text.startswith("hkoji move"))
    move = re.findall(r"'([^']+)'", command)
    assert [parse(text) for text in move] == [">C4A1"]


def test_the_events_are_written_so() -> None:
    """Every example in the table of events occurs in one of the games."""
    examples = {text for row in rows(ROAD_NOTATION, "event") for text in quoted(row[2])}
    whole, begun = (parse_transcript(BLOCKS[number]) for number in (0, 2))
    hosts = tuple(project(event, 0, whole.ruleset.public) for event in whole.events)
    spoken = {format_event(event) for event in (*whole.events, *hosts, *begun.events)}
    spoken |= {token for text in BLOCKS for token in text.split()}
    assert examples - spoken == {"*AD", "*1", "#1 rounds"}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("first=host markers=random", "*AD"),
        ("first=random markers=choose", "*1"),
        ("first=random markers=random", "*1AD"),
    ],
)
def test_chance_is_written_so(options: str, line: str) -> None:
    (event,) = parse_transcript(f'[Ruleset "geishas-road/1 {options}"]\n{line}').events
    assert format_event(event) == line
