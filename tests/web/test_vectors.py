"""The modules of pages read all vectors of the log format as docs/spec/log.md says, in each engine.

A second look at a log gives the same as the first, although it verifies no signature again. Sealed games are no part
of these: pages say that they do not understand their dealer.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hkoji.log.public_key import PublicKey, parse_public_key
from tests.support.browsers import BrowserName
from tests.support.clock_games import clock_games
from tests.support.curve import ORDER, decode_point, times
from tests.support.page_modules import ENGINES, run_module
from tests.support.vectors import expected_keys, games

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
READ = ("entry", "head", "line", "login", "receipt", "view")
"""The forms of texts that pages read; all others they only write."""
NAMED = ("keys", "canonical", "signatures", "entries", "commitments", "logs")


def texts(keys: tuple[PublicKey, ...]) -> list[str]:
    return [key.text for key in keys]


def in_main_group(key: str) -> bool:
    """Whether a key is a point of the group of prime order, as each key is that an honest program makes."""
    return times(ORDER, decode_point(parse_public_key(key).raw)) == (0, 1)


@cache
def vectors() -> dict[str, Any]:  # Any: JSON
    found = {name: json.loads((VECTORS / f"{name}.json").read_text()) for name in NAMED}
    for key, rows in found["entries"].items():
        found["entries"][key] = [row for row in rows if row["form"] in READ]
    found["games"] = [
        {
            "log": (VECTORS / "games" / name).read_text(),
            "keys": {player: texts(keys) for player, keys in expected_keys(each).items()},
            "entries": each["entries"],
            "head": each["head"],
        }
        for name, each in games(sealed=False).items()
    ]
    names = ("move", "bank", "add", "cap")
    found["clocks"] = [
        {
            "control": {**dict(zip(names, game.numbers, strict=True)), "rest": game.rest, "zone": game.zone},
            "entries": [entry._asdict() for entry in game.entries],
        }
        for game in clock_games()
    ]
    return found


@cache
def counts() -> dict[str, int]:
    """How many vectors of each sort there are."""
    found = vectors()
    lists = {name: [len(rows) for rows in found[name].values() if isinstance(rows, list)] for name in NAMED}
    lists["keys"].pop()  # the codes that are none: reading a link is not for these modules
    sums = {name: sum(lengths) for name, lengths in lists.items()}
    return {**sums, "games": len(found["games"]), "clocks": sum(len(game["entries"]) for game in found["clocks"])}


# WebKitGTK's library (libgcrypt) multiplies the key by the whole hash, all others by the hash modulo the order of the
# group. So it refuses a true signature by a key that has a part of small order. No honest program makes such a key.
REFUSED_BY_WEBKIT = [
    f"signatures {number}"
    for number, claim in enumerate(vectors()["signatures"]["signatures"])
    if claim["verifies"] and not in_main_group(claim["key"])
]


@pytest.mark.parametrize("engine", ENGINES)
def test_all_vectors(engine: BrowserName, request: pytest.FixtureRequest) -> None:
    goto = None
    if engine != "node":
        goto = request.getfixturevalue("shared_phone" if engine == "chromium" else engine).goto
    found = run_module(engine, "vectors.js", vectors(), goto)
    assert found == {"counts": counts(), "wrong": REFUSED_BY_WEBKIT if engine == "webkit" else []}
    assert min(found["counts"].values()) > 10
