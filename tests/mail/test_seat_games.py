"""The game of a player whose client is the service: the same as their own client would replay."""

from __future__ import annotations

import pytest
from hkoji_server.service.games.loaded_games import hold
from hkoji_server.service.mail.seat_games import SeatTurn, knowledge_of

from hkoji import referee
from hkoji.game.replay import replay, replay_own
from hkoji.mail.tokens import place_of
from hkoji.rules.events import SEATS
from hkoji.rules.registry import RULESETS
from tests.support.table import Table, new_game


def turn_of(table: Table, seat: int) -> SeatTurn:
    place = place_of([line.entry for line in table.lines])
    assert place is not None
    lines, name = tuple(table.lines), table.names[seat]
    return SeatTurn(name, hold(table.refereed, None), table.course, lines, seat, place, signs=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RULESETS)
def test_a_seat_sees_the_same_as_its_own_client_at_each_entry(name: str, seed: int) -> None:
    table = new_game(seed, RULESETS[name]())
    moves = 0
    while True:
        for seat in SEATS:
            view = referee.view(table.refereed, seat)
            theirs = replay_own(table.lines, seat, view, referee.own_openings(table.refereed, seat))
            ours = replay(table.lines, knowledge_of(turn_of(table, seat)))
            assert ours.stop is None
            assert ours.steps == theirs.steps, (moves, seat)
            other = replay(table.lines, knowledge_of(turn_of(table, 1 - seat)))
            assert table.course.finished or other.course != ours.course
        if table.course.finished:
            break
        table.play(1)
        moves += 1
    assert moves > 5
