"""Attacks by timeouts: too early, of games without a clock, in spite of a gift, and never."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, TimeControl
from hkoji.rules.events import Outcome
from tests.support.adversary import (
    head_of,
    lying,
    proven,
)
from tests.support.lying_game import goes_on, staged
from tests.support.memory_service import AT, Game
from tests.support.timed_table import RATED, TimedTable, later, timed_game
from tests.trust.clock_lies import (
    accepted,
    due_of,
    found,
    holds,
    lied_to,
    refuse,
    retimed,
    until_owes,
)

COUNTED_WRONGLY = {
    "no reserve": (RATED, 60),
    "nothing added": (Agreement(TimeControl(0, 60, 60, 120)), 60),
    "rest days": (Agreement(TimeControl(86_400, 0, 0, 0, "6", "+01:00")), 86_400),
    "the zone": (Agreement(TimeControl(36_000, 0, 0, 0, "6", "+12:00")), 36_000),
}


@pytest.mark.parametrize("lie", COUNTED_WRONGLY)
def test_a_timeout_that_counts_wrongly(tmp_path: Path, lie: str) -> None:
    """It is 12:00 on a Friday in UTC."""
    agreement, seconds = COUNTED_WRONGLY[lie]
    table = until_owes(TimedTable(seed=3, agreement=agreement).begin(), 1)
    number, due = len(table.lines), due_of(table)
    assert due > later(AT, seconds)
    table.now = later(due, 1)
    table.time_out()
    for at in (later(AT, seconds + 1), due):
        forged = retimed(table, number, at)
        found(tmp_path / at, table, forged, number, script=at == due)
        reason = f"an entry {number} that does not hold: the timeout is of {at}, and there was time until {due}"
        lied_to(tmp_path / at, table, forged, reason, victims=(1,))


@pytest.mark.parametrize("seat", [0, 1])
def test_a_timeout_without_a_clock(tmp_path: Path, seat: int) -> None:
    """The players have agreed to play without one, or nobody has joined yet; with a clock that runs it is true."""
    free = TimedTable(seed=3, agreement=UNTIMED).begin().play(2)
    waiting = TimedTable(seed=3)
    waiting.open()
    long = later(AT, 10**8)
    for name, table in (("free", free), ("waiting", waiting)):
        number = len(table.lines)
        forged = goes_on(table, number, (entry_kinds.Timeout(seat), "server"), at=long)
        found(tmp_path / name, table, forged, number, script=seat == 0)
        lied_to(tmp_path / name, table, forged, f"entry {number} (of the log does not hold|that does not hold)")
    timed = timed_game(3).play(2)
    timed.now = long
    holds(tmp_path / "true", timed.time_out())
    accepted(tmp_path / "true" / "seats", timed)


@pytest.mark.parametrize("what", ["gift", "outage"])
def test_time_that_is_ignored(tmp_path: Path, what: str) -> None:
    """The log does not show it, so the timeout is true by the log: nobody can be convicted."""
    ignored, honest = timed_game(3).play(2), timed_game(3).play(2)
    due = due_of(ignored)
    for table in (ignored, honest):
        table.now = later(due, 1)
    if what == "gift":
        honest.give(60)
    else:
        honest.lose(-70, -10)
    assert due_of(honest) == later(due, 60)
    honest.play(1)
    assert honest.lines[-1].entry.kind == "credit"
    for name, table in (("ignored", ignored.time_out()), ("honest", honest)):
        holds(tmp_path / name, table)
        accepted(tmp_path / name / "seats", table)


def test_a_friend_who_is_never_timed_out(tmp_path: Path) -> None:
    """A game that stands still convicts nobody; a move that is taken later does."""
    table = until_owes(timed_game(3), 1)
    number, due = len(table.lines), due_of(table)
    service, (alice, *_) = staged(table, tmp_path / "x")
    for seconds, overdue in ((0, False), (120, False), (121, True), (10**6, True)):
        now = later(due, seconds)
        with (
            lying(service, head_of(at=now)),
            patch("hkoji.client.service.utc_now", lambda now=now: now),
            alice.client.game(table.game) as held,
        ):
            position, time = held.look()
        assert (position.course.seq, time.overdue) == (number - 1, overdue)
        assert proven(service, alice, table.game) == set()
    table.now = due
    table.play(1)
    service.games[table.game] = Game(table.refereed, list(table.lines))
    late = retimed(table, number, later(due, 10**6 + 1))
    refuse(service, alice, table.game, late, f"an entry {number} that does not hold: it came at")
    assert proven(service, alice, table.game) == {"server"}
    other = until_owes(timed_game(3), 1)
    other.now = later(due, 121)
    other.time_out()
    told_true, (alice, *_) = staged(other, tmp_path / "true")
    assert alice.position(other.game).course.outcome == Outcome("timeout", 0)
    assert proven(told_true, alice, other.game) == set()
