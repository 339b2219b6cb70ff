"""`hkoji play` as a process, through pipes and in terminals: keys that leave, several sessions at once, and kill -9."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.local.local_games import LocalGames
from tests.support.commands import current
from tests.support.conditions import until
from tests.support.home_shell import arrive, my_move, open_and_join
from tests.support.processes import process_state
from tests.support.service import HKOJI, serving
from tests.support.shell import run
from tests.support.terminal import MORE, PROMPT, games, home

__all__ = ["home"]


class Pipe:
    """`hkoji play` as a process with pipes."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [str(HKOJI), "play", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )

    def until(self, *ends: str) -> str:
        """The output up to one of these texts."""
        said = b""
        assert self.process.stdout is not None
        while not any(said.endswith(end.encode()) for end in ends):
            if not select.select([self.process.stdout], [], [], 300)[0]:
                self.process.send_signal(signal.SIGABRT)  # it says where it is
                raise AssertionError(said.decode() + self.process.communicate()[0].decode())
            more = os.read(self.process.stdout.fileno(), 4096)
            assert more, said.decode()
            said += more
        return said.decode()

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def legal(listed: str) -> list[str]:
    """The moves that `moves` lists."""
    return listed.removeprefix("moves\n").removesuffix(PROMPT).split()


def test_killed_at_any_moment_nothing_acknowledged_is_lost(home: Path) -> None:
    """The board after a move acknowledges it. Kills come anywhere between two boards."""
    chance = random.Random(4)
    acknowledged: list[str] = []
    for _ in range(5):
        playing = Pipe("--level", "beginner")
        said = playing.until(PROMPT, MORE)
        if said.endswith(MORE):  # only the bot had to move when the last one was killed
            playing.kill()
            break
        playing.type("moves")
        move = chance.choice(legal(playing.until(PROMPT)))
        playing.type(move)
        over = playing.until(PROMPT, MORE).endswith(MORE)
        acknowledged.append(move)
        if over:
            playing.kill()
            break
        playing.type("moves")
        playing.type(chance.choice(legal(playing.until(PROMPT))))
        time.sleep(chance.random() * 0.15)
        playing.kill()
        assert "Traceback" not in said
        (game,) = games()
        if game["status"] == "finished":
            break
        local_games = LocalGames(home / "local")
        events = current(local_games.player, str(game["game"])).events
        own = [event.action for event in events if getattr(event, "seat", None) == 0 and hasattr(event, "action")]
        left = iter(own)
        assert all(move in left for move in acknowledged), (own, acknowledged)
        assert len(own) <= 2 * len(acknowledged)
    assert audit(Path(str(games()[0]["log"])).read_bytes(), {}).ok


def test_two_terminals_do_not_play_one_game(home: Path) -> None:
    first = Pipe("--level", "beginner")
    first.until(PROMPT)
    done = run("play")
    assert done.code == 2
    assert "another terminal" in done.err
    first.kill()
    assert run("play").code == 0


@contextlib.contextmanager
def terminal(*words: str) -> Iterator[tuple[int, int]]:
    """`hkoji play` in a separate terminal. Returns the process and the other side of its terminal."""
    pid, screen = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ["TERM"] = "xterm"
        os.execv(HKOJI, [str(HKOJI), "play", *words])
    try:
        yield pid, screen
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(screen)


def read(screen: int, *ends: str) -> str:
    said, raw = "", b""
    while not any(said.endswith(end) for end in ends):
        assert select.select([screen], [], [], 300)[0], said
        raw += os.read(screen, 4096)
        said = re.sub(r"\x1b\[\?2004[hl]|\r", "", raw.decode("utf-8", "replace"))
    return said


def begin(screen: int) -> str:
    """Leaves the introduction of a game against a bot. Returns the first board."""
    assert "Press Enter" in read(screen, "to begin: ")
    os.write(screen, b"\n")
    return read(screen, PROMPT)


def asleep(pid: int) -> None:
    """Waits until the process sleeps. If Ctrl-C came between the prompt and `select`, readline would go on sleeping."""
    until(lambda: process_state(pid) == "S")


def ended(pid: int, screen: int) -> int:
    """The exit code; the remaining output is read, because a terminal buffers only a limited amount."""
    with contextlib.suppress(OSError):
        while True:
            assert select.select([screen], [], [], 300)[0]
            if not os.read(screen, 4096):
                break
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_whole_game_in_a_terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    with terminal("--level", "beginner") as (pid, screen):
        said = begin(screen)
        assert "\x1b[" in said
        passing = 0
        while not said.endswith(MORE):
            hint = re.findall(r"would play (\S+)", said)
            os.write(screen, f"{hint[-1] if hint else 'hint'}\n".encode())
            said = read(screen, PROMPT, MORE)
            passing += "random-bot is thinking …" in said
        assert passing
        os.write(screen, b"n\n")
        assert ended(pid, screen) == 0
    assert games()[0]["status"] == "finished"


@pytest.mark.parametrize(("key", "code"), [(b"\x04", 0), (b"\x03", 130), (b"q\n", 0)])
def test_keys_that_leave(key: bytes, code: int, home: Path) -> None:
    with terminal() as (pid, screen):
        begin(screen)
        asleep(pid)
        os.write(screen, key)
        assert "The game waits for you: hkoji play" in read(screen, "hkoji play\n")
        assert ended(pid, screen) == code
    assert games()[0]["status"] == "playing"


def test_waiting_for_the_other_player_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a running service: the board returns when the other player has moved, and q leaves while they think."""
    with serving(tmp_path / "data", forked=True) as service:
        alice, bob = (arrive(service, tmp_path / name, name) for name in ("alice", "bob"))
        game = open_and_join(alice, bob)
        monkeypatch.setenv("HKOJI_HOME", str(alice.home))
        with terminal(game[:8]) as (pid, screen):
            read(screen, PROMPT)
            os.write(screen, b"moves\n")
            os.write(screen, f"{legal(read(screen, PROMPT))[0]}\n".encode())
            assert "bob's turn" in read(screen, "you can go on later.\n")
            move = my_move(bob, game)  # a secret: no answer is due
            bob.run("move", game, move)
            assert f"bob played a secret   {move[0]}X" in read(screen, PROMPT)
            os.write(screen, b"moves\n")
            os.write(screen, f"{legal(read(screen, PROMPT))[0]}\n".encode())
            read(screen, "you can go on later.\n")
            os.write(screen, b"q\n")
            assert f"The game waits for you: hkoji play {game[:8]}" in read(screen, f"play {game[:8]}\n")
            assert ended(pid, screen) == 0
        assert alice.json("show", game)["status"] == "playing"
