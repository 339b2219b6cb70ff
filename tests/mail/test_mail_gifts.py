"""Time that a player gives by mail: a statement of the held key, which the log carries with its mail."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game.agreement import DAY
from hkoji.game.held_keys import SeatGrade
from hkoji.log.line import format_log
from tests.support.mail.list_world import list_world, unread
from tests.support.mail.mail_table import MailTable
from tests.support.mail.reading import offered


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> MailTable:
    """A table at which alice owes the next entry, and bob has the letter that says so. Its service has ended."""
    with list_world(tmp_path_factory.mktemp("first"), mail="play@hkoji.example") as world:
        table = MailTable(world)
        table.finish_turn()
        return table


def gifts(table: MailTable) -> list[dict[str, object]]:
    found: list[dict[str, object]] = table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["gifts"]
    return found


@pytest.mark.parametrize("words", ["give 2d", "dai 1d24h"])
def test_a_gift_by_mail_is_signed_with_its_mail_and_goes_into_the_log(table: MailTable, words: str) -> None:
    before = table.head()
    due = table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["deadline"]
    assert table.send(words) == "gave"
    # Nothing is in the log yet, and alice has more time.
    assert table.head() == before
    assert table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["deadline"] > due
    assert [each["seconds"] for each in gifts(table)] == [2 * DAY]
    (answer,) = table.answers()
    assert "You have given alice 2 days" in answer.text
    table.world.deliver(3600)
    table.move()
    credit = next(line.entry for line in table.alice.lines(table.game) if line.entry.kind == "credit")
    gift = credit.body["gift"]
    assert isinstance(gift, dict)
    assert (gift["seconds"], gift["mail"]["grade"]) == (2 * DAY, "token")  # type: ignore[index, call-overload] # JSON
    kept = table.world.run(table.world.store.evidence(table.game, "bob"))
    assert str(gift["mail"]["commit"]) in {each.commit for each in kept}  # type: ignore[index, call-overload] # JSON
    report = audit(format_log(table.alice.lines(table.game)))
    assert not report.findings
    # The mail is bob's: it says nothing of alice, who has her own key.
    assert report.grades == {"alice": SeatGrade.OWN, "bob": SeatGrade.WORD}
    assert set(table.alice.course(table.game).setup.by_mail) == {"bob"}


@pytest.mark.parametrize("kept", [False, True])
def test_a_gift_whose_process_is_killed_is_one_gift_also_after_it_was_used(table: MailTable, kept: bool) -> None:
    table.world.processes = False
    table.bob.answer(table.letter, "give 2d")
    number = table.world.taken[-1]
    mail = table.world.run(table.world.store.incoming(number))
    assert mail is not None
    # The process is killed before or after the gift is kept, and the mail is closed with it.
    orders, add = table.world.parts.orders, table.world.store.add_statement

    async def killed(*given: Any, **named: Any) -> bool:  # Any: as the store has it
        if kept:
            await add(*given, **named)
        raise KeyboardInterrupt

    table.world.store.add_statement = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        table.world.run(orders.process(number))
    table.world.store.add_statement = add  # type: ignore[method-assign]
    assert len(gifts(table)) == kept
    table.world.clock.pass_by(3600)
    if kept:
        table.move()
    assert table.world.process() == ([] if kept else ["gave"])
    assert json.loads(table.world.incoming().result)["answer"] == "gave"
    if not kept:
        table.move()
    credits = [line for line in table.alice.lines(table.game) if line.entry.kind == "credit"]
    assert len(credits) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("give 31d", "30d"),
        ("give 0d", "give 2d"),
        ("give much", "give 2d"),
        ("give", "give 2d"),
        ("dai -2d", "give 2d"),
    ],
)
def test_a_gift_that_cannot_be_changes_nothing_and_the_letter_says_why(table: MailTable, words: str, why: str) -> None:
    before = table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json
    assert table.send(words) == "not done"
    assert table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json == before
    (answer,) = table.answers()
    assert why in answer.text.replace("\u00a0", " ")


def test_a_player_who_owes_the_next_entry_cannot_give_time_for_it(table: MailTable) -> None:
    table.move()
    table.world.deliver(61)
    letter = unread(table.bob)[-1]
    before = table.head()
    table.bob.answer(letter, "give 2d")
    assert json.loads(table.world.incoming().result)["answer"] == "not done"
    assert (table.head(), gifts(table)) == (before, [])
    (answer,) = table.answers()
    assert "you owe the next entry yourself" in answer.text.lower().replace("\n", " ")
    assert offered(letter)


def test_time_given_after_the_deadline_is_refused(table: MailTable) -> None:
    table.world.clock.pass_by(40 * DAY)
    before = table.head()
    assert table.send("give 2d") == "not done"
    assert (table.head(), gifts(table)) == (before, [])


def test_a_gift_from_another_address_is_asked_back(table: MailTable) -> None:
    assert table.send("give 2d", sender="mallory@example.org") == "asked back"
    assert gifts(table) == []
    (answer,) = table.answers()
    table.bob.answer(answer, "give 2d")
    assert [each["seconds"] for each in gifts(table)] == [2 * DAY]


def test_a_gift_without_a_signature_counts_when_it_is_decided_whether_one_is_expected(table: MailTable) -> None:
    world = table.world
    world.run(world.store.change_mailbox(replace(world.box("bob"), dkim_seen=3)))
    assert table.send("give 2d") == "asked back"
    (answer,) = table.answers()
    assert table.send("give 2d", to=answer.answered_to) == "gave"
    assert world.box("bob").dkim_seen == 2
