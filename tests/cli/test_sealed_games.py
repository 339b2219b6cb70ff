"""Sealed games by real commands at a real service: by name, by link, with bots, and with `watch`."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from tests.support.home_shell import HomeShell, alice, bob, service
from tests.support.service import HKOJI

__all__ = ["alice", "bob", "service"]

PATIENCE = 60
LINK = re.compile(r"hkoji join '(http://[^']+)' --sealed\n")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marks of homes lie elsewhere than on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def name_of(shell: HomeShell) -> str:
    return str(shell.json("whoami")["name"])


def play_to_the_end(game: str, *players: HomeShell) -> None:
    for _ in range(100):
        for player in players:
            player.run("bot", "run", game, "--bot", "random", "--once")
        if players[0].json("show", game)["status"] == "finished":
            return
    raise AssertionError("the game does not end")


@pytest.mark.parametrize("options", [("--max-rounds", "1"), ("--ruleset", "geishas-road")], ids=["hanamikoji", "road"])
def test_two_bots_play_a_whole_sealed_game_that_stands_the_audit(
    alice: HomeShell, bob: HomeShell, tmp_path: Path, options: tuple[str, ...]
) -> None:
    game = alice.json("new", "--sealed", "--invite", name_of(bob), *options)["game"]
    refused = bob.fails(Exit.MOVE, "bot", "run", game, "--bot", "random", "--once")
    assert "sealed game (beta)" in refused
    bob.run("bot", "run", game, "--bot", "random", "--once", "--sealed")
    play_to_the_end(game, alice, bob)
    (tmp_path / "log.jsonl").write_text(alice.run("export", game).stdout)
    audited = alice.run("audit", str(tmp_path / "log.jsonl"))
    assert "dealt by" in audited.stdout
    assert alice.run("replay", game).stdout


def test_a_friend_joins_a_sealed_game_by_the_printed_line(alice: HomeShell, bob: HomeShell) -> None:
    made = alice.run("new", "--sealed", "--link")
    link = LINK.fullmatch(made.stdout)
    assert link is not None
    assert "sealed.key" in made.stderr
    refused = bob.fails(Exit.MOVE, "join", link[1])
    assert "give the same command with --sealed" in refused
    bob.run("join", made.stdout.strip(), "--sealed")
    game = alice.json("games")[0]["game"]
    assert alice.json("show", game)["round"] == 1
    assert len(bob.json("show", game)["hand"]) >= 6


def test_watch_releases_cards_by_itself(alice: HomeShell, bob: HomeShell) -> None:
    game = alice.json("new", "--sealed", "--keep-draws", "--invite", name_of(bob))["game"]
    bob.run("join", game, "--sealed", "--keep-draws")
    alice.run("show", game)
    alice.run("move", game, next(each for each in alice.json("show", game)["legal"] if each[0] == "3"))
    watch = subprocess.Popen([str(HKOJI), "watch", "--all"], env=alice.environment, stdout=subprocess.DEVNULL)
    try:
        bob.run("move", game, bob.json("show", game)["legal"][0])
        end = time.monotonic() + PATIENCE
        while not bob.json("show", game)["legal"]:
            assert time.monotonic() < end
    finally:
        watch.terminate()
        watch.wait(PATIENCE)
    assert bob.json("show", game)["due"] == "act"


def test_a_timer_releases_the_cards_of_all_games(alice: HomeShell, bob: HomeShell) -> None:
    games = []
    for _ in range(2):
        game = alice.json("new", "--sealed", "--keep-draws", "--invite", name_of(bob))["game"]
        bob.run("join", game, "--sealed")
        alice.run("show", game)
        alice.run("move", game, next(each for each in alice.json("show", game)["legal"] if each[0] == "3"))
        bob.run("move", game, bob.json("show", game)["legal"][0])
        games.append(game)
    assert all(bob.json("show", game)["due"] != "act" or not bob.json("show", game)["legal"] for game in games)
    assert {each["game"] for each in alice.json("release")} == set(games)
    assert all(bob.json("show", game)["legal"] for game in games)
    alice.fails(Exit.USAGE, "release", "--here")
    alice.fails(Exit.MOVE, "release", games[0], "--here")
