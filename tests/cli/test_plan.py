"""`hkoji plan` and `hkoji plans run`: making, showing, trying and dropping plans at a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hkoji.client import Home
from hkoji.client.kept.game import Vault
from hkoji.log.line import parse_log
from tests.support import programs
from tests.support.conditions import until
from tests.support.home_shell import HomeShell, begin, open_and_join
from tests.support.memory_service import begin as begin_here
from tests.support.memory_service import play_on
from tests.support.service import HKOJI, Service, serving
from tests.support.shell import Shell

ANY = "** : -G -F -E -D -C -B -A\n"


@pytest.fixture
def game(alice: Shell, bob: Shell) -> str:
    return begin_here(alice.seat, bob.seat)


def offer(player: Shell, game: str) -> str:
    notation = next(each for each in player.seat.position(game).legal if each[0] == "3")
    player.seat.move(game, notation)
    return notation


def plan_file(player: Shell, game: str) -> Path:
    return player.seat.folder(game) / "plan.json"


def test_a_plan_is_made_shown_tried_and_dropped(alice: Shell, bob: Shell, game: str, tmp_path: Path) -> None:
    file = tmp_path / "plan"
    file.write_text(f"# mine\n{ANY}3b* -c : 1e only # x\n".replace(" only", ""))
    made = bob("plan", game, str(file), "--yes", "--json")
    assert made.code == 0, made
    value = made.json
    assert value["lines"] == [
        {"line": 2, "pattern": "**", "choices": ["-G", "-F", "-E", "-D", "-C", "-B", "-A"]},
        {"line": 3, "pattern": "3B* -C", "choices": ["1E"]},
    ]
    assert (value["seq"], value["round"], value["seen"], value["action"]) == (4, 1, [], None)
    again = {**value, "lines": [{**each, "line": n} for n, each in enumerate(value["lines"], 1)]}
    assert bob("plan", game, "--json").json == again
    assert bob("plan", "--list", "--json").json == [again]
    shown = bob("plan", game).out
    assert "** : -G -F -E -D -C -B -A" in shown
    assert "It waits for your opponent." in shown
    offered = offer(alice, game)
    tried = bob("plan", game, "--try", offered, "--json").json
    assert [each["action"] for each in tried["moves"]] == [f"-{max(offered[1:])}"]
    bob.seat.position(game)
    decided = bob("plan", game, "--json").json
    assert (decided["action"], decided["line"], decided["seen"]) == (f"-{max(offered[1:])}", 1, [offered])
    (done,) = bob("plans", "run", "--delay", "0", "--json").json["games"]
    assert [(each["seq"], each["action"]) for each in done["made"]] == [(6, f"-{max(offered[1:])}")]
    assert done["error"] is None
    assert not plan_file(bob, game).exists()
    assert bob("plan", game, "--drop").code == 2
    assert bob("plan", "--list", "--json").json == []


def test_nothing_is_stored_without_a_yes(bob: Shell, game: str) -> None:
    done = bob("plan", game, "-", stdin=ANY)
    assert (done.code, done.out) == (2, "")
    assert "--yes" in done.err
    assert not plan_file(bob, game).exists()
    for answer, code in (("n\n", 3), ("\n", 3)):
        with patch("hkoji.cli.games.plan.read_input", lambda *_: ANY.encode()):
            done = bob("plan", game, "-", stdin=answer, terminal=True)
        assert done.code == code
        assert "** : -G" in done.err
        assert not plan_file(bob, game).exists()
    with patch("hkoji.cli.games.plan.read_input", lambda *_: ANY.encode()):
        assert bob("plan", game, "-", stdin="y\n", terminal=True).code == 0
    before = plan_file(bob, game).read_bytes()
    assert bob("plan", game, "-", stdin="** : only").code == 2  # it would replace the first
    assert plan_file(bob, game).read_bytes() == before
    assert bob("plan", game, "--drop", "--json").json == {"v": 1, "game": game, "dropped": True}


@pytest.mark.parametrize(
    ("words", "text", "code", "said"),
    [
        (("-", "--yes"), "3* : -G\n3* -G", 5, "line 2, column 6"),
        (("-", "--yes"), b"3* : -\xff", 5, "line 1, column 7"),
        (("-", "--yes", "--drop"), ANY, 2, "at most one"),
        (("--try", "1X", "--drop"), "", 2, "at most one"),
        ((), "", 2, "has no plan"),
        (("--try", "1X"), "", 2, "has no plan"),
        (("--drop",), "", 2, "has no plan"),
        (("-", "--try", "-C"), ANY, 5, "-C is not legal"),
        (("-", "--try", "1E"), ANY, 5, "you see it as 1X"),
    ],
)
def test_a_fault_is_named_and_nothing_is_stored(
    bob: Shell, game: str, words: tuple[str, ...], text: str | bytes, code: int, said: str
) -> None:
    data = text.encode() if isinstance(text, str) else text
    with patch("hkoji.cli.games.plan.read_input", lambda *_: data):
        done = bob("plan", game, *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert not plan_file(bob, game).exists()


def test_a_plan_that_could_not_play_is_refused(alice: Shell, bob: Shell, game: str) -> None:
    offer(alice, game)
    done = bob("plan", game, "-", "--yes", stdin="3* : -A\n")
    assert done.code == 5
    assert "no line says what to play" in done.err
    done = alice("plan", "0" * 32, "-", "--yes", stdin=ANY)
    assert done.code == 2
    opened = alice.seat.client.new(begin_ruleset(alice, game)).course.setup.game
    done = alice("plan", opened, "-", "--yes", stdin=ANY)
    assert done.code == 5
    assert "no cards yet" in done.err
    assert not plan_file(bob, game).exists()
    assert bob("plans", "run").out == "No plan has anything to play now.\n"


def begin_ruleset(player: Shell, game: str) -> Any:
    return player.seat.position(game).course.setup.ruleset


def test_always_only(alice: Shell, bob: Shell, game: str, tmp_path: Path) -> None:
    with patch.dict(os.environ, {"HKOJI_CONFIG": str(tmp_path / "settings.toml")}):
        assert bob("config", "always", "all").code == 2
        assert bob("config", "always", "only", "--json").json["settings"]["always"]["value"] == "only"
        play_on((alice.seat, bob.seat), game, 9)
        while True:
            for shell in (alice, bob):
                position = shell.seat.position(game)
                if position.legal and len(position.legal) > 1:
                    assert [each["made"] for each in shell("plans", "run", "--json").json["games"]] == [[]]
                    shell.seat.move(game, position.legal[0])
                elif position.legal:
                    (done,) = shell("plans", "run", "--delay", "0", "--json").json["games"]
                    assert done["made"][0] == {
                        "seq": position.course.seq + 1,
                        "action": position.legal[0],
                        "line": None,
                    }
                    assert shell("--always", "plans").code == 2
                    return


def test_watch_says_what_belongs_together(bob: Shell, game: str) -> None:
    for words in (
        ("watch", game, "--plans"),
        ("watch", "--all", "--delay", "0"),
        ("watch", "--all", "--plans", "--delay", "x"),
    ):
        done = bob(*words)
        assert (done.code, done.out) == (2, ""), words


# --- with a real service ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("plans") / "data", forked=True) as service:
        yield service


def homes(running: Service, folder: Path, number: int) -> tuple[HomeShell, HomeShell]:
    found = []
    for name in ("alice", "bob"):
        shell = HomeShell(folder / name)
        shell.run("init", f"{name}{number}")
        shell.run("register", "--server", running.url)
        found.append(shell)
    return found[0], found[1]


def entries(running: Service, game: str) -> list[Any]:
    return [line.entry for line in parse_log(running.ask("GET", f"/v1/games/{game}/log?after=-1").body)]


def test_a_watching_client_answers_at_once_and_the_plan_is_gone_later(running: Service, tmp_path: Path) -> None:
    alice, bob = homes(running, tmp_path, 1)
    game = begin(alice, bob)
    alice.run("move", game, next(each for each in alice.json("show", game)["legal"] if each[0] == "1"))
    bob.run("move", game, next(each for each in bob.json("show", game)["legal"] if each[0] == "1"))
    bob.run("plan", game, "-", "--yes", stdin="3* : -G -F -E -D -C -B -A\n** : only\n")
    assert bob.json("plan", game)["seq"] == 6
    watching = subprocess.Popen(
        [str(HKOJI), "watch", "--all", "--plans", "--delay", "0", "--json"],
        env={**bob.environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        offered = next(each for each in alice.json("show", game)["legal"] if each[0] == "3")
        alice.run("move", game, offered)
        until(lambda: len(entries(running, game)) > 8)
        reply = entries(running, game)[8]
        assert (reply.by, reply.body["action"]) == ("bob1", f"-{max(offered[1:])}")
        # An action is due now, of which the plan says nothing: bob moves by hand, and the plan is gone.
        bob.run("move", game, bob.json("show", game)["legal"][0])
        until(lambda: not bob.json("plan", "--list"))
        assert [entry.seq for entry in entries(running, game) if entry.by == "bob1"][-2:] == [8, 9]
    finally:
        watching.terminate()
        said = watching.communicate()[1]
    assert "entry 8 is made" in said
    assert "Traceback" not in said


POINTS = [
    (call, number)
    for call, most in {"fdatasync": 2, "rename": 3, "sendto": 3, "recvfrom": 3}.items()
    for number in range(1, most + 1)
]
"""The calls at which `plans run` is killed. It makes fewer of some kinds: then it is not killed."""


def test_a_run_that_is_killed_anywhere_makes_one_move(running: Service, tmp_path: Path) -> None:
    """At its n-th call of a kind the process gets SIGKILL. The next run makes the move, unless it was made, once."""
    strace = programs.needs("strace")
    alice, bob = homes(running, tmp_path, 2)
    killed = 0
    for call, number in POINTS:
        game = open_and_join(alice, bob)
        legal = alice.json("show", game)["legal"]
        bob.run("plan", game, "-", "--yes", stdin="3* : -G -F -E -D -C -B -A\n")
        alice.run("move", game, next(each for each in legal if each[0] == "3"))
        done = subprocess.run(
            [
                *(strace, "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={number}"),
                *(str(HKOJI), "plans", "run", "--delay", "0"),
            ],
            env=bob.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        killed += done.returncode != 0
        signed = Vault(Home(bob.home).game_folder(game)).outbox()
        for _ in range(2):
            bob.run("plans", "run", "--delay", "0")
        bob.run("show", game)
        moves = [entry for entry in entries(running, game) if entry.kind == "move"]
        assert [entry.seq for entry in moves] == [5, 6], (call, number)
        assert moves[1].by == "bob2"
        if signed is not None:
            assert moves[1].text == signed.entry.text
        bob.run("resign", game, "--yes")
    assert killed > len(POINTS) / 2
