"""The grades of seats in lists of games: what an append writes, what an earlier database gets, what is answered."""

from __future__ import annotations

import pytest
from hkoji_server.service.games.loaded_games import append_of, hold
from hkoji_server.store.game_values import Append

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.log.canonical import encode
from hkoji.log.mail_claim import MailGrade
from tests.support.games_by_mail import games_by_mail, with_a_gift
from tests.support.table import Table, held_game


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
