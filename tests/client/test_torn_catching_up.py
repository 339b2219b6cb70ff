"""A home that has not looked for long is killed while it keeps the new lines: the next look heals it.

The lines may have moves of the player's other home, whose cards only the service has shown. Only a part of the lines is
in the log then, and a part of a move's cards may have been revealed since.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from hkoji.client import Home
from hkoji.client.identity import create
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.memory_service import URL, LocalPlayer, MemoryService, begin, registered


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=["hanamikoji", "geishas-road"])
@pytest.mark.parametrize("moves", [16, 400], ids=["round", "game"])
def test_a_home_heals_wherever_its_log_was_torn(
    service: MemoryService, tmp_path: Path, ruleset: Ruleset, moves: int
) -> None:
    alice, key = registered(service, "alice", tmp_path / "alice"), service.random.randbytes(32)
    bobs = []
    for number in range(2):
        bob = LocalPlayer(service, "bob", tmp_path / f"bob{number}")
        create(Home(bob.path), "bob", None, key)
        bob.client.register(URL)
        bobs.append(bob)
    game = begin(alice, bobs[0], ruleset)
    bobs[1].position(game)
    chance = random.Random(moves)
    for _ in range(moves):
        mover = next((each for each in (alice, bobs[0]) if each.position(game).legal), None)
        if mover is None:
            break
        mover.move(game, chance.choice(mover.position(game).legal))
    whole = bobs[1].position(game)
    log = bobs[1].folder(game) / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    copy = tmp_path / "copy"
    for kept in range(6, len(lines), max(1, len(lines) // 12)):
        shutil.copytree(bobs[1].path, copy)
        torn = LocalPlayer(service, "bob", copy)
        (torn.folder(game) / "log.jsonl").write_bytes(b"".join(lines[:kept]) + lines[kept][:40])
        healed = torn.position(game)
        assert (healed.hand, healed.events, healed.legal) == (whole.hand, whole.events, whole.legal), kept
        shutil.rmtree(copy)
