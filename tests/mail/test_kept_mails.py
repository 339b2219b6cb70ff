"""Mails are kept as evidence for what is on record, or may come on record. A refused mail leaves nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hkoji.mail.claimed_mails import claimed_mails
from tests.mail.test_mail_gifts import first, gifts
from tests.support.mail.list_world import list_world, unread
from tests.support.mail.mail_table import MailTable
from tests.support.mail.reading import command_address
from tests.support.service_in_process import Clock

__all__ = ["first"]  # a fixture


@pytest.fixture
def table(first: MailTable, tmp_path: Path) -> Iterator[MailTable]:
    copied = shutil.copytree(first.world.service.data, tmp_path / "data")
    with list_world(copied, seed="later", clock=Clock(first.world.clock.now), mail="play@hkoji.example") as world:
        yield first.in_world(world)


def kept(table: MailTable) -> set[str]:
    """The mails that are kept for the game of bob's, by their commitments."""
    return {each.commit for each in table.world.run(table.world.store.evidence(table.game, "bob"))}


def in_log(table: MailTable) -> set[str]:
    return {each.commit for each in claimed_mails(table.alice.lines(table.game))}


@pytest.mark.parametrize("order", ["give 2d", "cancel"])
def test_an_order_that_is_refused_leaves_nothing(table: MailTable, order: str) -> None:
    table.move()
    table.world.deliver(61)
    letter = unread(table.bob)[-1]
    before, head = kept(table), table.head()
    for _ in range(3):
        assert table.send(order, to=letter.answered_to) == "not done"
    assert (kept(table), table.head()) == (before, head)
    assert before == in_log(table)


def test_time_that_cannot_be_given_any_more_leaves_nothing(table: MailTable) -> None:
    before = kept(table)
    table.world.clock.pass_by(40 * 86_400)
    assert table.send("give 2d") == "not done"
    assert kept(table) == before


def test_of_gifts_for_one_entry_the_one_that_counts_is_kept(table: MailTable) -> None:
    before = kept(table)
    for words in ("give 1d", "give 2d", "give 3d", "give 3d", "give 1d"):
        assert table.send(words) == "gave"
    (gift,) = gifts(table)
    assert gift["seconds"] == 3 * 86_400
    assert len(kept(table)) == len(before) + 1
    # It is the one with which the log is proved, and is kept with it.
    table.world.clock.pass_by(3600)
    table.move()
    assert any(line.entry.kind == "credit" for line in table.alice.lines(table.game))
    assert in_log(table) == kept(table)
    assert len(in_log(table)) == len(before) + 1


def test_a_wish_to_call_off_is_kept_once(table: MailTable) -> None:
    before = kept(table)
    for _ in range(3):
        table.send("call off")
        (asked,) = table.answers()
        assert table.send("call off", to=asked.answered_to) == "called off"
        table.answers()
    assert len(kept(table)) == len(before) + 1


@pytest.mark.parametrize("words", ["carol carol@example.com", "alice alice@example.com"])
def test_a_new_game_that_is_refused_leaves_nothing(table: MailTable, words: str) -> None:
    """Carol's invitation is used for the first game, and alice takes no more games of bob's."""
    world, bob = table.world, table.bob
    bob.answer(table.letter, "new address")
    (letter,) = table.answers()
    bob.write(command_address(letter), "a game", f"new hanamikoji {words}")
    assert table.result()["answer"] == "on record"
    before = in_tables(table)
    world.run(world.store.add_block("alice", "bob"))
    for _ in range(2):
        bob.write(command_address(letter), "a game", f"new hanamikoji {words}")
        assert table.result()["answer"] == "not done"
    assert in_tables(table) == before


def in_tables(table: MailTable) -> list[set[tuple[str, ...]]]:
    """All mails and entropy that are kept, whatever their game."""
    with closing(sqlite3.connect(table.world.service.data / "hkoji.sqlite3")) as database:
        statements = ("SELECT game, name FROM held_entropy", 'SELECT game, "commit" FROM evidence')
        return [set(database.execute(each)) for each in statements]
