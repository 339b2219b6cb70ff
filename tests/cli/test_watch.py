"""`hkoji watch` against a real service that stops and comes back."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

import pytest

from tests.support.home_shell import HomeShell
from tests.support.service import HKOJI, start

PATIENCE = 240


def watching(shell: HomeShell, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(HKOJI), "watch", *words],
        env={**shell.environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(stream: IO[str] | None, seq: int) -> list[dict[str, object]]:
    """The entries shown, up to that number."""
    assert stream
    found: list[dict[str, object]] = []
    while not found or found[-1]["seq"] != seq:
        line = stream.readline()
        assert line, found
        found.append(json.loads(line))
    return found


def check_what_the_command_was_told(noted: Path, lines: list[dict[str, object]]) -> None:
    """The command has noted each line; it runs after the line is printed."""
    end, places = time.monotonic() + PATIENCE, noted.with_suffix(".places")
    while not places.exists() or places.read_text().count("\n") < len(lines):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert [json.loads(line) for line in noted.read_text().splitlines()] == lines
    assert places.read_text().splitlines() == [f"{line['game']} {line['kind']} {line['seq']}" for line in lines]


def test_each_entry_is_told_once_though_the_service_goes_away(tmp_path: Path) -> None:
    service = start(tmp_path / "data", forked=True)
    alice, bob = HomeShell(tmp_path / "alice"), HomeShell(tmp_path / "bob")
    for name, shell in (("alice", alice), ("bob", bob)):
        shell.run("init", name)
        shell.run("register", "--server", service.url)
    noted = tmp_path / "noted"
    command = ("sh", "-c", 'cat >> "$0"; echo "$HKOJI_GAME $HKOJI_EVENT $HKOJI_SEQ" >> "$0.places"', str(noted))
    everything = watching(bob, "--all", "--json", "--exec", "--", *command)
    while service.log.read_text().count('"/v1/me/games"') < 2:  # it has looked, and there was nothing
        assert everything.poll() is None
        time.sleep(0.05)
    game = alice.json("new")["game"]
    bob.run("join", game)
    one = watching(alice, game[:8], "--after", "-1", "--json")
    try:
        first = told(one.stdout, 4)
        legal = alice.json("show", game)["legal"]
        alice.run("move", game, legal[0])
        first += told(one.stdout, 5)
        service.stop()
        service = start(tmp_path / "data", port=service.port, forked=True)
        bob.run("resign", game, "--yes")
        rest, said = one.communicate(timeout=PATIENCE)
        assert one.returncode == 0
        lines = [*first, *map(json.loads, rest.splitlines())]
        assert [line["seq"] for line in lines] == list(range(8))
        log = [json.loads(json.loads(line)["entry"]) for line in alice.run("log", game).stdout.splitlines()]
        assert [(line["kind"], line["by"]) for line in lines] == [(entry["kind"], entry["by"]) for entry in log]
        assert lines[5]["action"] == legal[0]  # with her own cards
        assert [line["mine"] for line in lines[4:]] == [True, False, False, False]
        assert {line["game"] for line in lines} == {game}
        assert [line["result"] for line in lines[-2:]] == [None, {"reason": "resign", "winner": 0}]
        ended = alice.run("watch", game, "--after", "-1").stdout.splitlines()
        assert ended[-1].endswith("  the game is over: alice wins by resignation")
        assert said.count("trying again") <= 1
        # Of all games each is shown from its beginning, until an interrupt.
        told_of_all = told(everything.stdout, 7)
        assert [line["seq"] for line in told_of_all] == list(range(8))
        check_what_the_command_was_told(noted, told_of_all)
        everything.send_signal(signal.SIGINT)
        left, said = everything.communicate(timeout=PATIENCE)
        assert (everything.returncode, left) == (130, "")
        assert "Traceback" not in said
    finally:
        for process in (everything, one):
            if process.poll() is None:
                process.kill()
            process.communicate()
        service.stop()


@pytest.mark.parametrize(
    "words", [(), ("--all", "2714"), ("--all", "--after", "3"), ("2714", "--after", "-2"), ("2714", "--after", "x")]
)
def test_the_games_to_watch_are_named_in_one_way(tmp_path: Path, words: tuple[str, ...]) -> None:
    began = time.monotonic()
    done = HomeShell(tmp_path / "nobody").run("watch", *words, code=2)
    assert done.stdout == ""
    assert time.monotonic() - began < PATIENCE
