"""docs/security.md and the tests of attacks say the same: row for test, word for word; its example is true."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from hkoji.log.keys import parse_public_key
from tests.support.adversary import ATTACKS, Attack
from tests.support.docs import DOCS, rows
from tests.support.stock import missing_tools, run
from tests.trust import test_attacks, test_key_attacks

PAGE = (DOCS / "security.md").read_text()
GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    table = rows(PAGE, "attack")
    told = {cells[5].strip("`"): Attack(*cells[:5]) for cells in table}
    assert len(told) == len(table)
    assert told == ATTACKS
    assert list(told) == list(ATTACKS)  # in the order of the modules


def test_every_test_of_the_modules_is_an_attack() -> None:
    files = (Path(str(module.__file__)) for module in (test_attacks, test_key_attacks))
    nodes = [node for file in files for node in ast.parse(file.read_text()).body]
    tests = [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert len(tests) == len(set(tests))
    assert set(tests) == set(ATTACKS)


def test_who_can_attack_is_told_in_few_words() -> None:
    assert {each.who for each in ATTACKS.values()} == {
        "the service",
        "a player",
        "service and player together",
        "anybody",
    }


def test_the_example_is_what_the_script_says() -> None:
    missing = missing_tools()
    if missing:
        pytest.fail(missing)
    _, shown = PAGE.split("server=server.pub\n", 1)
    example = [line[4:] for line in shown.split("\n\n", 1)[0].splitlines()]
    known = json.loads((GAMES / "games.json").read_text())["whole.jsonl"]["keys"]
    done = run(GAMES / "whole.jsonl", {name: parse_public_key(key) for name, key in known.items()})
    assert done.returncode == 0
    assert done.stdout.splitlines() == example
