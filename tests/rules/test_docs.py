"""The rules pages describe what the engine does: their examples are played."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from hkoji.rules.events import Event, project
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES, parse
from hkoji.rules.hanamikoji.position import winner
from hkoji.rules.hanamikoji.ruleset import FIRST, MOST_ROUNDS, TIEBREAKS, Hanamikoji
from hkoji.rules.protocol import Due
from hkoji.rules.transcript import Transcript, format_event, format_transcript, parse_transcript
from tests.support.docs import DOCS, NOTATION, ROAD_NOTATION, blocks, check_options, quoted, rows

RULES = (DOCS / "rules" / "hanamikoji.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()
BLOCKS, ROAD_BLOCKS = blocks(NOTATION), blocks(ROAD_NOTATION)


@pytest.mark.parametrize("text", BLOCKS + ROAD_BLOCKS)
def test_the_transcripts_are_games_in_canonical_form(text: str) -> None:
    assert format_transcript(parse_transcript(text)) == text


@pytest.mark.parametrize(("texts", "seat"), [(BLOCKS, 1), (ROAD_BLOCKS, 0)])
def test_a_seat_saw_the_same_game(texts: list[str], seat: int) -> None:
    whole, seen = (parse_transcript(text) for text in texts[:2])
    events = tuple(project(event, seat, whole.ruleset.public) for event in whole.events)
    assert Transcript(whole.ruleset, whole.tags, events) == seen


@pytest.mark.parametrize("texts", [BLOCKS, ROAD_BLOCKS])
def test_the_game_that_has_only_begun(texts: list[str]) -> None:
    *_, last = parse_transcript(texts[2]).states()
    assert (last.due, last.actor, last.outcome) == (Due.ANSWER, 0, None)


@pytest.mark.parametrize(("page", "texts"), [(NOTATION, BLOCKS), (ROAD_NOTATION, ROAD_BLOCKS)])
def test_the_round_line_is_that_of_the_transcript(page: str, texts: list[str]) -> None:
    (line,) = re.findall(r"^    (\S.*)$", page, re.MULTILINE)
    assert [token for token in texts[0].splitlines()[4].split()[1:] if token[0] not in "+?="] == line.split()


def test_a_word_that_you_type_is_the_action_that_it_says() -> None:
    table = rows(NOTATION, "what you type")
    assert len(table) == 6
    for typed, _, canonical in table:
        for text in quoted(typed):
            assert parse(text) == canonical.strip("`")
            assert parse(canonical.strip("`")) == canonical.strip("`")
    for text in ("c", "b d"):
        assert f"`{text}`" in NOTATION
        assert parse(text, proposal="3BCC").startswith("-")


def test_every_word_for_an_action_is_named() -> None:
    (sentence,) = re.findall(r"Actions also go by name: (.*?)\.\nAnswers may begin with (.*?)\. ", NOTATION, re.DOTALL)
    actions, answers = (quoted(part) for part in sentence)
    sizes = (1, 2, 2, 2, 2, 3, 4, 4, 1, 2, 3, 4)
    numbers = [parse(f"{word} {'abcd'[:size]}")[0] for word, size in zip(actions, sizes, strict=True)]
    assert numbers == list("122223441234")
    assert [parse(f"{word} a") for word in answers] == ["-A"] * 6


def test_the_events_are_written_so() -> None:
    """Every example in the table of events occurs in one of the games, or is read in its place."""
    examples = {text for row in rows(NOTATION, "event") for text in quoted(row[2])}
    whole = parse_transcript(BLOCKS[0])
    spoken = {format_event(event) for event in whole.events} | set(BLOCKS[0].split()) | set(BLOCKS[1].split())
    spoken |= {"*1", "=AABDGG/XXXXXX", "#0 charm", "#= limit"}
    assert examples <= spoken
    assert "*1" in BLOCKS[2].split()
    hosts = tuple(project(event, 0, whole.ruleset.public) for event in whole.events)
    assert format_event(hosts[0]) == "=AABDGG/XXXXXX"


def test_the_geisha_are_those_of_the_game() -> None:
    head = next(line for line in RULES.splitlines() if line.startswith("| geisha |"))
    assert "".join(head.strip("|").split("|")[1:]).replace(" ", "") == KINDS
    for name, *cells in rows(RULES, "geisha"):
        assert name in ("charm", "items")
        assert tuple(int(cell) for cell in cells) == CHARM


def test_the_actions_are_those_of_the_game() -> None:
    table = rows(RULES, "no.")
    assert {int(row[0]): row[1] for row in table} == NAMES
    assert [int(row[2][0]) for row in table] == list(NAMES)


def test_the_options_are_those_of_the_game() -> None:
    values = check_options(RULES, Hanamikoji().to_json())
    assert values == {
        "first": list(FIRST),
        "tiebreak": list(TIEBREAKS),
        "max_rounds": [f"1 to {MOST_ROUNDS}, or 0 for no limit"],
    }


def test_the_example_of_scoring() -> None:
    outcome = winner("0000111")
    assert outcome is not None
    assert (outcome.reason, outcome.winner) == ("charm", 1)


def test_the_glossary_has_the_words_of_the_engine() -> None:
    """Each kind of event and each due is explained; no word is explained twice."""
    words = re.findall(r"^\| ([^|]+) \| ", GLOSSARY, re.MULTILINE)
    terms = [term for word in words if word != "word" for term in word.split(", ")]
    assert sorted(terms) == sorted(set(terms))
    events = [kind.__name__.lower() for kind in get_args(Event)]
    assert set(events) - {"deal", "draw", "act"} <= set(terms)
    (line,) = re.findall(r"^\| event \| something that happens: (.*) \|$", GLOSSARY, re.MULTILINE)
    assert line.split(", ") == events
