"""docs/security.md: its table of attacks has a row for each test, and its example is true."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game.entry_kinds import Seed
from hkoji.log.public_key import parse_public_key
from tests.support.docs import DOCS, quoted, rows
from tests.support.page_column import AUDIT, LOG, PARTLY, RULED, column
from tests.support.shell_audit import missing_tools, run
from tests.support.table import Table

PAGE = (DOCS / "security.md").read_text()
GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"
WHO = ("the service", "a player", "service and player together", "anybody")


SEALED = "test_attacks_sealed.py"
"""The attacks in sealed games, which have a table of their own."""
AWAITED = {"test_proof_worker.py", "test_sealed_machines.py", "test_sealed_refusals.py", "test_sealed_store.py"}
"""The tests of client and service in sealed games, which may be named before they are there."""


def names_in(module: Path) -> list[str]:
    """The names of the tests of a module."""
    body = ast.parse(module.read_text()).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def attacks() -> list[str]:
    """The tests of all modules of attacks that the first table is about."""
    modules = sorted(Path(__file__).parent.glob("test_*attacks*.py"))
    return [test for module in modules if module.name != SEALED for test in names_in(module)]


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    tests, table = attacks(), rows(PAGE, "attack")
    assert len(tests) == len(set(tests))
    assert sorted(cells[5].strip("`") for cells in table) == sorted(tests)


def test_every_row_says_what_is_tried_by_whom_what_detects_it_and_who_is_named() -> None:
    """The attacks of the service come first, with those of anybody; then those of players, then those of both."""
    table = rows(PAGE, "attack")
    assert len({cells[0] for cells in table}) == len(table)
    assert all(all(cells[:4]) for cells in table)
    ranks = [WHO.index(cells[1]) % 3 for cells in table]
    assert ranks == sorted(ranks)


def test_the_table_of_sealed_games_has_every_attack_and_names_tests_that_are_there() -> None:
    table = rows(PAGE.partition("### Attacks in sealed games")[2], "attack")
    assert len({cells[0] for cells in table}) == len(table)
    assert all(len(cells) == 5 and all(cells) and cells[1] in WHO for cells in table)
    files = {path.name: path for path in Path(__file__).parents[1].rglob("test_*.py")}
    tried = names_in(files[SEALED])
    there = {*tried, *names_in(files["test_sealed_deposits.py"]), *names_in(files["test_sealing.py"])}
    named = Counter(word for cells in table for word in quoted(cells[4]))
    for word in named:
        assert word in there | {*files} | AWAITED or (DOCS.parent / word).is_file(), word
    assert {test: named[test] for test in tried} == dict.fromkeys(tried, 1)


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


def test_only_the_referee_writes_a_timeout() -> None:
    makers = {
        path.name
        for folder in ("hkoji", "server")
        for path in (DOCS.parent / folder).rglob("*.py")
        if "Timeout" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Timeout"
    }
    assert makers == {"referee.py"}
    spec = (DOCS / "spec" / "log.md").read_text()
    for page in (PAGE, spec):
        assert "no service writes a `timeout`" not in " ".join(page.split())


@pytest.mark.parametrize("helper", ["host", None])
def test_a_seed_can_be_dropped_for_its_deck_as_the_page_admits(helper: str | None) -> None:
    """The service's knowledge when a `seed` arrives gives the deck. Without that entry the log only waits."""
    table = Table(seed=5)
    table.open()
    table.join()
    owes = 1 if helper else 0
    if not owes:
        table.reveal_seed(1)
    arrived = table.entry(owes, Seed(table.entropy[owes]))
    known = list(table.course.setup.entropy)  # what the log has published, and what the host has told
    if helper:
        known[0] = table.entropy[0]
    known[owes] = json.loads(arrived.entry.text)["body"]["entropy"]
    setup = table.course.setup._replace(entropy=(known[0], known[1]))
    dealer = setup.dealer(table.refereed.seed)
    assert dealer is not None
    deal = dealer.deal(1)
    result = audit(table.text, {"server": table.server.public})
    assert (result.ok, result.finished, table.course.actor) == (True, False, owes)
    assert "**A deck that is not liked.**" in PAGE
    for seat in (1, 0) if helper else (0,):  # the deck is the one that would be played
        table.reveal_seed(seat)
    assert all(got.startswith(hand) for got, hand in zip(table.course.dealt[0], deal.hands, strict=True))


def test_the_column_of_the_page_names_tests_that_are_there() -> None:
    module = ast.parse((Path(__file__).parents[1] / "web" / "test_attacks.py").read_text())
    there = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    words = Counter(column().values())
    assert {word.strip("`") for word in words if word.startswith("`")} <= there
    assert {word for word in words if not word.startswith("`")} == {LOG, PARTLY, AUDIT, ""}
    assert {test: word.strip("`") for test, word in column().items() if word.startswith("`")} == RULED
    assert words[LOG] > 40


def test_attacks_on_pages_name_tests_that_are_there() -> None:
    root = DOCS.parent
    there = {
        node.name
        for module in (root / "tests" / "web").glob("test_*.py")
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    table = rows(PAGE.partition("### Attacks on pages")[2], "attack")
    for _, _, named in table:
        tests = [word for word in quoted(named) if "test_" in word]
        assert tests, named
        for word in tests:
            assert word in there or (root / word).is_file(), word
