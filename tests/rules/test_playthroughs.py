"""Complete games as each viewer sees them, in tests/data/playthroughs/: readable, and every change shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.rules.events import Order, Outcome, Pick
from scripts.build.playthroughs import DRAWN, GEISHA, LIMIT, ORDERED, RESIGNED, build
from tests.support.oracle import follow
from tests.support.rules import read

FOLDER = Path(__file__).parents[1] / "data" / "playthroughs"
FILES = build()


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_files_are_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text() == FILES[name], "see the difference with python -m scripts.build.playthroughs"


def test_there_are_no_other_files() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(FILES)


@pytest.mark.parametrize("text", [GEISHA, LIMIT, ORDERED.replace("#0 resign\n", ""), DRAWN])
def test_the_naive_referee_agrees(text: str) -> None:
    follow(read(text))


def test_how_games_of_hanamikoji_end() -> None:
    """Four geisha win; at the limit, the editions name different winners; a player who resigns loses."""
    last = read(GEISHA).states[-1]
    assert (last.outcome, last.to_json()["charm"]) == (Outcome("geisha", 1), [8, 9])
    italian = read(LIMIT)
    position = italian.states[-1].to_json()
    assert (position["charm"], position["geisha"]) == ([8, 8], [3, 2])
    assert italian.states[-1].outcome == Outcome("limit", 1)
    *rounds, _ = LIMIT.replace("tiebreak=charm", "tiebreak=geisha").splitlines()
    assert read("\n".join(rounds)).states[-1].outcome == Outcome("limit", 0)
    assert read(RESIGNED).states[-1].outcome == Outcome("resign", 1)


def test_the_course_of_games_of_geishas_road() -> None:
    """In one the players choose markers and an order, and the loser takes the start; in the other chance decides."""
    chosen, drawn = read(ORDERED), read(DRAWN)
    assert chosen.states[-1].outcome == Outcome("resign", 0)
    assert drawn.states[-1].outcome == Outcome("rounds", 1)
    picks = [event.action for event in chosen.events if isinstance(event, Pick)]
    orders = [event.action for event in chosen.events if isinstance(event, Order)]
    assert (picks, orders) == (["!A", "!B", "^1"], [">E1E2"])
    assert chosen.states[-1].to_json()["wins"] == [1, 0]
    assert [event.action for event in drawn.events if isinstance(event, Pick)] == ["^0", "^1"]
    assert [event.action for event in drawn.events if isinstance(event, Order)] == [">C1C3", ">D3D4", ">C3C1"]
