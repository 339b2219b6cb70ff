"""A third game, added only as docs/adding-a-game.md says, is played through a real service."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hkoji.rules.registry import RULESETS
from tests.support.service import serving
from tests.toy.showdown import NAME

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "tests.toy")


class Player:
    """A player whose `hkoji` knows the game."""

    def __init__(self, home: Path, name: str, server: str) -> None:
        self.home = home
        self.does("init", name)
        self.does("register", "--server", server)

    def does(self, *words: str) -> str:
        done = subprocess.run(
            [*PROGRAM, *words],
            env={**os.environ, "HKOJI_HOME": str(self.home)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def batch(self) -> Iterator[Callable[[str], Any]]:  # Any: JSON
        """A running `hkoji batch`: gives a command's result."""
        environment, pipe = {**os.environ, "HKOJI_HOME": str(self.home)}, subprocess.PIPE
        command = [*PROGRAM, "batch"]
        with subprocess.Popen(command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
            given, answers = process.stdin, process.stdout
            assert given is not None
            assert answers is not None

            def ask(line: str) -> Any:  # Any: JSON
                given.write(f"{line}\n")
                given.flush()
                answer = json.loads(answers.readline())
                assert answer["ok"], answer
                return answer["result"]

            yield ask


@pytest.fixture
def players(tmp_path: Path) -> Iterator[tuple[Player, Player]]:
    with serving(tmp_path / "data", program=PROGRAM) as service:
        yield tuple(Player(tmp_path / name, name, service.url) for name in ("alice", "bob"))  # type: ignore[misc]


def test_it_is_played_through_the_service(players: tuple[Player, Player], tmp_path: Path) -> None:
    chance = random.Random(5)
    alice, bob = players
    game = alice.does("new", "--ruleset", NAME, "--option", "rounds=2", "--first", "guest").split()[0]
    bob.does("join", game)
    shown = json.loads(alice.does("show", game, "--json"))
    assert shown["legal"] == []
    bob.does("move", game, chance.choice(json.loads(bob.does("show", game, "--json"))["legal"]))
    with alice.batch() as by_alice, bob.batch() as by_bob:
        for turn in range(40):
            ask = (by_alice, by_bob)[turn % 2]
            shown = ask(f"show {game}")
            if shown["status"] == "finished":
                break
            if shown["legal"]:
                ask(f"move {game} {chance.choice(shown['legal'])}")
    assert shown["status"] == "finished"
    assert shown["result"]["reason"] == "points"
    assert len(shown["rounds"]) == 3
    assert "The game is over: " in alice.does("show", game)
    exported = alice.does("export", game)
    log = tmp_path / "game.jsonl"
    log.write_text(exported)
    audited = alice.does("audit", str(log))
    assert f"All {len(exported.splitlines())} entries hold; the game is finished." in audited
    assert f'[Ruleset "{NAME}/1 first=guest rounds=2"]' in alice.does("replay", str(log))


def test_without_it_its_logs_are_not_understood(players: tuple[Player, Player], tmp_path: Path) -> None:
    alice, _ = players
    game = alice.does("new", "--ruleset", NAME).split()[0]
    log = tmp_path / "game.jsonl"
    log.write_text(alice.does("log", game))
    hkoji = Path(sys.executable).with_name("hkoji")
    done = subprocess.run([str(hkoji), "audit", str(log), "--json"], capture_output=True, text=True, check=False)
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
    assert re.search(r"All \d+ entries hold; the game is finished\.", done.stdout)


def test_only_three_tables_and_the_editions_name_a_game_outside_its_packages() -> None:
    """The tables are those of rules, boards and bots. The list of editions names games too: it lists publications."""
    named = set()
    for source in (*ROOT.glob("hkoji/**/*.py"), *ROOT.glob("server/**/*.py")):
        path = source.relative_to(ROOT).as_posix()
        if re.match(r"hkoji/\w+/(hanamikoji|geishas_road)/", path):
            continue
        for node in ast.walk(ast.parse(source.read_text())):
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
