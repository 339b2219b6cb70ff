"""Measures `hkoji stats`: games a second, against reading their lines alone."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hkoji.cli.study.stats import read_games
from hkoji.log.line import parse_log
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from scripts.bench.page import record_speed
from scripts.bench.timing import report, speeds
from tests.support.table import whole_game

_GAMES = 200


def run() -> None:
    """Prints games a second of both games, in one process and in two."""
    rulesets: tuple[Ruleset, ...] = (Hanamikoji(), GeishasRoad())
    for ruleset in rulesets:
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, f"{seed}.jsonl") for seed in range(_GAMES)]
            for seed, file in enumerate(files):
                file.write_text(whole_game(seed, ruleset).text)
            _compare(ruleset.name, folder, files)


def _compare(name: str, folder: str, files: list[Path]) -> None:
    contenders = {
        "lines read, games": lambda: sum(bool(parse_log(file.read_bytes())) for file in files),
        "counted, games": lambda: sum(1 for _ in read_games([folder])),
        "counted by two processes, games": lambda: sum(1 for _ in read_games([folder], 2)),
    }
    found = speeds(contenders, rounds=5)
    report(f"Statistics of {name}", "/s", found, "lines read, games")
    title = "Hanamikoji" if name == "hanamikoji" else "Geisha's Road"
    record_speed(f"`hkoji stats`, games of {title} a second", found, "counted, games", "lines read, games")
