"""The command `evidence` and the operator get a player's mails, and no other player does; none once they are erased."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server import mailbox_admin
from hkoji_server.service.mail.seat_games import mails_of

from hkoji.audit.log_audit import audit
from hkoji.errors import NotFoundError
from hkoji.game import entry_kinds
from hkoji.game.held_keys import SeatGrade
from hkoji.log.line import format_log
from hkoji.mail.mail import read_mail
from hkoji.mail.mails_audit import MailsAudit, audit_mails, index_mails
from hkoji.mail.mails_file import parse_mails
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mail_hosts import two_by_mail
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import command_address, has_command_address
from tests.support.mail.signing import SigningProvider


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ListWorld]:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        bob = world.mailbox("bob@example.org")
        bob.signs = SigningProvider(world.dns.records)
        yield world


@pytest.fixture
def table(world: ListWorld) -> MailTable:
    """Bob has accepted and moved, and it is alice's turn."""
    table = MailTable(world)
    table.finish_turn()
    return table


def judged(table: MailTable, data: bytes) -> MailsAudit:
    log = format_log(table.alice.lines(table.game)).encode()
    return audit_mails(audit(log), index_mails(parse_mails(data)))


def attached(letter: Letter) -> list[bytes]:
    return [content.replace(b"\r\n", b"\n") for name, content in letter.attachments.items() if name.endswith(".mails")]


def ask(table: MailTable, words: str = "evidence") -> Letter:
    """Asks in answer to the last letter about the game, and returns the answer."""
    last = Letter(table.bob.mailbox.received()[-1])
    unread(table.bob)
    table.bob.answer(last, words)
    table.world.deliver(1)
    return unread(table.bob)[-1]


@pytest.mark.parametrize("words", ["evidence", "prove"])
def test_the_player_gets_their_mails_and_all_are_checked(table: MailTable, words: str) -> None:
    before = table.head()
    (data,) = attached(ask(table, words))
    result = judged(table, data)
    (seat,) = result.seats
    assert result.audit.ok
    assert seat.checked == seat.claimed >= 2
    assert result.audit.grades["bob"] is SeatGrade.CHECKED
    assert table.head() == before
    first = json.loads(data.split(b"\n")[0])
    assert (first["mailbox"], first["name"]) == ("bob@example.org", "bob")
    for line in data.splitlines()[1:]:
        assert set(json.loads(line)) == {"about", "dns", "game", "head", "nonce", "purpose", "raw", "reader", "salt"}


def test_they_can_be_asked_for_when_the_game_is_over(table: MailTable) -> None:
    while not table.alice.course(table.game).finished:
        table.move()
        if table.alice.course(table.game).actor == 1:
            table.world.deliver(61)
            table.bob.answer(Letter(table.bob.mailbox.received()[-1]), "resign")
            table.world.deliver(61)
            table.bob.answer(Letter(table.bob.mailbox.received()[-1]), "resign")
    table.world.deliver(61)
    (data,) = attached(ask(table))
    result = judged(table, data)
    assert result.audit.ok
    assert result.seats[0].checked == result.seats[0].claimed
    answer = ask(table, "resign")
    assert "resign" not in answer.text.splitlines()[0]
    assert table.alice.course(table.game).finished


def test_nobody_gets_the_mails_of_the_other_player(world: ListWorld) -> None:
    _, _, game = two_by_mail(world)
    lines = world.run(world.store.lines(game))
    found = {name: world.run(mails_of(world.store, lines, name)) for name in ("bob", "carol", "alice")}
    assert found["alice"] == b""
    for name, other in (("bob", "carol"), ("carol", "bob")):
        (mailbox,) = parse_mails(found[name])
        assert mailbox.name == name
        assert len(mailbox.mails) == 1
        assert [read_mail(each.raw).header.sender for each in mailbox.mails] == [mailbox.mailbox]
        assert mailbox.mailbox.startswith(f"{name}@")
        assert other not in mailbox.mailbox
    result = audit_mails(audit(format_log(lines)), index_mails(parse_mails(found["bob"] + found["carol"])))
    assert result.audit.ok
    assert [seat.checked for seat in result.seats] == [1, 1]
    assert result.audit.grades == {"bob": SeatGrade.CHECKED, "carol": SeatGrade.WORD}


