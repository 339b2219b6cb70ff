"""`yes`: what the owner of a mailbox confirms, and what it cannot confirm."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from hkoji_server.service.mail.rights import SILENT_DAYS
from hkoji_server.store.closing import Closing
from hkoji_server.store.mail_values import Mailbox

from hkoji.errors import ForbiddenError
from hkoji.game.agreement import DAY
from hkoji.mail.letters.mailbox import ConfirmWhat
from tests.support.mail.dkim_signer import Signer
from tests.support.mail.list_world import ListWorld, unread
from tests.support.mail.mail_hosts import command_address
from tests.support.mail.mail_table import MailTable
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.service import Player


def last_result(world: ListWorld) -> str:
    return str(json.loads(world.incoming().result)["answer"])


def joined(world: ListWorld) -> tuple[Player, MailboxPlayer, str]:
    """Alice's game with bob, who plays by mail and has read all his letters."""
    table = MailTable(world)
    unread(table.bob)
    return table.alice, table.bob, table.game


def ask(world: ListWorld, what: ConfirmWhat, name: str, address: str) -> tuple[MailboxPlayer, Letter]:
    """Asks the owner of a mailbox for `yes`. Returns them, and the letter."""
    world.run(world.players.ask(what, name, address, "en", None))
    assert world.deliver() == ["confirm"]
    owner = world.player(address)
    return owner, unread(owner)[-1]


def box_at(world: ListWorld, address: str) -> Mailbox:
    found = world.run(world.store.mailbox_at(address))
    assert found is not None
    return found


# --- a mailbox for a player with a key of their own -------------------------------------------------------------------


def test_a_mailbox_of_a_player_with_a_key_of_their_own_is_active_after_yes(world: ListWorld) -> None:
    Player(world.service, "alice").register()
    alice, letter = ask(world, ConfirmWhat.ON, "alice", "alice@example.com")
    assert box_at(world, "alice@example.com").state == "asked"
    alice.answer(letter, "yes")
    assert last_result(world) == "confirmed"
    assert box_at(world, "alice@example.com").state == "active"
    world.deliver(1)
    (answer,) = unread(alice)
    assert "come here from now on, alice" in answer.text
    # A second yes changes nothing and is answered the same.
    before = box_at(world, "alice@example.com")
    alice.answer(letter, "sì")
    assert last_result(world) == "confirmed"
    assert replace(box_at(world, "alice@example.com"), heard=before.heard) == before


def test_yes_is_good_for_a_day(world: ListWorld) -> None:
    Player(world.service, "alice").register()
    alice, letter = ask(world, ConfirmWhat.ON, "alice", "alice@example.com")
    world.clock.pass_by(DAY + 1)
    alice.answer(letter, "yes")
    assert last_result(world) == "not done"
    assert box_at(world, "alice@example.com").state == "asked"
    # The mailbox can be asked again.
    owner, again = ask(world, ConfirmWhat.ON, "alice", "alice@example.com")
    owner.answer(again, "yes")
    assert box_at(world, "alice@example.com").state == "active"


def test_a_mailbox_is_asked_the_same_once_a_day_and_of_two_the_last_one_counts(world: ListWorld) -> None:
    Player(world.service, "alice").register()
    ask(world, ConfirmWhat.ON, "alice", "alice@example.com")
    world.run(world.players.ask(ConfirmWhat.ON, "alice", "alice@example.com", "en", None))
    assert world.deliver(1) == []
    ask(world, ConfirmWhat.ON, "alice", "alice@example.net")
    assert world.run(world.store.mailbox_at("alice@example.com")) is None


@pytest.mark.parametrize("words", ["2bc", "resign", "show", "games", "accept", "new address", "lang it", "cards off"])
def test_an_owner_who_is_asked_can_write_nothing_but_yes_or_stop(world: ListWorld, words: str) -> None:
    _, _, game = joined(world)
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    before, lines = box_at(world, "carol@example.com"), world.service.ask("GET", f"/v1/games/{game}").json
    carol.answer(letter, words)
    assert last_result(world) == "not done"
    assert replace(box_at(world, "carol@example.com"), heard=None) == before
    assert world.service.ask("GET", f"/v1/games/{game}").json == lines
    world.deliver(1)
    (answer,) = unread(carol)
    assert "Answer this mail:  yes  on the first line" in answer.text
    # Nothing of the player whose name it is, and no address but this one.
    assert game[:8] not in answer.text
    assert "alice" not in answer.text
    assert answer.answered_to == letter.answered_to


