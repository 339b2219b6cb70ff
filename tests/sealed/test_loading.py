"""Programs that have nothing to do with a sealed game do not load its cards."""

from __future__ import annotations

import json
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
print(json.dumps([name for name in sys.modules if name.startswith(("hkoji.sealed", "hkoji.game.proving"))]))
"""


@pytest.mark.parametrize(("game", "loads"), [("whole.jsonl", False), ("sealed-resigned.jsonl", True)])
def test_only_the_audit_of_a_sealed_game_loads_them(game: str, loads: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, GAMES / game], capture_output=True, text=True, check=True, timeout=60
    )
    assert bool(json.loads(done.stdout)) == loads
