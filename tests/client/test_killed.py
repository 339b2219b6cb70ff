"""A `hkoji move` that is killed at any of its calls to the system signs no second move, and loses none.

strace kills the process at its n-th call of a kind. The command is given again if it left something to be done, and
then there is one entry with one receipt.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.client import Client, Home, Position
from hkoji.client.kept.game import Vault
from hkoji.log.line import parse_log
from tests.support import programs
from tests.support.commands import current
from tests.support.forked import run_forked
from tests.support.service import HKOJI, Service, serving

POINTS = [
    (call, number)
    for call, most in {"flock": 1, "fdatasync": 2, "write": 3, "sendto": 3, "recvfrom": 3}.items()
    for number in range(1, most + 1)
]
"""The calls at which the command is killed. It makes fewer of some kinds: then it is not killed."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True) as running:
        yield running


def hkoji(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_forked(words, env={**os.environ, "HKOJI_HOME": str(home)})


def killed_hkoji(home: Path, *words: str, call: str, number: int) -> subprocess.CompletedProcess[str]:
    """A command that is killed at its n-th call of a kind."""
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    return subprocess.run(
        [programs.needs("strace"), "-f", "-qq", "-o", "/dev/null", "-e", inject, str(HKOJI), *words],
        env={**os.environ, "HKOJI_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_move_that_is_killed_anywhere_is_made_once(service: Service, tmp_path: Path) -> None:
    homes = {name: tmp_path / name for name in ("alice", "bob")}
    for name, home in homes.items():
        assert hkoji(home, "init", name).returncode == 0
        assert hkoji(home, "register", "--server", service.url).returncode == 0
    killed, game = 0, ""
    for tried, (call, number) in enumerate(POINTS):
        if not game or look(homes["alice"], game).over:
            game = json.loads(hkoji(homes["alice"], "new", "--json").stdout)["game"]
            assert hkoji(homes["bob"], "join", game).returncode == 0
        mover, position = to_move(homes, game)
        notation = position[tried % len(position)]
        before = entries(service, game)
        done = killed_hkoji(homes[mover], "move", game, notation, call=call, number=number)
        killed += done.returncode != 0
        signed = Vault(Home(homes[mover]).game_folder(game)).outbox()
        if signed is not None or len(entries(service, game)) == len(before):
            again = hkoji(homes[mover], "move", game, notation)
            assert again.returncode == 0, (call, number, again.stderr)
        after = entries(service, game)
        moves = [text for text in after[len(before) :] if '"kind":"move"' in text]
        assert len(moves) == 1, (call, number)
        if signed is not None:
            assert moves == [signed.entry.text], (call, number)
        kept = hkoji(homes[mover], "export", game, "--kept").stdout
        assert kept.splitlines() == public(service, game)[: len(kept.splitlines())]
    assert killed > len(POINTS) / 2


def look(home: Path, game: str) -> Position:
    with Client(Home(home)) as client:
        return current(client, game)


def to_move(homes: dict[str, Path], game: str) -> tuple[str, tuple[str, ...]]:
    for name, home in homes.items():
        legal = look(home, game).legal
        if legal:
            return name, legal
    raise AssertionError("nobody is to move")


def public(service: Service, game: str) -> list[str]:
    return service.ask("GET", f"/v1/games/{game}/log?after=-1").body.decode().splitlines()


def entries(service: Service, game: str) -> list[str]:
    return [line.entry.text for line in parse_log(service.ask("GET", f"/v1/games/{game}/log?after=-1").body)]
