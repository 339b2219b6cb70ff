"""docs/security.md and the tests of attacks agree: row for test, word for word; the page's example is true."""

from __future__ import annotations

import ast
import json
from importlib import import_module
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game.entry_kinds import Seed
from hkoji.log.public_key import parse_public_key
from tests.support.adversary import ATTACKS, Attack
from tests.support.docs import DOCS, rows
from tests.support.shell_audit import missing_tools, run
from tests.support.table import Table

PAGE = (DOCS / "security.md").read_text()
GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"


MODULES = sorted(Path(__file__).parent.glob("test_*attacks*.py"))
WHO = ("the service", "a player", "service and player together")


def attacks() -> list[str]:
    """The tests of all modules of attacks, in order."""
    names: list[str] = []
    for module in MODULES:
        import_module(f"tests.trust.{module.stem}")
        tests = [node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.FunctionDef)]
        names += [name for name in tests if name.startswith("test_")]
    return names


def by_whom(name: str) -> int:
    """The service's attacks come first, with those of anybody; then the players', then those of both."""
    who = ATTACKS[name].who
    return WHO.index(who) if who in WHO else 0


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    names, table = attacks(), rows(PAGE, "attack")
    told = {cells[5].strip("`"): Attack(*cells[:5]) for cells in table}
    assert len(told) == len(table)
    assert told == ATTACKS
    assert list(told) == sorted(names, key=by_whom)


def test_every_test_of_the_modules_is_an_attack() -> None:
    names = attacks()
    assert len(names) == len(set(names))
    assert set(names) == set(ATTACKS)


def test_an_attacker_is_named_in_few_words() -> None:
    attacks()
    assert {each.who for each in ATTACKS.values()} == {*WHO, "anybody"}


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
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
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
