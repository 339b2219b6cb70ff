"""Completion in bash, zsh and fish, as `hkoji --install-completion` sets it up."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from tests.support import programs
from tests.support.forked import run_forked
from tests.support.home_shell import HomeShell, arrive, run_connected
from tests.support.service import HKOJI, serving
from tests.support.shell import Done
from tests.support.terminal import Terminal

INTERACTIVE = {"bash": ("bash", "--rcfile", ".bashrc", "-i"), "zsh": ("zsh", "-i")}
SHELLS = ("bash", "zsh", "fish")
IN_A_PROCESS = ("hkoji join ", "--ruleset ", "hkoji rules ")
"""Words completed in a process of its own: with a connection that ends with it, or without the tests' toy game."""


class Place(NamedTuple):
    """A player's home with games, and the folder from which the player's shells start."""

    home: Path
    folder: Path
    playing: str
    open: str
    finished: str
    foreign: str
    """A game of somebody else that can be joined."""

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "HKOJI_HOME": str(self.home),
            "HOME": str(self.folder),
            "ZDOTDIR": str(self.folder),
            "PATH": f"{HKOJI.parent}:{programs.path()}",
            "PYTHONPATH": ":".join(filter(None, sys.path)),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            **more,
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    with serving(folder / "data", forked=True) as service:
        alice, bob = (arrive(service, folder / name, name) for name in ("alice", "bob"))
        games = [alice.run("new").stdout.strip() for _ in range(3)]
        for game in games[:2]:
            bob.run("join", game)
            alice.run("show", game)
            bob.run("show", game)
        alice.run("resign", games[1], "--yes")
        foreign = bob.run("new").stdout.strip()
        user = folder / "user"
        user.mkdir()
        (user / "zzz-game.jsonl").write_text("")
        yield Place(alice.home, user, games[0], games[2], games[1], foreign)


def ask(place: Place, line: str, shell: str = "fish", **more: str) -> Done:
    """The words that a shell's function asks for with a line that ends at the cursor."""
    if shell == "bash":
        words = line.split(" ")
        asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    else:
        asked = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment = place.environment(_HKOJI_COMPLETE=f"complete_{shell}", **asked, **more)
    if any(each in line for each in IN_A_PROCESS):
        done = run_forked((), env=environment)
        return Done(done.returncode, done.stdout, done.stderr)
    # Where Rich is loaded, completion would use it. It is not loaded in a process of its own.
    with patch.dict(os.environ, environment, clear=True), pytest.MonkeyPatch.context() as changed:
        changed.setitem(sys.modules, "rich", None)
        return run_connected()


def values(place: Place, line: str, **more: str) -> dict[str, str]:
    """The values that are offered, with their descriptions."""
    done = ask(place, line, **more)
    assert done.err == ""
    return {value: about for value, _, about in (each.partition("\t") for each in done.out.split("\n")) if value}


# --- what is offered --------------------------------------------------------------------------------------------------


def test_games_are_offered_with_opponent_and_state(place: Place) -> None:
    everything = {
        place.playing[:8]: "bob, playing",
        place.finished[:8]: "bob, finished",
        place.open[:8]: "open",
    }
    for command in ("show", "watch", "wait", "log", "export", "evidence", "replay", "audit"):
        assert values(place, f"hkoji {command} ") == everything
    for command in ("move", "resign", "sign", "bot run", "play"):
        assert values(place, f"hkoji {command} ") == {place.playing[:8]: "bob, playing"}
    assert values(place, "hkoji cancel ") == {place.open[:8]: "open"}
    assert values(place, f"hkoji show {place.playing[:3]}").keys() == {place.playing[:8]}
    assert values(place, f"hkoji show {place.playing[:9]}").keys() == {place.playing}
    assert values(place, "hkoji resign ", HKOJI_LANG="it") == {place.playing[:8]: "bob, in corso"}


def test_moves_are_offered_and_no_files(place: Place) -> None:
    legal = HomeShell(place.home).json("show", place.playing)["legal"]
    for command in ("move", "sign"):
        offered = values(place, f"hkoji {command} {place.playing[:8]} ").keys()
        assert offered == set(legal[:60])
        kind = legal[-1][0]
        begun = values(place, f"hkoji {command} {place.playing[:8]} {kind}").keys()
        assert begun
        assert begun <= {move for move in legal if move.startswith(kind)}
        done = ask(place, f"hkoji {command} 0000 ", shell="bash")
        assert (done.out.strip(), done.err) == ("", "")