def test_a_yes_from_another_address_is_asked_back_and_confirms_when_it_comes_from_the_right_one(
    world: ListWorld,
) -> None:
    Player(world.service, "alice").register()
    alice, letter = ask(world, ConfirmWhat.ON, "alice", "alice@example.com")
    world.player("mallory@example.com").answer(letter, "yes")
    assert last_result(world) == "asked back"
    assert box_at(world, "alice@example.com").state == "asked"
    world.deliver(1)
    (back,) = unread(alice)
    alice.answer(back, "yes")
    assert box_at(world, "alice@example.com").state == "active"


def test_stop_in_answer_to_what_is_asked_blocks_that_mailbox_only(world: ListWorld) -> None:
    joined(world)
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    carol.answer(letter, "stop")
    assert box_at(world, "carol@example.com").state == "blocked"
    assert world.box("bob").state == "active"
    world.deliver(1)
    (answer,) = unread(carol)
    assert "running game" not in answer.text
    carol.answer(letter, "yes")
    assert box_at(world, "carol@example.com").state == "blocked"
    with pytest.raises(ForbiddenError):
        world.run(world.players.ask(ConfirmWhat.MOVE, "bob", "carol@example.com", "en", None))


def test_the_web_address_of_a_letter_that_asks_stops_nobody_elses_letters(world: ListWorld) -> None:
    joined(world)
    _, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    path = letter.field("List-Unsubscribe").partition(">")[0].removeprefix("<http://inside")
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert world.service.ask("POST", path, raw=b"List-Unsubscribe=One-Click", headers=form).status == 200
    assert (world.box("bob").state, box_at(world, "carol@example.com").state) == ("active", "blocked")


# --- a mailbox takes the place of another one ---------------------------------------------------------------------


def test_after_yes_from_the_new_mailbox_letters_and_orders_are_there(world: ListWorld) -> None:
    alice, bob, game = joined(world)
    key, channel = world.box("bob").held_key, world.box("bob").channel
    world.deliver()
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    assert world.box("bob").address == "bob@example.org"
    carol.answer(letter, "yes")
    box = world.box("bob")
    assert (box.address, box.held_key, box.channel, box.state) == ("carol@example.com", key, channel, "active")
    assert [each.mailbox for each in world.run(world.store.certificates(key))] == [
        "carol@example.com",
        "bob@example.org",
    ]
    assert sorted(world.deliver(1)) == ["answer", "answer"]
    (left,), (here,) = unread(bob), unread(carol)
    assert "letters go to another mailbox now" in left.text.replace("\n", " ")
    salts = [line.strip() for line in here.lines if len(line.strip()) == 64]
    assert salts == [world.run(world.store.certificates(key))[0].salt]
    # The old mailbox gets nothing more, and what it writes orders nothing.
    bob.write(command_address(here), "games", "games")
    assert last_result(world) == "asked back"
    world.deliver(1)
    assert unread(bob) == []
    # A second yes is answered like the first one, in the new mailbox.
    unread(carol)
    carol.answer(letter, "yes")
    assert last_result(world) == "confirmed"
    world.deliver(1)
    assert (len(unread(carol)), unread(bob)) == (1, [])
    assert alice.lines(game)


def test_an_erasure_after_a_move_leaves_no_address_and_no_mail_of_either_mailbox(world: ListWorld) -> None:
    joined(world)
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    carol.answer(letter, "yes")
    assert world.run(world.store.erase_mailbox(world.box("bob").channel))
    with closing(sqlite3.connect(world.service.data / "hkoji.sqlite3")) as database:
        kept = "\n".join(database.iterdump())
        mails = database.execute("SELECT name, channel, message_id, result FROM incoming").fetchall()
    assert "bob@example.org" not in kept
    assert "carol@example.com" not in kept
    assert len(mails) > 1
    assert set(mails) == {("", "", "", "")}


@pytest.mark.parametrize("after", [False, True])
def test_a_move_that_is_killed_at_its_end_is_done_once(world: ListWorld, after: bool) -> None:
    joined(world)
    key = world.box("bob").held_key
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    world.processes = False
    carol.answer(letter, "yes")
    store, close = world.store, world.store.close_incoming

    class Killed(BaseException):
        pass

    async def killed(closing: Closing) -> None:
        if after:
            await close(closing)
        raise Killed

    store.close_incoming = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        world.run(world.parts.orders.process(world.taken[-1]))
    store.close_incoming = close  # type: ignore[method-assign]
    assert (world.box("bob").address == "carol@example.com") == after
    assert len(world.run(store.certificates(key))) == 1 + after
    world.process()
    assert world.box("bob").address == "carol@example.com"
    assert len(world.run(store.certificates(key))) == 2
    assert sorted(world.deliver(1)) == ["answer", "answer"]


