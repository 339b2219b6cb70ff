"""Makes the complete games among the test vectors: tests/data/vectors/games/. `--check` compares.

Two seeded players and the referee play them in memory, so every run makes the same bytes. Other implementations can
audit, replay and re-deal them; `games.json` has the expected results.
"""

from __future__ import annotations

import json
from pathlib import Path

from hkoji.game import entry_kinds
from hkoji.game.replay import replay
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.transcript import format_rounds
from scripts.build.golden import main
from tests.support.forgery import every_pin
from tests.support.table import Table, new_game

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "vectors" / "games"
DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
"""Deal id and seed of the duplicate tables."""


def tables() -> dict[str, Table]:
    """The games, by file name."""
    resigned = new_game(3, Hanamikoji(first="guest")).play(7)
    resigned.send(resigned.entry(1, entry_kinds.Resign()))
    road_resigned = new_game(10, GeishasRoad("guest")).play(17)
    road_resigned.send(road_resigned.entry(0, entry_kinds.Resign()))
    return {
        "whole.jsonl": new_game(1).play(),
        "random-first-limit.jsonl": new_game(2, Hanamikoji("random", 2, "charm")).play(),
        "resigned.jsonl": resigned,
        "running.jsonl": new_game(4).play(9),
        "duplicate-a.jsonl": new_game(5, Hanamikoji("random"), DEAL).play().unseal(),
        "duplicate-b.jsonl": new_game(6, Hanamikoji("random"), DEAL).play().unseal(),
        "sealed.jsonl": new_game(7, GeishasRoad("random", "random"), DEAL).play(),
        "road.jsonl": new_game(17, GeishasRoad()).play(),
        "road-random.jsonl": new_game(35, GeishasRoad("random", "random")).play(),
        "road-resigned.jsonl": road_resigned,
        **rekeyed_tables(),
        "road-running.jsonl": new_game(11, GeishasRoad(starting_markers="random")).play(9),
    }


def rekeyed_tables() -> dict[str, Table]:
    """Games in which keys change: by the players' own signatures, and for lost keys by the service's."""
    rekeyed = new_game(21)
    road_rekeyed = new_game(22, GeishasRoad("random", "random"))
    for table in (rekeyed, road_rekeyed):
        for _ in range(3):
            table.rekey(table.course.actor or 0)
            table.play(3)
        table.play()
    revoked = new_game(23, Hanamikoji(first="guest")).play(2)
    revoked.revoke(revoked.course.actor or 0, signed=True)
    revoked.play(4).rekey(revoked.course.actor or 0)
    road_revoked = new_game(24, GeishasRoad()).play(5)
    road_revoked.revoke(road_revoked.course.actor or 0)
    return {
        "rekeyed.jsonl": rekeyed,
        "revoked.jsonl": revoked.play(),
        "road-rekeyed.jsonl": road_rekeyed,
        "road-revoked-running.jsonl": road_revoked.play(6),
    }


def build() -> dict[str, str]:
    """The files' texts, by name."""
    files: dict[str, str] = {}
    facts: dict[str, dict[str, object]] = {}
    for name, table in tables().items():
        files[name] = table.text
        result = replay(table.lines)
        course = result.course
        assert course is not None
        outcome = course.outcome
        facts[name] = {
            "entries": len(table.lines),
            "head": course.head,
            "keys": {name: keys[0].text for name, keys in every_pin(table).items()},
            "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
            "rounds": list(format_rounds(table.ruleset, result.events)),
            "status": course.status,
        }
        later = {who: [key.text for key in keys[1:]] for who, keys in every_pin(table).items() if keys[1:]}
        facts[name].update({"later_keys": later} if later else {})
    files["games.json"] = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    return files


if __name__ == "__main__":
    main("games", FOLDER, build)
