"""Games in which the service has signed for players, for mails of several grades, and what lists say of each."""

from __future__ import annotations

from hkoji.game.agreement import Agreement
from hkoji.log.mail_claim import MailGrade
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.table import Table, held_game, new_game
from tests.support.timed_table import MINUTES, TimedTable


def with_a_gift(seed: int) -> TimedTable:
    """Bob answers by mail, with DKIM; only his gift of time, which waits to be counted, came without."""
    table = TimedTable(Hanamikoji(), seed, agreement=Agreement(MINUTES), held=(1,), grade=MailGrade.DKIM).begin()
    while table.course.actor == 1:
        table.play(1)
    table.grade = MailGrade.TOKEN
    table.give(60)
    table.grade = MailGrade.DKIM
    return table


def games_by_mail() -> list[tuple[Table, str]]:
    """The games, each with the canonical text of its grades."""
    return [
        (new_game(70), "{}"),
        (held_game(71).play(4), '{"bob":"word"}'),
        (held_game(72, held=(0, 1), grade=MailGrade.DKIM).play(3), '{"alice":"claimed","bob":"claimed"}'),
        (with_a_gift(73), '{"bob":"claimed"}'),
        (with_a_gift(73).play(1), '{"bob":"word"}'),
        (with_a_gift(73).call_off(), '{"bob":"word"}'),
    ]
