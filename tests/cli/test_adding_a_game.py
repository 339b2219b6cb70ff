"""A third game, added only as docs/adding-a-game.md says, is played through a real service."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.rules.registry import RULESETS
from tests.support.home_shell import arrive
from tests.support.service import HKOJI, Service, serving
from tests.toy.showdown import NAME

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "tests.toy")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that knows the game: the program of the recipe."""
    with serving(tmp_path_factory.mktemp("adding") / "data", program=PROGRAM) as running:
        yield running


def test_it_is_played_through_the_service(service: Service, tmp_path: Path) -> None:
    """By players in this process, which has the game too."""
    chance = random.Random(5)
    alice, bob = (arrive(service, tmp_path / name, name) for name in ("alice", "bob"))
    game = alice.run("new", "--ruleset", NAME, "--option", "rounds=2", "--first", "guest").stdout.split()[0]
    bob.run("join", game)
    assert alice.json("show", game)["legal"] == []
    bob.run("move", game, chance.choice(bob.json("show", game)["legal"]))
    for turn in range(40):
        player = (alice, bob)[turn % 2]
        shown = player.json("show", game)
        if shown["status"] == "finished":
            break
        if shown["legal"]:
            player.run("move", game, chance.choice(shown["legal"]))
    assert shown["status"] == "finished"
    assert shown["result"]["reason"] == "points"
    assert len(shown["rounds"]) == 3
    assert "The game is over: " in alice.run("show", game).stdout
    exported = alice.run("export", game).stdout
    log = tmp_path / "game.jsonl"
    log.write_text(exported)
    audited = alice.run("audit", str(log)).stdout
    assert f"All {len(exported.splitlines())} entries hold; the game is finished." in audited
    assert f'[Ruleset "{NAME}/1 first=guest rounds=2"]' in alice.run("replay", str(log)).stdout


def test_without_it_its_logs_are_not_understood(service: Service, tmp_path: Path) -> None:
    carol = arrive(service, tmp_path / "carol", "carol")
    game = carol.run("new", "--ruleset", NAME).stdout.split()[0]
    log = tmp_path / "game.jsonl"
    log.write_text(carol.run("log", game).stdout)
    done = subprocess.run([str(HKOJI), "audit", str(log), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["step"] == 1
    assert "not understood" in finding["reason"]
    assert finding["signer"] is None


def test_it_is_played_at_the_prompt(tmp_path: Path) -> None:
    """The first choice of every turn, up to the end; then the audit of the game."""
    done = subprocess.run(
        [*PROGRAM, "play", "--ruleset", NAME, "--option", "rounds=2"],
        input="1\n" * 40,
        env={**os.environ, "HKOJI_HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The game is over: " in done.stdout
    assert "on points" in done.stdout
    assert re.search(r"The audit: all \d+ entries hold\.", done.stdout)


def test_only_three_tables_and_the_editions_name_a_game_outside_its_packages() -> None:
    """The tables are those of rules, boards and bots. The list of editions names games too: it lists publications."""
    named = set()
    for source in (*ROOT.glob("hkoji/**/*.py"), *ROOT.glob("server/**/*.py")):
        path = source.relative_to(ROOT).as_posix()
        written = source.read_text()
        own = r"hkoji/\w+/(hanamikoji|geishas_road)/|server/hkoji_server/web/board_(hanamikoji|geishas_road)\.py"
        if re.match(own, path) or "geisha" not in written:
            continue
        for node in ast.walk(ast.parse(written)):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
            if any(re.match(r"hkoji\.\w+\.geishas_road\b|geishas-road$", each) for each in (module, text) if each):
                named.add(path)
    assert named == {
        "hkoji/rules/registry.py",
        "hkoji/rules/editions.py",
        "hkoji/show/games.py",
        "hkoji/bots/registry.py",
    }


def test_the_recipe_names_files_that_are_there() -> None:
    recipe = (ROOT / "docs" / "adding-a-game.md").read_text()
    named = set(re.findall(r"`((?:hkoji|tests|scripts|docs)/[\w./-]+)`", recipe))
    assert len(named) >= 10
    assert {name for name in named if not (ROOT / name).exists()} == set()
    # The files that the recipe changes, and those specific to the two games of the rulebooks.
    for name in set(RULESETS) - {NAME}:
        package = name.replace("-", "_")
        assert (ROOT / "hkoji" / "rules" / package / "ruleset.py").is_file()
        assert (ROOT / "hkoji" / "show" / package / "board.py").is_file()
        assert (ROOT / "docs" / "rules" / f"{name}.md").is_file()
