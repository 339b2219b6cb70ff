"""`hkoji watch` against a real service that stops and comes back; `--exec` and `--notify`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from hkoji.cli.games import watch
from tests.support.home_shell import HomeShell
from tests.support.memory_service import MemoryService, begin
from tests.support.service import HKOJI, start
from tests.support.shell import Shell


@pytest.fixture
def game(alice: Shell, bob: Shell) -> str:
    """A game that is over."""
    made = begin(alice.seat, bob.seat)
    assert bob("resign", made, "--yes").code == 0
    return made


def watched(shell: Shell, game: str, *words: str) -> tuple[int, list[int], str]:
    """Watches all of a game; the code, the numbers of the entries, and the remarks."""
    done = shell("watch", game, "--after", "-1", "--json", *words)
    return done.code, [json.loads(line)["seq"] for line in done.out.splitlines()], done.err


def test_a_command_gets_each_entry_as_the_line_that_is_printed(alice: Shell, game: str, tmp_path: Path) -> None:
    program = tmp_path / "note.py"
    program.write_text(
        "import json, os, sys\n"
        "place = [os.environ[f'HKOJI_{name}'] for name in ('GAME', 'EVENT', 'SEQ')]\n"
        "open(sys.argv[1], 'a').write(json.dumps([sys.stdin.read(), place, sys.argv[2:]]) + '\\n')\n"
    )
    noted = tmp_path / "noted"
    odd = ["$(touch harm)", "a;b", "--all", "`x`"]
    done = alice(
        "watch", game, "--after", "-1", "--json", "--exec", "--", sys.executable, str(program), str(noted), *odd
    )
    assert (done.code, done.err) == (0, "")
    found = [json.loads(line) for line in noted.read_text().splitlines()]
    assert [given for given, _, _ in found] == done.out.splitlines(keepends=True)
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [place for _, place, _ in found] == [[game, line["kind"], str(line["seq"])] for line in lines]
    assert all(words == odd for _, _, words in found)
    assert not Path("harm").exists()
    assert lines[-1]["kind"] == "end"


def test_a_command_that_fails_is_a_remark_and_watching_goes_on(alice: Shell, game: str) -> None:
    code, seqs, said = watched(alice, game, "--exec", "--", "sh", "-c", "exit 3")
    assert (code, seqs) == (0, list(range(len(seqs))))
    assert said.count("sh has failed, with exit code 3") == len(seqs) > 5
    # One that does not read its input, however long that is, does no harm.
    assert watched(alice, game, "--exec", "--", "true") == (0, seqs, "")


def test_a_command_that_hangs_is_killed_with_what_it_has_started(
    alice: Shell, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LONGEST", 0.2)
    pids = tmp_path / "pids"
    began = time.monotonic()
    last = len(watched(alice, game)[1]) - 2
    done = alice(
        "watch", game, "--after", str(last), "--exec", "--", "sh", "-c", f"sleep 600 & echo $! >> {pids}; wait"
    )
    assert done.code == 0
    assert "sh was stopped after 0 s" in done.err
    assert time.monotonic() - began < 60
    (pid,) = map(int, pids.read_text().split())
    while _runs(pid):
        assert time.monotonic() - began < 60
        time.sleep(0.01)


def test_a_program_that_is_ended_leaves_no_command_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        "from hkoji.cli.games.watch import run_command\n"
        f"run_command(['sh', '-c', 'sleep 600 & echo $! > {pids}.new; mv {pids}.new {pids}; wait'],"
        " {'game': 'a', 'kind': 'move', 'seq': 1})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    end = time.monotonic() + 60
    while not pids.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    (pid,) = map(int, pids.read_text().split())
    assert _runs(pid)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    while _runs(pid):
        assert time.monotonic() < end
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may still wait for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "words",
    [
        ("--all", "--exec"),
        ("--all", "--exec", "--"),
        ("2714", "--exec"),
        ("2714", "--", "true"),
        ("--all", "--", "true"),
        ("--exec", "--", "true"),
        ("2714", "--exec", "--", "/no/such/program"),
    ],
)
def test_the_command_to_run_is_named_in_one_way(service: MemoryService, alice: Shell, words: tuple[str, ...]) -> None:
    asked = len(service.requests)
    done = alice("watch", *words)
    assert (done.code, done.out) == (2, "")
    assert len(service.requests) == asked


def test_a_notification_shows_what_matters_and_runs_nothing(
    alice: Shell, bob: Shell, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = tmp_path / "shown"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {shown}\necho >> {shown}\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "linux")
    assert watched(alice, game, "--notify")[0] == 0
    lines = shown.read_text().splitlines()
    assert lines == [f"--app-name=hkoji|--|Game {game[:8]}|the game is over: alice wins by resignation|"]
    going = begin(alice.seat, bob.seat)
    assert going
    shown.unlink()
    program.write_text("#!/bin/sh\nexit 1\n")
    code, seqs, said = watched(alice, game, "--notify")
    assert (code, len(seqs) > 5) == (0, True)
    assert "no notification was shown" in said


def test_on_a_mac_a_text_is_an_argument_of_the_script(
    alice: Shell, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "osascript"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/shown\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert watched(alice, game, "--notify")[0] == 0
    words = (tmp_path / "shown").read_text().splitlines()
    assert words[-2:] == [f"{game[:8]}: the game is over: alice wins by resignation", f"Game {game[:8]}"]
    assert not any("alice" in word for word in words[:-2])


def test_without_a_program_for_notifications_nothing_is_watched(
    service: MemoryService, alice: Shell, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = len(service.requests)
    done = alice("watch", game, "--notify")
    assert (done.code, done.out, len(service.requests)) == (2, "", asked)
    assert "is not here, so no notifications can be shown" in done.err


# --- a service that goes away -----------------------------------------------------------------------------------------


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
