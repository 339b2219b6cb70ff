"""The service removes offers that nobody has opened in time; nothing else that anybody could want."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from hkoji_server import admin
from hkoji_server.service.games import keeper

from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from tests.support.service import Player, offer_of
from tests.support.service_in_process import Clock, inside
from tests.support.tidied import let_it_tidy

DAY = 86_400


def offered(player: Player) -> str:
    answer = player.service.ask("POST", "/v1/offers", offer_of(), player.token)
    assert answer.status == 201
    return str(answer.json["game"])


def opened(player: Player, game: str, head: tuple[int, str]) -> int:
    """The status of the answer to an opening."""
    content = entry_kinds.Open(entropy_commit(game, 0, player.entropy), player.key.public, None)
    return player.send(player.entry(game, head, content)).status


def test_an_offer_that_was_not_opened_is_gone_after_a_day_and_opening_it_finds_no_game(tmp_path: Path) -> None:
    with patch.object(keeper, "TIDY_PACE", 0.05), inside(tmp_path / "data") as service:
        alice = Player(service, "alice").register()
        game, forgotten = alice.new(), [offered(alice) for _ in range(3)]
        heads = {each: alice.head(each) for each in forgotten}
        service.clock.pass_by(DAY - 60)
        late = offered(alice)
        let_it_tidy(service)
        for each in forgotten:
            assert service.ask("GET", f"/v1/games/{each}/log").status == 200
        assert opened(alice, forgotten[0], heads[forgotten[0]]) == 201
        service.clock.pass_by(120)
        let_it_tidy(service)
        for each in forgotten[1:]:
            for path in ("", "/log", "/view", "/events?wait=0"):
                assert service.ask("GET", f"/v1/games/{each}{path}", token=alice.login().token).status == 404, path
            for _ in range(2):  # this process has had the game in memory
                assert opened(alice, each, heads[each]) == 404
        for each in (game, forgotten[0], late):
            assert service.ask("GET", f"/v1/games/{each}/log").status == 200
        assert opened(alice, late, alice.head(late)) == 201
    tally = admin.check(tmp_path / "data")
    assert (tally.games, tally.faults) == (3, ())


def test_the_lifetime_of_offers_is_a_setting(tmp_path: Path) -> None:
    with patch.object(keeper, "TIDY_PACE", 0.05), inside(tmp_path / "data", offer_lifetime=60) as service:
        alice = Player(service, "alice").register()
        game = offered(alice)
        service.clock.pass_by(70)
        let_it_tidy(service)
        assert service.ask("GET", f"/v1/games/{game}/log").status == 404


def test_the_operator_removes_many_in_steps_and_is_told_how_many(tmp_path: Path) -> None:
    with inside(tmp_path / "data", clock=Clock(Clock().now - timedelta(days=30))) as service:
        alice = Player(service, "alice").register()
        for _ in range(11):
            offered(alice)
        service.ask("POST", "/v1/login/challenge")
        game = alice.new()
    with patch.object(keeper, "_MOST_REMOVED", 4):
        removed = admin.tidy(tmp_path / "data")
    assert removed == {"offers": 11, "logins": 1, "challenges": 1, "codes": 0, "statements": 0, "notices": 0}
    assert admin.tidy(tmp_path / "data") == dict.fromkeys(removed, 0)
    assert admin.stats(tmp_path / "data")["games"] == {"total": 1, "open": 1}
    with inside(tmp_path / "data") as service:
        assert service.ask("GET", f"/v1/games/{game}/log").status == 200