def test_join_offers_the_games_that_the_service_has_open(place: Place) -> None:
    assert values(place, "hkoji join ") == {place.foreign[:8]: "bob, hanamikoji"}


def test_games_against_a_bot_are_offered_to_play(place: Place, tmp_path: Path) -> None:
    HomeShell(tmp_path).run("play")
    ((game, about),) = values(place, "hkoji play ", HKOJI_HOME=str(tmp_path)).items()
    assert about == "search-bot"
    assert HomeShell(tmp_path).json("play", "--list")[0]["game"].startswith(game)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hkoji play --level ", {"beginner", "easy", "normal", "hard"}),
        ("hkoji play --bot search:", {"search:easy", "search:normal", "search:hard"}),
        ("hkoji arena greedy r", {"random"}),
        ("hkoji new --ruleset ", {"hanamikoji", "geishas-road"}),
        ("hkoji rules ", {"hanamikoji", "geishas-road"}),
        ("hkoji rules --edition 2018", {"2018-en", "2018-it"}),
        ("hkoji new --invite ", {"bob"}),
        ("hkoji trust ", {"bob"}),
        ("hkoji replay x --eyes ", {"all", "host", "guest", "spectator", "bob"}),
        ("hkoji config ", {"lang", "deck", "always", "deposits", "invites"}),
        ("hkoji config invites ", {"everyone", "known", "nobody"}),
        ("hkoji decline x --why l", {"later", "longer"}),
        ("hkoji games --open --clock ", {"none", "fast", "days", "slow"}),
        ("hkoji block ", {"bob"}),
        ("hkoji config lang ", {"en", "it"}),
        ("hkoji config deck ", {"standard", "everdeck"}),
        ("hkoji config always ", {"only"}),
        ("hkoji plans ", {"run"}),
        ("hkoji --lang ", {"en", "it"}),
        ("hkoji show --deck ", {"standard", "everdeck"}),
        ("hkoji --lang it show --deck e", {"everdeck"}),
        ("hkoji bot run x --lang ", {"en", "it"}),
        ("hkoji games --status ", {"open", "playing", "finished", "cancelled"}),
        ("hkoji help bot ", {"run", "list"}),
        ("hkoji bot ", {"run", "list"}),
        ("hkoji re", {"replay", "register", "rekey", "release", "rematch", "recover", "revoke", "resign"}),
    ],
)
def test_names_are_offered(place: Place, line: str, expected: set[str]) -> None:
    assert values(place, line).keys() == expected


def test_descriptions_of_commands_are_whole_and_in_the_language(place: Place) -> None:
    assert values(place, "hkoji sh") == {"show": "Show a game as you see it, and what you can do."}
    assert values(place, "hkoji sh", HKOJI_LANG="it")["show"].startswith("Mostra ")


def test_bash_gets_what_follows_the_sign_at_which_it_splits_words(place: Place) -> None:
    def offered(*words: str) -> list[str]:
        return ask(place, "hkoji " + " ".join(words), "bash").out.split()

    assert offered("play", "--level", "=", "ha") == ["hard"]
    assert offered("play", "--level", "=") == ["beginner", "easy", "normal", "hard"]
    assert offered("play", "--bot", "search", ":", "e") == ["easy"]
    assert offered("arena", "search", ":", "easy", "gr") == ["greedy"]


# --- what it must not do ----------------------------------------------------------------------------------------------


