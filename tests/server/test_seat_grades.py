"""Seats of a game that mail has changed: grades in lists, and keys that the service may sign with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hkoji_server.service.games.loaded_games import append_of, hold
from hkoji_server.store.game_values import Append

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.game.held_keys import certify
from hkoji.log.canonical import encode
from hkoji.log.mail_claim import MailGrade
from hkoji.log.private_key import PrivateKey
from tests.support.games_by_mail import games_by_mail, with_a_gift
from tests.support.service import begin, two_players
from tests.support.service_in_process import inside
from tests.support.table import Table, held_game
from tests.support.timed_games import AN_HOUR, log_of, owing, refused, verify


def appended(table: Table, before: referee.RefereedGame, lines: int) -> Append:
    """The columns written for the entries of a game behind the first `lines`."""
    return append_of(hold(before, None), referee.Accepted(tuple(table.lines[lines:]), table.refereed), ())[0]


def step(table: Table) -> Append:
    """The columns written for the next move of a game."""
    before, lines = table.refereed, len(table.lines)
    table.play(1)
    return appended(table, before, lines)


def test_a_move_writes_the_grades_only_if_they_become_weaker() -> None:
    table = held_game(61, grade=MailGrade.DKIM)
    written = []
    for grade in (MailGrade.DKIM, MailGrade.TOKEN, MailGrade.DKIM):
        table.grade = grade
        for _ in range(6):
            actor, append = table.course.actor, step(table)
            written.append((append.outline, append.summary.by_mail, actor))
    weak = next(number for number, each in enumerate(written) if each[1] == '{"bob":"word"}')
    assert written[weak][::2] == (True, 1)
    assert weak >= 6
    assert {each[:2] for each in written[:weak]} == {(False, '{"bob":"claimed"}')}
    assert {each[:2] for each in written[weak + 1 :]} == {(False, '{"bob":"word"}')}


def test_a_move_of_an_own_key_that_lets_mail_decide_changes_the_grade_at_the_first_mail() -> None:
    table = Table(seed=62).begin()
    assert table.course.actor is not None
    seat = table.course.actor
    before, lines = table.refereed, len(table.lines)
    table.delegate(seat, MailGrade.TOKEN)
    append = appended(table, before, lines)
    assert (append.outline, append.summary.by_mail) == (False, "{}")
    before, lines = table.refereed, len(table.lines)
    table.send(table.by_mail(seat, entry_kinds.Resign()))
    append = appended(table, before, lines)
    assert (append.outline, append.summary.by_mail) == (True, encode({table.names[seat]: "word"}))


@pytest.mark.parametrize("end", ["play", "call off"])
def test_a_gift_of_time_that_came_without_dkim_makes_the_grade_weaker_once_it_is_in_the_log(end: str) -> None:
    table = with_a_gift(63)
    before, lines = table.refereed, len(table.lines)
    assert table.course.setup.by_mail == {"bob": "claimed"}
    table.play(1) if end == "play" else table.call_off()
    append = appended(table, before, lines)
    assert (append.outline, append.summary.by_mail) == (True, '{"bob":"word"}')


def test_the_grades_of_games() -> None:
    for table, grades in games_by_mail():
        assert encode({name: grade.value for name, grade in table.course.setup.by_mail.items()}) == grades


# --- keys that the service may sign with ------------------------------------------------------------------------------


HELD = PrivateKey.from_seed(b"\x08" * 32)


@pytest.mark.parametrize("origin", ["http://inside", "https://moved.example"])
def test_a_certificate_that_the_service_does_not_act_on_is_no_delegation(tmp_path: Path, origin: str) -> None:
    """A certificate is signed for ever: here of a key that the service has lost, or of its earlier origin."""
    with inside(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        mover, before = owing(players, game), log_of(players[0], game)
        with closing(sqlite3.connect(tmp_path / "data" / "hkoji.sqlite3")) as base:
            (private,) = base.execute("SELECT private_key FROM service").fetchone()
        key = PrivateKey.from_openssh(private if isinstance(private, bytes) else private.encode())
        gateway = certify(
            key, address="ab" * 32, at="2026-11-20T12:00:00Z", key=HELD.public, name=mover.name, origin=origin
        )
        course = mover.course(game)
        entry = mover.entry(game, (course.seq, course.head), Delegate(gateway, MailGrade.TOKEN))
        refused(mover.send(entry), 422, "illegal")
        assert log_of(mover, game) == before
        verify(mover, game)
