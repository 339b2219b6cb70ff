"""Whether letters arrive is said to the two players of a game, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hkoji.cli.games.by_mail import letter_lines
from hkoji.client.answers import LetterState
from tests.mail.test_mail_orders import Table
from tests.support.mail.list_world import list_world
from tests.support.service import Player

SINCE = "2026-12-03T08:00:00Z"


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        yield Table(world)


def letters(table: Table, token: str | None) -> tuple[int, object]:
    answer = table.world.service.ask("GET", f"/v1/games/{table.game}/letters", token=token)
    return answer.status, answer.json.get("letters")


def test_a_player_sees_that_letters_to_the_other_one_do_not_arrive(table: Table) -> None:
    world = table.world
    eve = Player(world.service, "eve").register()
    assert letters(table, table.alice.token) == (200, [])
    world.run(world.store.change_mailbox(replace(world.box("bob"), paused=SINCE)))
    said = {"name": "bob", "since": SINCE, "why": "not arriving"}
    assert letters(table, table.alice.token) == (200, [said])
    assert letters(table, eve.token)[0] == 403
    assert letters(table, None)[0] == 401
    # Any mail of the player ends that.
    assert table.send("help") == "help"
    assert letters(table, table.alice.token) == (200, [])


def test_a_player_sees_that_the_other_one_has_written_not_me(table: Table) -> None:
    table.send("not me")
    status, found = letters(table, table.alice.token)
    assert (status, found) == (200, [{"name": "bob", "since": table.world.box("bob").since, "why": "locked"}])


def test_a_player_who_has_stopped_letters_is_not_given_away(table: Table) -> None:
    table.send("stop")
    assert letters(table, table.alice.token) == (200, [])


def test_the_board_has_a_line_for_it() -> None:
    first, second = letter_lines([LetterState("bob", SINCE, False), LetterState("carol", SINCE, True)])
    assert first.startswith("mail of bob: not arriving since ")
    assert second.startswith("mail of carol: locked since ")
