"""Two homes play a game with the program on the page of the library, through a real service."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hkoji.client
from hkoji.client import Client, Home
from hkoji.client.watching import wait, watch_all, watch_game
from hkoji.game.course import Stage
from hkoji.game.position import Position
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.docs import DOCS
from tests.support.home_shell import arrive
from tests.support.memory_service import LocalPlayer, begin, registered
from tests.support.service import serving

PAGE = (DOCS / "library.md").read_text()


def test_the_program_on_the_page_plays_a_whole_game(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(program.splitlines()) <= 25
    file = tmp_path / "play.py"
    file.write_text(program)
    with serving(tmp_path / "data", forked=True) as service:
        alice, bob = (arrive(service, tmp_path / name, name) for name in ("alice", "bob"))
        host = subprocess.Popen([sys.executable, file], env=alice.environment, stdout=subprocess.PIPE, text=True)
        try:
            assert host.stdout is not None
            game = host.stdout.readline().strip()
            command = [sys.executable, str(file), game[:8]]
            guest = subprocess.run(
                command, env=bob.environment, check=True, capture_output=True, text=True, timeout=240
            )
            said, _ = host.communicate(timeout=60)
        finally:
            host.kill()
            host.wait()
        assert (said.strip(), guest.stdout.strip()) in {("won", "lost"), ("lost", "won"), ("shared", "shared")}
        assert re.search(r"^hand [A-G]{7}$", guest.stderr, re.MULTILINE)
        alice.run("audit", game)


def test_the_names_on_the_page_are_there() -> None:
    names = re.findall(r"`(client|game|position)?\.?(\w+)(?:\([^`]*\))?`", PAGE[PAGE.index("## What is public") :])
    owners = {"client": Client, "game": hkoji.client.ClientGame, "position": Position}
    assert {name for owner, name in names if owner} >= {"new", "find", "game", "current", "move", "stored", "course"}
    for owner, name in names:
        if owner:
            assert hasattr(owners[owner], name), f"{owner}.{name}"
    assert set(hkoji.client.__all__) == {"Client", "ClientGame", "Home", "MadeMove", "Position"}
    assert [each.__name__ for each in (wait, watch_game, watch_all)] == ["wait", "watch_game", "watch_all"]


def test_a_position_says_its_game_and_the_players_own_hand(
    alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path
) -> None:
    game = alice.client.new(Hanamikoji()).game
    assert alice.position(game).hand == ""
    bob.join(game)
    for number, seat in enumerate((alice, bob)):
        position = seat.position(game)
        assert position.game == game
        state = alice.service.games[game].refereed.course.state
        assert position.hand == state.ruleset.pack.decode(state.hands[number]) != ""
    spectator = registered(alice.service, "carol", tmp_path / "carol")
    assert spectator.position(game).hand == ""


def test_a_client_closes_its_connections_and_holds_a_game_once(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    closed: list[str] = []
    with alice.client as client, client.game(game) as held:
        assert held.current().course.stage is Stage.PLAY
        with pytest.raises(RuntimeError, match="holds game"), client.game(game):
            pass
        client.service().close = lambda: closed.append(client.server)  # type: ignore[method-assign] # to see the call
    assert closed == [client.server]
    with client.game(game) as held:  # after the block nothing is held
        held.resign()
    assert Client(Home(alice.path)).stored(game).over
