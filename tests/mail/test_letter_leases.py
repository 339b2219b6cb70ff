"""A letter is one write transaction before it is sent and one after it, also if its process dies between them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.mail.tokens import LetterPlan
from hkoji_server.service.notices.couriers import Notice
from hkoji_server.service.notices.delivery import LEASE
from hkoji_server.store.sqlite.writer import SqliteWriter

from tests.support.mail.fragile_store import KilledError
from tests.support.mail.list_world import ListCourier, ListWorld, unread
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter


def counted(world: ListWorld) -> int:
    """How many letters count for their days."""
    with closing(sqlite3.connect(world.service.data / "hkoji.sqlite3")) as database:
        return int(database.execute("select coalesce(sum(letters), 0) from letter_count").fetchone()[0])


@pytest.mark.parametrize("taken", [False, True], ids=["before the mail server has it", "after that"])
def test_a_letter_whose_process_dies_comes_once_more_and_is_the_same(table: MailTable, *, taken: bool) -> None:
    world, send = table.world, ListCourier._send
    planned: list[LetterPlan] = []

    async def killed(courier: ListCourier, notice: Notice, plan: LetterPlan) -> None:
        planned.append(plan)
        if taken:
            await send(courier, notice, plan)
        raise KilledError

    before = counted(world)
    table.send("show")
    with patch.object(ListCourier, "_send", killed), pytest.raises(KilledError):
        world.deliver(1)
    world.restart(world.store)
    world.deliver(LEASE - 2)
    assert len(unread(table.bob)) == taken
    world.deliver(2)
    world.deliver(LEASE)
    letters = [Letter(raw) for raw in table.bob.mailbox.received()[-1 - taken :]]
    (lost,) = planned
    for letter in letters:
        assert letter.id == lost.headers.message_id
        assert letter.answered_to == lost.headers.reply_to
        assert letter.field("Date") == letters[0].field("Date")
    assert len(unread(table.bob)) == 1
    assert counted(world) == before + 1


def test_a_letter_is_two_write_transactions(table: MailTable) -> None:
    begun: list[int] = []
    begin_transaction = SqliteWriter._begin_transaction

    def noted(writer: SqliteWriter, connection: Any) -> None:  # Any: as in the original
        begun.append(len(table.world.mailbox("bob@example.org").letters))
        begin_transaction(writer, connection)

    for line in ("show", table.line):
        table.send(line)
        letters = len(table.world.mailbox("bob@example.org").letters)
        with patch.object(SqliteWriter, "_begin_transaction", noted):
            table.world.deliver(0)
        assert begun == [letters, letters + 1]
        begun.clear()
