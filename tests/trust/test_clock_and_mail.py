"""A raw mail that waits to be processed: until it is, nothing is said about the time after it.

`ServiceTime` asks the store for the oldest mail that waits; here a test answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.log.game_statements import HeadStatement, read_signed_head
from tests.support.service import Player
from tests.support.service_in_process import Inside, inside
from tests.support.time_by_hand import TimeByHand, time_by_hand
from tests.support.timed_games import HOUR, NEVER_OUT, kinds, timed, verify
from tests.support.timed_table import later

START = "2026-11-20T12:00:00Z"
MINUTE = 60


@contextmanager
def service_with_mail(folder: Path, waiting: list[str]) -> Iterator[tuple[Inside, TimeByHand]]:
    """A service whose keeper looks when it is told to.

    `waiting` are the times at which mails came that are not processed yet.
    """

    async def oldest(_: SqliteStore) -> str | None:
        return min(waiting, default=None)

    with (
        patch.object(SqliteStore, "oldest_unprocessed_mail", oldest),
        time_by_hand() as by_hand,
        inside(folder, outage_after=NEVER_OUT) as service,
    ):
        yield service, by_hand


def let_keeper_look(service: Inside, by_hand: TimeByHand) -> None:
    service.runner.run(by_hand.keeper.look())


def head_of(service: Inside, game: str) -> HeadStatement:
    answer = service.ask("GET", f"/v1/games/{game}/head")
    assert answer.status == 200
    return read_signed_head(answer.json).statement


@pytest.mark.parametrize("mails", [0, 1, 2])
def test_a_mail_that_waits_holds_back_timeouts_and_heads(tmp_path: Path, mails: int) -> None:
    """It came a minute before the deadline and waits for ten minutes. Without it the timeout comes after the slack."""
    waiting: list[str] = []
    with service_with_mail(tmp_path / "data", waiting) as (service, by_hand):
        players = Player(service, "alice").register(), Player(service, "bob").register()
        game, mover, _ = timed(players)
        service.clock.pass_by(HOUR - MINUTE)
        came = later(START, HOUR - MINUTE)
        waiting += [later(came, 200 * number) for number in range(mails)]
        for minute in range(1, 11):
            service.clock.pass_by(MINUTE)
            now = later(came, minute * MINUTE)
            let_keeper_look(service, by_hand)
            ended = kinds(mover, game)[-1] == "end"
            head = head_of(service, game)
            if mails:
                assert not ended
                assert head.at == later(came, -1)
            else:
                assert ended == (minute * MINUTE > MINUTE + 120)
                assert head.at == now
        if mails == 2:  # the other one came after the deadline, and says nothing about the time before it
            waiting.remove(came)
            service.clock.pass_by(2)
            let_keeper_look(service, by_hand)
            assert head_of(service, game).at == later(came, 199)
            assert kinds(mover, game)[-2:] == ["timeout", "end"]
        waiting.clear()
        service.clock.pass_by(11)
        let_keeper_look(service, by_hand)
        assert kinds(mover, game)[-2:] == ["timeout", "end"]
        assert mover.lines(game)[-1].entry.at > later(START, HOUR + 120)
        assert head_of(service, game).at == later(came, 611 + (2 if mails == 2 else 0))
        verify(mover, game)
