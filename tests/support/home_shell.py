"""The `hkoji` command in a player's own home, at a real service: what a player's machine has and does.

Most tests are about what commands do, not about how a process starts: their commands run in this process, with an
environment and a connection of their own. Others start the program as it is installed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hkoji.cli.output import out
from hkoji.log.line import parse_log
from tests.support.forked import ForkedProcess
from tests.support.service import HKOJI, Service, serving
from tests.support.shell import Done, run


def run_connected(*words: str, stdin: str = "", terminal: bool = False) -> Done:
    """Runs a command in this process with a real connection, which ends with it."""
    try:
        return run(*words, stdin=stdin, terminal=terminal)
    finally:
        if out.client is not None:
            out.client.close()


class HomeShell:
    """The command in one player's home: in this process, or as a separate program."""

    def __init__(self, home: Path, *, program: bool = False, **environment: str) -> None:
        self.home = home
        self._program = program
        self.environment = {**os.environ, "HKOJI_HOME": str(home), "NO_COLOR": "1", **environment}

    def run(self, *words: str, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        if self._program:
            command = [str(HKOJI), *words]
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, input=stdin, check=False, timeout=300
            )
        else:
            with patch.dict(os.environ, self.environment, clear=True):
                done = subprocess.CompletedProcess(list(words), *run_connected(*words, stdin=stdin))
        assert done.returncode == code, (words, done)
        assert "Traceback" not in done.stderr
        return done

    def json(self, *words: str) -> Any:  # Any: JSON
        return json.loads(self.run(*words, "--json").stdout)

    def fails(self, code: int, *words: str) -> str:
        """The error text of a command that fails with `code` and writes no result."""
        done = self.run(*words, code=code)
        assert done.stdout == ""
        assert "hkoji: " in done.stderr or code == 2
        return done.stderr

    @contextmanager
    def batch(self) -> Iterator[Callable[..., Any]]:  # Any: JSON
        """A running `hkoji batch`: gives a command's result."""
        to_read, to_write = os.pipe()
        to_hear, to_answer = os.pipe()
        process = ForkedProcess(["batch"], env=self.environment, stdin=to_read, stdout=to_answer)
        os.close(to_read)
        os.close(to_answer)
        with os.fdopen(to_write, "w") as given, os.fdopen(to_hear) as answers:

            def ask(*words: str) -> Any:  # Any: JSON
                given.write(shlex.join(words) + "\n")
                given.flush()
                answer = json.loads(answers.readline())
                assert answer["ok"], answer
                return answer["result"]

            yield ask
        assert process.wait(300) == 0


# --- players ----------------------------------------------------------------------------------------------------------


def arrive(service: Service, home: Path, name: str, *key: str) -> HomeShell:
    """A registered player's home."""
    shell = HomeShell(home)
    shell.run("init", name, *key)
    shell.run("register", "--server", service.url)
    return shell


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """For test files that import it, as the two players are."""
    with serving(tmp_path_factory.mktemp("homes") / "data", forked=True) as running:
        yield running


_NUMBER = iter(range(10**6))


@pytest.fixture
def alice(service: Service, tmp_path: Path) -> HomeShell:
    """A player whose home's folder has the player's name."""
    name = f"alice{next(_NUMBER)}"
    return arrive(service, tmp_path / name, name)


@pytest.fixture
def bob(service: Service, tmp_path: Path) -> HomeShell:
    name = f"bob{next(_NUMBER)}"
    return arrive(service, tmp_path / name, name)


def key_file(shell: HomeShell) -> str:
    """The file of the current key."""
    config = json.loads((shell.home / "config.json").read_text())
    return str(shell.home / config["key_file"])


def second_home(service: Service, first: HomeShell) -> HomeShell:
    """A new home of the same player, with the key that the first has now."""
    home = first.home.with_name(f"{first.home.name}-2")
    return arrive(service, home, first.json("whoami")["name"], "--key", key_file(first))


# --- games ------------------------------------------------------------------------------------------------------------


def open_and_join(host: HomeShell, guest: HomeShell, *options: str) -> str:
    """A game that the host still has to look at."""
    game = str(host.json("new", *options)["game"])
    guest.run("join", game)
    return game


def begin(host: HomeShell, guest: HomeShell) -> str:
    """A game up to the host's first decision."""
    game = open_and_join(host, guest)
    assert host.json("show", game)["hand"]
    return game


def kinds(shell: HomeShell, game: str) -> list[str]:
    """The kinds of the game's entries."""
    return [line.entry.kind for line in parse_log(shell.run("log", game).stdout.encode())]


def my_move(shell: HomeShell, game: str) -> str:
    """The player's first legal action."""
    return str(shell.json("show", game)["legal"][0])


_IN_COMMANDS = 6
"""Decisions made by one command each; no game is over by then."""
Chooses = Callable[[dict[str, Any]], str]  # Any: JSON


def first_legal(seen: dict[str, Any]) -> str:  # Any: JSON
    """The first legal action of a position."""
    return str(seen["legal"][0])


def finish(host: HomeShell, guest: HomeShell, game: str, chooses: Chooses = first_legal) -> None:
    """Plays the choice of `chooses` in each position to the end: a little in commands, then in two batches."""
    seen = host.json("show", game)
    for _ in range(_IN_COMMANDS):
        mover = (host, guest)[seen["actor"]]
        if not seen["legal"]:
            seen = mover.json("show", game)
        seen = mover.json("move", game, *typed(chooses(seen)))
    with host.batch() as by_host, guest.batch() as by_guest:
        for _ in range(200):
            if seen["status"] == "finished":
                return
            ask = (by_host, by_guest)[seen["actor"]]
            if not seen["legal"]:
                seen = ask("show", game)
            seen = ask("move", game, *typed(chooses(seen)))
    raise AssertionError("the game does not end")


def typed(action: str) -> list[str]:
    """An action as a user would type it in a shell: words for the signs with a meaning in the shell."""
    match action[0]:
        case ">":
            return ["order", action[1:3], action[3:]]
        case "!":
            return ["marker", action[1].lower()]
        case "^":
            return ["start", ("host", "guest")[int(action[1])]]
    return [action]
