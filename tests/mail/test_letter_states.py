"""Both players see whose letters do not arrive, and not who has stopped them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mail.test_mail_orders import Table
from tests.support.mail.list_world import list_world
from tests.support.mail.post_office import letters

SINCE = "2026-12-03T08:00:00Z"


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        yield Table(world)


def silent(table: Table) -> object:
    return table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["silent"]


def test_a_mailbox_that_takes_no_letters_is_shown_until_the_next_mail_of_its_owner(table: Table) -> None:
    world = table.world
    assert silent(table) == {}
    world.run(world.store.change_mailbox(replace(world.box("bob"), paused=SINCE)))
    assert silent(table) == {"bob": SINCE}
    assert table.send("help") == "help"
    assert silent(table) == {}


def test_a_player_who_has_written_not_me_is_shown_until_yes(table: Table) -> None:
    table.send("not me")
    assert silent(table) == {"bob": table.world.box("bob").since}
    table.answers()
    table.send("yes", to=letters(table.bob.mailbox)[-1].answered_to)
    assert silent(table) == {}


def test_a_player_who_has_stopped_letters_is_not_given_away(table: Table) -> None:
    table.send("stop")
    assert silent(table) == {}
