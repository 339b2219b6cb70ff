"""Gifts and wishes to call off in two mail processes: each counts once, and its mail is kept as long as it counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.store.contract import Store

from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul
from hkoji.log.private_key import PrivateKey
from hkoji.mail.claimed_mails import claimed_mails
from tests.mail.test_mail_gifts import gifts
from tests.mail.test_own_key import asked
from tests.mail.test_two_mail_processes import InterruptedStore
from tests.support.mail.list_world import ListWorld, list_world
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter
from tests.support.rows import a_player

OWN = PrivateKey.from_seed(b"\x61" * 32)


def idle_table(world: ListWorld) -> MailTable:
    """A table at which alice owes the next entry."""
    table = MailTable(world)
    table.finish_turn()
    return table


def wishes(table: MailTable) -> list[str]:
    found: list[str] = table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["annul"]
    return found


def verify_kept(table: MailTable) -> None:
    """The mails that are kept are those that the log or a statement names."""
    store, run = table.world.store, table.world.run
    named = {each.commit for each in claimed_mails(table.alice.lines(table.game))}
    named |= {each.claim.commit or "" for each in run(store.statements(table.game)) if each.claim is not None}
    assert {each.commit for each in run(store.evidence(table.game, "bob"))} == named


@pytest.mark.parametrize("words", ["give {number}h", "call off"])
def test_it_counts_once_wherever_another_process_takes_the_mail_too(tmp_path: Path, words: str) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world, world.beside() as other:
        table = idle_table(world)
        real, point, to = world.store, 0, table.letter
        while True:
            if words == "call off":
                table.bob.answer(table.letter, words)
                to = table.answers()[-1]
            world.processes = False
            table.bob.answer(to, words.format(number=point + 1))
            mail = world.taken[-1]
            interrupted = InterruptedStore(real, point, partial(other.parts.orders.process, mail))
            world.restart(cast("Store", interrupted))
            world.run(world.parts.orders.process(mail))
            world.restart(real)
            world.processes = True
            if words == "call off":
                assert (table.result()["answer"], wishes(table)) == ("called off", ["bob"]), point
                world.run(real.remove_statement(table.game, table.head()[1], "annul", "bob"))
            else:
                assert table.result()["answer"] == "gave", point
                assert [each["seconds"] for each in gifts(table)] == [(point + 1) * 3600], point
                verify_kept(table)
            assert len(table.answers()) == 1, point
            if interrupted.calls <= point:
                break
            point += 6  # those of one step are several, and more letters do not come in a day
        assert point > 10


def test_a_wish_is_answered_with_the_end_of_the_game_that_an_earlier_one_has_just_brought(table: MailTable) -> None:
    """Bob wishes it once more, and when that is to be written, alice agrees to his earlier wish."""
    for answer in ("asked back", "called off"):
        assert table.send("call off") == answer
        table.letter = table.answers()[-1]
    head, service = table.head()[1], table.world.service
    wish = make_annul(game=table.game, head=head, name="alice")
    said = {"head": head, "kind": "annul", "name": "alice", "sig": table.alice.signed(wish.text, sshsig.ANNUL)}
    state, agreed = GameStatements.state, list[int]()

    async def agreed_before(self: GameStatements, *given: Any) -> Any:  # Any: as `GameStatements.state`
        if not agreed:
            agreed.append(0)
            path, body = f"/v1/games/{table.game}/statements", json.dumps(said).encode()
            agreed.append((await service._answer("POST", path, body, None)).status)
        return await state(self, *given)

    with patch.object(GameStatements, "state", agreed_before):
        assert table.send("call off") == "on record"
    assert agreed[1:] == [201]
    assert [line.entry.kind for line in table.alice.lines(table.game)][-2:] == ["annul", "end"]
    assert "no winner, called off by agreement" in table.answers()[0].text
    verify_kept(table)


def test_gifts_wishes_and_a_recovery_in_processes_on_a_postgresql(tmp_path: Path, postgres: str) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", database=postgres) as world, world.beside() as other:
        table = idle_table(world)

        def by_both(letter: Letter, line: str, *more: Coroutine[Any, Any, None]) -> str:
            """Two processes take the same mail at once, and do something more meanwhile."""
            world.processes = False
            table.bob.answer(letter, line)
            number = world.taken[-1]
            world.processes = True

            async def work() -> None:
                await asyncio.gather(*(each.parts.orders.process(number) for each in (world, other)), *more)

            world.run(work())
            return str(table.result()["answer"])

        for hours in (1, 2, 3):
            assert by_both(table.letter, f"give {hours}h") == "gave"
            assert [each["seconds"] for each in gifts(table)] == [hours * 3600]
            verify_kept(table)
        assert by_both(table.letter, "call off") == "asked back"
        assert by_both(table.answers()[-1], "call off") == "called off"
        assert wishes(table) == ["bob"]
        verify_kept(table)
        table.answers()
        new = a_player("bob", OWN.public.text, "2026-11-20T12:00:00Z", "text", "sig")
        code = sha256(asked(table).encode()).hexdigest()
        said = by_both(table.letter, "give 4h", other.store.recover(new, code, world.run(world.time.now())))
        # Which of the two was first is not said; but a gift is kept if and only if its letter says so.
        assert said in ("gave", "not done")
        assert [each["seconds"] for each in gifts(table)] == [3600 * (4 if said == "gave" else 3)]
        registered = world.run(world.store.player("bob"))
        assert registered is not None
        assert registered.key == new.key
        verify_kept(table)
        assert by_both(table.letter, "give 5h") == "not done"
        assert [each["seconds"] for each in gifts(table)] == [3600 * (4 if said == "gave" else 3)]
        verify_kept(table)