def test_the_operator_prints_the_same_and_nothing_is_left_after_an_erasure(table: MailTable) -> None:
    (data,) = attached(ask(table))
    folder = table.world.service.data
    assert mailbox_admin.evidence(folder, table.game, "bob") == data
    for game, name in ((table.game, "alice"), (table.game, "eve"), ("ab" * 16, "bob")):
        with pytest.raises(NotFoundError):
            mailbox_admin.evidence(folder, game, name)
    assert table.world.run(table.world.store.erase_mailbox(table.world.box("bob").channel))
    with pytest.raises(NotFoundError) as caught:
        mailbox_admin.evidence(folder, table.game, "bob")
    assert "erased" in caught.value.hint


def test_mails_show_cards_so_whoever_wants_none_in_letters_gets_no_file(table: MailTable) -> None:
    ask(table, "cards off")
    answer = ask(table)
    assert attached(answer) == []
    assert "cards on" in answer.text


def test_mails_that_are_too_long_for_a_letter_are_not_attached(
    table: MailTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hkoji.mail.letters.shown._MOST_ATTACHED", 1000)
    answer = ask(table)
    assert attached(answer) == []
    assert "too long for a letter" in " ".join(answer.text.split())


def checked(table: MailTable, game: str) -> list[tuple[str, int, int]]:
    """Of each player by mail in a game how many mails the log claims, and how many of bob's are checked."""
    lines = table.world.run(table.world.store.lines(game))
    data = table.world.run(mails_of(table.world.store, lines, "bob"))
    result = audit_mails(audit(format_log(lines)), index_mails(parse_mails(data)))
    assert result.audit.ok, result.audit.findings
    return [(seat.name, seat.claimed, seat.checked) for seat in result.seats]


def test_a_gift_and_a_rematch_by_mail_are_checked(table: MailTable) -> None:
    world, alice = table.world, table.alice
    before = checked(table, table.game)[0][1]
    ask(table, "give 1d")
    course = alice.course(table.game)
    world.clock.pass_by(600)
    assert alice.send(alice.make_move(course, course.state.legal_actions()[0])).status == 201
    assert any(line.entry.kind == "credit" for line in alice.lines(table.game))
    assert checked(table, table.game) == [("bob", before + 1, before + 1)]
    assert alice.send(alice.entry(table.game, alice.head(table.game), entry_kinds.Resign())).status == 201
    world.deliver(61)
    ask(table, "rematch")
    (game,) = [each for each in world.games_of("bob") if each != table.game]
    assert checked(table, game) == [("bob", 1, 1)]
    assert checked(table, table.game) == [("bob", before + 1, before + 1)]


def test_a_player_on_turn_is_told_to_move_first(table: MailTable) -> None:
    table.world.deliver(3600)
    table.move()
    table.world.deliver(61)
    answer = ask(table)
    assert not attached(answer)
    assert "not your turn: move first" in " ".join(answer.text.split())


def test_a_command_for_a_game_to_the_command_address_is_sent_to_where_it_belongs(table: MailTable) -> None:
    welcome = next(each for each in map(Letter, table.bob.mailbox.received()) if has_command_address(each))
    before = table.head()
    unread(table.bob)
    table.bob.write(command_address(welcome), "", "resign")
    table.world.deliver(1)
    assert "write it in answer to a letter of that game" in " ".join(unread(table.bob)[-1].text.split())
    assert table.head() == before


def test_the_letter_of_a_turn_that_is_over_can_be_answered_with_it(table: MailTable) -> None:
    turn = next(each for each in map(Letter, table.bob.mailbox.received()) if each.id.startswith("<turn."))
    unread(table.bob)
    table.bob.answer(turn, "evidence")
    table.world.deliver(1)
    (data,) = attached(unread(table.bob)[-1])
    assert judged(table, data).audit.ok
    # On the next turn it is refused there too. The same bytes, in the same second, would be the same mail.
    table.move()
    table.world.deliver(61)
    unread(table.bob)
    table.bob.answer(turn, "Evidence")
    table.world.deliver(1)
    (answer,) = unread(table.bob)
    assert not attached(answer)
    assert table.result()["answer"] == "turn over"
