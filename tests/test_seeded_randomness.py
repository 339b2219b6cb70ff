"""Everything in this process that draws randomness draws it from the test's own seed."""

from __future__ import annotations

import secrets
from inspect import signature
from pathlib import Path

import pytest
from hkoji_server.service.time.service_time import ClockAndEntropy

from hkoji.client import Client
from hkoji.local.local_games import LocalGames
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import chance
from tests.support.service import Player


def drawn(name: str) -> tuple[object, ...]:
    before = chance.begin(name)
    found = (secrets.token_bytes(5), secrets.token_hex(5), secrets.randbits(48))
    chance.go_on(before)
    return found


def test_the_product_draws_from_the_tests_source() -> None:
    for kind in (Client, LocalGames):
        assert signature(kind).parameters["entropy"].default is chance.token_bytes
    assert ClockAndEntropy().entropy is chance.token_bytes


def test_a_game_at_home_is_dealt_the_same_again(tmp_path: Path) -> None:
    seen = []
    for folder in ("one", "two"):
        before = chance.begin("the same")
        local_games = LocalGames(tmp_path / folder)
        seats = local_games.begin(Hanamikoji(), "random")
        log = local_games.log_file(seats.game).read_bytes()
        seen.append((seats, local_games.player.identity.key, Player(None, "bob").key.public, log))  # type: ignore[arg-type] # asks nothing
        chance.go_on(before)
    assert seen[0] == seen[1]


def test_another_seed_for_all_tests_is_another_course(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = drawn("a test")
    monkeypatch.setenv(chance.ENVIRONMENT, "another than whoever runs the tests has chosen")
    assert drawn("a test") != usual