def test_a_move_that_is_asked_for_elsewhere_while_it_is_confirmed_is_not_said_to_be_done(world: ListWorld) -> None:
    joined(world)
    key = world.box("bob").held_key
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    store, close = world.store, world.store.close_incoming

    async def late(closing: Closing) -> None:
        store.close_incoming = close  # type: ignore[method-assign]
        await world.players.ask(ConfirmWhat.MOVE, "bob", "dave@example.com", "en", None)
        await close(closing)

    store.close_incoming = late  # type: ignore[method-assign]
    carol.answer(letter, "yes")
    assert (world.box("bob").address, last_result(world)) == ("bob@example.org", "silent")
    assert len(world.run(store.certificates(key))) == 1
    assert world.deliver(1) == ["confirm"]


def test_games_before_a_move_keep_the_mailbox_that_their_log_names(world: ListWorld) -> None:
    """Mails from the new one are of the lower grade there, whatever its provider signs; in new games they are not."""
    table = MailTable(world)
    signer = Signer("example.com", "s1")
    world.dns.records[signer.name] = (signer.record.encode(),)
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    carol.answer(letter, "yes")
    world.deliver(1)

    def send(number: int, to: str, line: str) -> None:
        head = (f"From: carol@example.com\r\nTo: {to}\r\nSubject: a\r\nMessage-ID: <{number}@example.com>\r\n"
                "Date: Fri, 20 Nov 2026 12:00:00 +0000\r\n")  # fmt: skip
        world.take(signer.sign(f"{head}\r\n{line}\r\n".encode()), to)

    seq, _ = table.head()
    send(1, table.to, table.line)
    move = table.alice.lines(table.game)[seq + 1].entry
    assert (move.kind, move.body["mail"]["grade"]) == ("move", "token")  # type: ignore[index, call-overload] # JSON
    game = world.invite(table.alice, "bob", "carol@example.com")
    world.deliver(61)
    (invited,) = [each for each in unread(carol) if each.id.startswith("<invited.")]
    send(2, invited.answered_to, "accept")
    join = table.alice.lines(game)[2].entry
    assert (join.kind, join.body["mail"]["grade"]) == ("join", "dkim")  # type: ignore[index, call-overload] # JSON


def test_the_mailbox_of_a_player_cannot_be_taken(world: ListWorld) -> None:
    joined(world)
    world.player("carol@example.com")
    world.run(world.players.invite("carol", "carol@example.com", "en", None))
    world.deliver()
    for address in ("carol@example.com", "bob@example.org"):
        with pytest.raises(ForbiddenError):
            world.run(world.players.ask(ConfirmWhat.MOVE, "bob", address, "en", None))
    assert world.box("bob").address == "bob@example.org"


# --- long silence -----------------------------------------------------------------------------------------------------


def silent(world: ListWorld) -> tuple[MailboxPlayer, str, Letter]:
    """Bob's turn begins half a year after his last mail. Returns the letter that he gets."""
    table = MailTable(world)
    bob, letter = table.bob, table.letter
    bob.answer(letter, table.line)
    world.deliver(1)
    unread(bob)
    world.run(world.store.change_mailbox(replace(world.box("bob"), heard="2020-01-01T00:00:00Z")))
    table.move()
    world.deliver(61)
    (asked,) = unread(bob)
    return bob, table.game, asked


def test_after_a_long_silence_the_turn_letter_asks_for_yes_first(world: ListWorld) -> None:
    assert SILENT_DAYS == 180
    bob, game, letter = silent(world)
    assert "still your mailbox" in letter.text.replace("\n", " ")
    assert "Your clock runs on" in letter.text.replace("\n", " ")
    assert "You hold" not in letter.text
    bob.answer(letter, "yes")
    assert last_result(world) == "several"
    world.deliver(1)
    (turn,) = unread(bob)
    assert "You hold" in turn.text
    assert world.box("bob").heard != "2020-01-01T00:00:00Z"
    assert turn.subject.startswith(f"hkoji {game[:8]}")


def test_only_yes_ends_the_silence_and_no_answer_before_it_shows_cards(world: ListWorld) -> None:
    bob, _, letter = silent(world)
    bob.write("play@hkoji.example", "hello", "is anybody there?")
    world.deliver(1)
    bob.answer(letter, "help")
    world.deliver(1)
    for answer in unread(bob):
        assert "You hold" not in answer.text
        assert "still your mailbox" in answer.text.replace("\n", " ")
    assert world.box("bob").heard == "2020-01-01T00:00:00Z"
