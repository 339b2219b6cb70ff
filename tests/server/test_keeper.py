"""The keeper waits for the slack of the deadline that counts when it ends a game, not of the one it has seen before."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from hkoji_server.store.contract import Store

from tests.support.service import begin, two_players
from tests.support.timed_games import AN_HOUR, HOUR, SLACK, inside_with_keeper, kinds, let_keepers_look, log_of


def test_a_deadline_that_was_moved_since_the_look_has_its_slack(tmp_path: Path) -> None:
    with inside_with_keeper(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        before = log_of(players[0], game)
        service.clock.pass_by(HOUR + 5)

        async def seen(*_: object) -> tuple[str, ...]:
            return (game,)  # as when another process moved the deadline on after the look, for an outage

        with patch.object(Store, "overdue", seen):
            let_keepers_look(service)
        assert log_of(players[0], game) == before
        service.clock.pass_by(SLACK)
        let_keepers_look(service)
        assert kinds(players[0], game)[-2:] == ["timeout", "end"]