def _contents(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_completion_writes_nothing(place: Place, tmp_path: Path) -> None:
    before = _contents(place.home)
    for line in ("hkoji show ", "hkoji join ", "hkoji play ", "hkoji new --invite ", "hkoji "):
        values(place, line)
        assert values(place, line, HKOJI_HOME=str(tmp_path / "none")) or line != "hkoji "
    assert _contents(place.home) == before
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("file", ["config.json", "pins.json", "settings.toml", "games/{game}/log.jsonl"])
def test_a_damaged_home_prints_no_error(place: Place, tmp_path: Path, file: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(place.home, home)
    (home / file.format(game=place.playing)).write_bytes(b"\xff{")
    for shell in SHELLS:
        for line in ("hkoji show ", "hkoji join ", "hkoji trust ", "hkoji show --lang x ", 'hkoji show "'):
            done = ask(place, line, shell, HKOJI_HOME=str(home), HKOJI_LANG="xx")
            assert "Traceback" not in done.out + done.err
            assert done.err == ""
    if "log" in file:
        assert place.open[:8] in values(place, "hkoji show ", HKOJI_HOME=str(home))


def test_a_silent_service_holds_nobody_up(place: Place, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(place.home, home)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = json.loads((home / "config.json").read_text())
        config["server"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (home / "config.json").write_text(json.dumps(config))
        started = time.monotonic()
        assert values(place, "hkoji join ", HKOJI_HOME=str(home)) == {}
        assert time.monotonic() - started < 20  # the transport itself would wait for 30 seconds


# --- in shells --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(place: Place) -> Place:
    """The place, where completion is set up for all shells that are here."""
    for shell in SHELLS:
        if programs.find(shell):
            done = subprocess.run(
                [shell, "-c", "hkoji --install-completion; true"],
                env=place.environment(),
                capture_output=True,
                text=True,
                check=True,
            )
            assert f"{shell} completion installed" in done.stdout, done
    for file in (".bashrc", ".zshrc"):
        with (place.folder / file).open("a") as stream:
            stream.write("PS1='ready> '\n")
    return place


@pytest.mark.parametrize("shell", INTERACTIVE)
def test_the_tab_key_completes(installed: Place, shell: str) -> None:
    programs.needs(shell)
    game = installed.playing
    with Terminal(INTERACTIVE[shell], installed.environment(), str(installed.folder)) as terminal:
        terminal.wait_for("ready> ")
        if shell == "zsh":
            terminal.type("hkoji conf\t")  # with the first one zsh only loads what Typer has installed
        for typed, completed in (
            ("hkoji conf\t", "hkoji config"),
            (f"hkoji move {game[:5]}\t", f"hkoji move {game[:8]}"),
            ("hkoji play --level ha\t", "--level hard"),
            ("hkoji play --bot search:e\t", "search:easy"),
            ("hkoji new --invite b\t", "--invite bob"),
            ("hkoji arena gr\t", "arena greedy"),
            ("hkoji show --lang i\t", "--lang it"),
            ("hkoji audit zz\t", "zzz-game.jsonl"),
            ("hkoji submit zz\t", "zzz-game.jsonl"),
            ("hkoji stats zz\t", "zzz-game.jsonl"),
        ):
            terminal.type(typed)
            said = terminal.wait_for(completed)
            assert "Error" not in said
            terminal.type("\x15")


def test_fish_completes(installed: Place) -> None:
    programs.needs("fish")

    def offered(line: str) -> dict[str, str]:
        done = subprocess.run(
            ["fish", "-c", 'complete -C "$LINE"'],
            env=installed.environment(LINE=line),
            capture_output=True,
            text=True,
            check=True,
            cwd=installed.folder,
        )
        assert done.stderr == ""
        return {value: about for value, _, about in (each.partition("\t") for each in done.stdout.splitlines())}

    assert offered("hkoji move ") == {installed.playing[:8]: "bob, playing"}
    assert offered("hkoji play --level h") == {"hard": ""}
    assert offered("hkoji show --lang i") == {"it": "italiano"}
    for command in ("audit", "submit", "stats"):
        assert "zzz-game.jsonl" in offered(f"hkoji {command} zz")


def test_zsh_shows_opponent_and_state(installed: Place) -> None:
    programs.needs("zsh")
    with Terminal(("zsh", "-i"), installed.environment(), str(installed.folder)) as terminal:
        terminal.wait_for("ready> ")
        terminal.type("hkoji show \t\t")
        terminal.wait_for("bob, playing")
        terminal.wait_for("bob, finished")


def test_show_completion_prints_the_script_of_the_shell(place: Place) -> None:
    for shell in filter(programs.find, SHELLS):
        done = subprocess.run(
            [shell, "-c", "hkoji --show-completion; true"],
            env=place.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "_HKOJI_COMPLETE=complete_" in done.stdout
