"""A raw mail that waits to be processed: until it is, nothing is said about the time after it.

No gateway exists yet. `ServiceTime` asks for the oldest mail that waits; here a test answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server import app
from hkoji_server.service import keeper
from hkoji_server.service.service_time import ServiceTime

from hkoji.log.game_statements import HeadStatement, read_signed_head
from tests.support.service import Player
from tests.support.service_in_process import Inside, inside
from tests.support.timed_games import HOUR, NEVER_OUT, kinds, let_keepers_look, timed, verify
from tests.support.timed_table import later

START = "2026-11-20T12:00:00Z"
MINUTE = 60


@contextmanager
def service_with_mail(folder: Path, waiting: list[str]) -> Iterator[Inside]:
    """A service; `waiting` are the times at which mails came that are not processed yet."""

    async def oldest() -> str | None:
        return min(waiting, default=None)

    with (
        patch.object(keeper, "PACE", 0.02),
        patch.object(app, "ServiceTime", partial(ServiceTime, unprocessed=oldest)),
        inside(folder, outage_after=NEVER_OUT) as service,
    ):
        yield service


def head_of(service: Inside, game: str) -> HeadStatement:
    answer = service.ask("GET", f"/v1/games/{game}/head")
    assert answer.status == 200
    return read_signed_head(answer.json).statement


@pytest.mark.parametrize("mails", [0, 1, 2])
def test_a_mail_that_waits_holds_back_timeouts_and_heads(tmp_path: Path, mails: int) -> None:
    """It came a minute before the deadline and waits for ten minutes. Without it the timeout comes after the slack."""
    waiting: list[str] = []
    with service_with_mail(tmp_path / "data", waiting) as service:
        players = Player(service, "alice").register(), Player(service, "bob").register()
        game, mover, _ = timed(players)
        service.clock.pass_by(HOUR - MINUTE)
        came = later(START, HOUR - MINUTE)
        waiting += [later(came, 200 * number) for number in range(mails)]
        for minute in range(1, 11):
            service.clock.pass_by(MINUTE)
            now = later(came, minute * MINUTE)
            let_keepers_look(service)
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
            let_keepers_look(service)
            assert head_of(service, game).at == later(came, 199)
            assert kinds(mover, game)[-2:] == ["timeout", "end"]
        waiting.clear()
        service.clock.pass_by(11)
        let_keepers_look(service)
        assert kinds(mover, game)[-2:] == ["timeout", "end"]
        assert mover.lines(game)[-1].entry.at > later(START, HOUR + 120)
        assert head_of(service, game).at == later(came, 611 + (2 if mails == 2 else 0))
        verify(mover, game)
