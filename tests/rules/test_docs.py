"""The rules pages say what the engine does: their examples are played."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from hkoji.rules.events import Event, project
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES
from hkoji.rules.hanamikoji.notation import parse
from hkoji.rules.hanamikoji.ruleset import FIRST, MOST_ROUNDS, TIEBREAKS, Hanamikoji
from hkoji.rules.hanamikoji.scoring import winner
from hkoji.rules.protocol import Due
from hkoji.rules.transcript import Transcript, format_event, format_transcript, parse_transcript

DOCS = Path(__file__).parents[2] / "docs"
NOTATION = (DOCS / "rules" / "notation.md").read_text()
RULES = (DOCS / "rules" / "hanamikoji.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", NOTATION, re.MULTILINE | re.DOTALL)


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table whose first column is headed so, without its head."""
    lines = page.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    cells = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split("|")])
    return cells


@pytest.mark.parametrize("text", BLOCKS)
def test_the_transcripts_are_games_in_canonical_form(text: str) -> None:
    assert format_transcript(parse_transcript(text)) == text


def test_the_guest_saw_the_same_game() -> None:
    whole, seen, _ = (parse_transcript(text) for text in BLOCKS)
    events = tuple(project(event, 1, whole.ruleset.public) for event in whole.events)
    assert Transcript(whole.ruleset, whole.tags, events) == seen


def test_the_game_that_has_only_begun() -> None:
    *_, last = parse_transcript(BLOCKS[2]).states()
    assert (last.due, last.actor, last.outcome) == (Due.ANSWER, 0, None)


def test_the_round_line_is_that_of_the_transcript() -> None:
    (line,) = re.findall(r"^    (2GG .*)$", NOTATION, re.MULTILINE)
    moves = [token for token in BLOCKS[0].splitlines()[4].split()[1:] if token[0] in "1234"]
    assert moves == line.split()


def test_what_you_type_is_what_it_says() -> None:
    table = rows(NOTATION, "what you type")
    assert len(table) == 6
    for typed, _, canonical in table:
        for text in re.findall(r"`([^`]+)`", typed):
            assert parse(text) == canonical.strip("`")
            assert parse(canonical.strip("`")) == canonical.strip("`")
    for text in ("c", "b d"):
        assert f"`{text}`" in NOTATION
        assert parse(text, offer="3BCC").startswith("-")


def test_every_word_for_an_action_is_named() -> None:
    (sentence,) = re.findall(r"Actions also go by name: (.*?)\. Answers may begin with (.*?)\.", NOTATION, re.DOTALL)
    actions, answers = (re.findall(r"`([^`]+)`", part) for part in sentence)
    sizes = (1, 2, 2, 2, 2, 3, 4, 4)
    numbers = [parse(f"{word} {'abcd'[:size]}")[0] for word, size in zip(actions, sizes, strict=True)]
    assert numbers == list("12222344")
    assert [parse(f"{word} a") for word in answers] == ["-A"] * 3


def test_the_events_are_written_so() -> None:
    """Every example of the table of events stands in one of the games, or is read in its place."""
    examples = {text for row in rows(NOTATION, "event") for text in re.findall(r"`([^`]+)`", row[2])}
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
    table = {row[0].split(":")[0].strip("`"): row[1:] for row in rows(RULES, "option")}
    options = Hanamikoji().to_json()
    assert set(table) == set(options) - {"name", "version"}
    assert {name: cells[1].strip("`") for name, cells in table.items()} == {name: str(options[name]) for name in table}
    assert re.findall(r"`(\w+)`", table["first"][0]) == list(FIRST)
    assert re.findall(r"`(\w+)`", table["tiebreak"][0]) == list(TIEBREAKS)
    assert table["max_rounds"][0] == f"1 to {MOST_ROUNDS}, or 0 for no limit"


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
