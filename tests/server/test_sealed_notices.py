"""Notices about sealed games: a player whose program owes a card is told so; a release by the service is no news."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server.service.games.notice_rules import TURN_WAIT
from hkoji_server.service.notices.couriers import notice_text

from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.couriers import Told, told
from tests.support.sealed_service import ServedTable
from tests.support.service import two_players

DAYS = Agreement(TimeControl(3 * DAY, 0, 0, 0))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Told]:
    with told(tmp_path / "data") as service:
        yield service


def table_of(service: Told, *, deposit: bool, agreement: Agreement = DAYS) -> ServedTable:
    """A game in which both players have a channel."""
    players = two_players(service.service)
    for player in players:
        service.add(player.name)
    return ServedTable(players, Hanamikoji(), agreement=agreement, deposit=(deposit, deposit))


def until_a_release_is_owed(table: ServedTable, service: Told) -> None:
    while table.course.debtor is None:
        table.go_on()
        if table.course.debtor is None:
            service.deliver(TURN_WAIT)
    service.courier.sent.clear()


def test_a_player_whose_program_owes_a_card_gets_the_notice_of_a_turn_in_other_words(service: Told) -> None:
    table = table_of(service, deposit=False)
    until_a_release_is_owed(table, service)
    assert table.course.debtor is not None
    me, other = (table.players[seat].name for seat in (table.course.debtor, 1 - table.course.debtor))
    assert service.deliver(TURN_WAIT - 1) == []
    assert service.deliver(1) == ["turn"]
    ((channel, notice),) = service.courier.sent
    assert channel == f"of-{me}"
    assert notice_text(notice) == (
        f"{me}: your program owes {other} a card in game {table.game[:8]} (hanamikoji), until {notice.deadline}: "
        "run `hkoji release`, or leave `hkoji watch` running."
    )
    # The reminders too, in the same words.
    assert service.deliver(2 * DAY) == ["remind1"]
    assert "your program owes" in notice_text(service.courier.sent[-1][1])
    # It gives the card: then it is the other player's turn, in the usual words.
    table.go_on()
    service.courier.sent.clear()
    assert service.deliver(TURN_WAIT) == ["turn"]
    ((channel, notice),) = service.courier.sent
    assert channel == f"of-{other}"
    assert "it is your turn" in notice_text(notice)


def test_a_release_within_a_minute_is_told_to_nobody_who_owed_it(service: Told) -> None:
    table = table_of(service, deposit=False)
    until_a_release_is_owed(table, service)
    assert table.course.debtor is not None
    me = table.players[table.course.debtor].name
    table.go_on()
    service.deliver(TURN_WAIT)
    assert [channel for channel, _ in service.courier.sent if channel == f"of-{me}"] == []


def test_a_release_by_the_service_is_no_news(service: Told) -> None:
    table = table_of(service, deposit=True)
    while not (table.lines[-1].entry.kind == "release" and table.lines[-1].entry.by == "server"):
        service.deliver(TURN_WAIT)
        service.courier.sent.clear()
        table.go_on()
    service.deliver(TURN_WAIT)
    # The seat that has answered goes on, and knows it; the giver of the deposit has nothing to do.
    told_of = {channel for channel, _ in service.courier.sent}
    assert told_of <= {f"of-{table.players[table.course.actor or 0].name}"}
    assert all(not notice.release for _, notice in service.courier.sent)


def test_after_a_release_a_gift_that_makes_time_for_a_reminder_brings_one(service: Told) -> None:
    table = table_of(service, deposit=False, agreement=Agreement(TimeControl(DAY, 0, 0, 0)))
    until_a_release_is_owed(table, service)
    table.go_on()
    assert table.course.actor is not None
    giver, other = table.players[1 - table.course.actor], table.players[table.course.actor]
    service.deliver(TURN_WAIT)
    assert "remind1" not in service.courier.events
    assert giver.give(table.game, table.course.head, 5 * DAY).status == 201
    service.courier.sent.clear()
    service.deliver(4 * DAY)
    assert "remind1" not in service.courier.events
    service.deliver(DAY)
    assert [channel for channel, notice in service.courier.sent if notice.event == "remind1"] == [f"of-{other.name}"]
