"""Programs that have nothing to do with a sealed game do not load its cards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"

PROGRAM = """
import json, sys
from pathlib import Path
from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.cli import app
from hkoji.client import client, game
from hkoji.game.replay import replay
from hkoji.log.line import parse_log
log = Path(sys.argv[1]).read_bytes()
assert audit(log).ok
assert replay(parse_log(log)).stop is None
print(json.dumps([name for name in sys.modules if name.startswith(("hkoji.sealed", "hkoji.game.seal"))]))
"""


@pytest.mark.parametrize(("game", "loads"), [("whole.jsonl", False), ("sealed-resigned.jsonl", True)])
def test_only_the_audit_of_a_sealed_game_loads_them(game: str, loads: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, GAMES / game], capture_output=True, text=True, check=True, timeout=60
    )
    assert bool(json.loads(done.stdout)) == loads


COMMANDS = """
import json, sys
from pathlib import Path
from tests.support.memory_service import MemoryService, registered
from tests.support.shell import run
service = MemoryService()
alice, bob = (registered(service, name, Path(sys.argv[1]) / name) for name in ("alice", "bob"))
def hkoji(player, *words):
    done = run(*words, seat=player)
    assert done.code == 0, (words, done)
    return done.out.strip()
game = hkoji(alice, "new")
other = hkoji(alice, "new", "--link", "--json")
hkoji(alice, "cancel", json.loads(other)["game"])
hkoji(bob, "join", game)
for word in ("show", "log", "clock", "note"):
    hkoji(alice, word, game)
for player in (alice, bob):
    for words in (["games"], ["games", "--offline"], ["games", "--open"], ["next"], ["whoami"], ["config"]):
        hkoji(player, *words)
legal = alice.position(game).legal[0]
hkoji(alice, "move", game, legal, "--dry-run")
hkoji(alice, "sign", game, legal)
hkoji(alice, "move", game, legal)
hkoji(bob, "show", game, "--json")
hkoji(bob, "bot", "run", game, "--bot", "greedy", "--once")
hkoji(bob, "resign", game, "--yes")
hkoji(alice, "show", game)
hkoji(alice, "replay", game)
hkoji(alice, "export", game, "--kept")
hkoji(alice, "evidence", game)
used = ("nacl", "hkoji.sealed", "hkoji.client.seal", "hkoji.client.kept.sealed", "hkoji.cli.games.sealed")
print(json.dumps([name for name in sys.modules if name.startswith((*used, "hkoji.game.seal", "hkoji.game.proving"))]))
"""


def test_commands_about_other_games_load_none_of_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, tmp_path],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HKOJI_LANG": "en", "XDG_STATE_HOME": str(tmp_path)},
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
