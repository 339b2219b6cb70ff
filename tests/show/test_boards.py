"""Boards and sentences depend on arguments alone, so that a service can make them for several people at once."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from hkoji.game.position import Position
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.show.board import WIDTH, Look
from hkoji.show.games import board, draw_position, find_deck
from tests.support.boards import position, stages

ROOT = Path(__file__).parents[2]
EVERDECK = find_deck("everdeck")
GAMES: tuple[Ruleset, ...] = (Hanamikoji("random", 3, "charm"), GeishasRoad("random", "choose"))
every_game = pytest.mark.parametrize("ruleset", GAMES, ids=lambda ruleset: ruleset.name)


def to_answer(ruleset: Ruleset, seat: int | None) -> Position:
    """A position in which an offer waits for the answer of `seat`; None: as a spectator sees one."""
    for table in stages(ruleset, 7, ("alice", "bob")):
        if table.course.state.due is Due.ANSWER and seat in (None, table.course.state.actor):
            return position(table, seat)
    raise AssertionError


def text(seen: Position, look: Look) -> str:
    made = board(seen, look)
    return made.text(made.choices())


@every_game
@pytest.mark.parametrize("seat", [0, 1, None])
def test_each_reader_has_their_own_language_at_the_same_time(ruleset: Ruleset, seat: int | None) -> None:
    seen = to_answer(ruleset, seat)
    looks = [Look(load_speaker(lang), plain=plain) for lang in LANGUAGES for plain in (False, True)]
    boards = [text(seen, look) for look in looks]
    chance = random.Random(1)
    for n in chance.sample(range(len(looks)), len(looks)):
        assert text(seen, looks[n]) == boards[n]
    assert len(set(boards)) == len(boards)
    assert all(len(line) <= WIDTH for each in boards[::2] for line in each.splitlines())
    english, _, italian, sentences = boards
    assert ("It is your turn." in english) == (seat is not None)
    assert ("Tocca a te." in italian) == ("Tocca a te." in sentences) == (seat is not None)
    assert ("your hand" in english) == (seat is not None)


@every_game
def test_a_letter_can_say_a_decision_by_its_notation_alone(ruleset: Ruleset) -> None:
    seen = to_answer(ruleset, 1)
    assert [choice.typed for choice in board(seen, Look()).choices()] == list(seen.legal)
    for plain in (False, True):
        shown = text(seen, Look(plain=plain))
        assert all(answer in shown for answer in seen.legal)
        assert "hkoji" not in shown


def test_cards_can_be_those_of_another_deck() -> None:
    seen = to_answer(GAMES[0], 0)
    shown = text(seen, Look(load_speaker("it"), EVERDECK))
    assert all(EVERDECK.symbol(kind) in shown for kind in "ABCDEFG")
    assert [choice.typed.split()[0] for choice in board(seen, Look(load_speaker("it"), EVERDECK)).choices()] == [
        "prendi"
    ] * len(seen.legal)
    assert [choice.typed for choice in board(seen, Look(load_speaker("it"))).choices()] == list(seen.legal)


@every_game
def test_styles_are_those_of_the_reader(ruleset: Ruleset) -> None:
    """A board names its styles; without the reader's marks it is the same text."""
    seen = to_answer(ruleset, 0)

    def marked(text: str, *styles: str) -> str:
        assert set(styles) <= {"bold", "dim", "red", "green", "yellow", "cyan"}
        return f"\x02{text}\x03" if styles else text

    shown = text(seen, Look(paint=marked))
    assert "\x02" in shown
    bare = "\n".join(line.rstrip() for line in shown.replace("\x02", "").replace("\x03", "").split("\n"))
    assert bare == text(seen, Look())


@every_game
def test_a_drawing_has_the_words_of_its_reader(ruleset: Ruleset) -> None:
    seen = to_answer(ruleset, None)
    drawn = {lang: draw_position(board(seen, Look(load_speaker(lang))).scene("entry 7")) for lang in LANGUAGES}
    assert "turn to take " in drawn["en"]
    assert "turn to take " not in drawn["it"]
    assert drawn["en"].startswith("<svg ")


def test_showing_loads_no_command_line_no_client_and_no_other_game() -> None:
    program = """
import sys
from hkoji.manual.catalogues import load_speaker
from hkoji.show.games import board_type
load_speaker("it")
board_type("hanamikoji")
loaded = {name for name in sys.modules if name.startswith("hkoji.")}
print(*sorted(name for name in loaded if name.split(".")[1] in ("cli", "client", "local", "study")))
print(*sorted(name for name in loaded if name.startswith("hkoji.show.") and ("road" in name or "svg" in name)))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"
