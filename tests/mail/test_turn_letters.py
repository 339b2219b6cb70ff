"""A player on turn gets a letter that says so; letters that do not arrive; letters to a player whose key is revoked.

Letters about a turn come whichever other letters are late, sent again, or about something else. Both players see that
letters do not arrive.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hkoji_server import mailbox_admin
from hkoji_server.service.notices.delivery import LEASE
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import Mailbox

from tests.support.mail.fragile_store import KilledError
from tests.support.mail.list_world import ListWorld, unread
from tests.support.mail.mail_hosts import command_address
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.reading import offered
from tests.support.service import Player


def events(found: list[Letter]) -> list[str]:
    """The events of letters, as their ids have them."""
    return [letter.id.lstrip("<").split(".")[0] for letter in found]


def killed_after_a_letter(world: ListWorld) -> None:
    """Sends what is due, and kills the process as soon as the mail server has the first letter."""

    def kill() -> None:
        raise KilledError

    world.after_letter = kill
    with pytest.raises(KilledError):
        world.deliver(1)
    world.after_letter = lambda: None
    world.restart(world.store)


def test_a_late_welcome_is_not_in_the_place_of_the_letter_about_a_turn(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    game = world.invite(alice, "bob", "bob@example.org")
    world.deliver()
    bob.answer(bob.next_letter(0), "accept")
    world.run(world.seeds.look())
    alice.seed(game)
    course = alice.course(game)
    alice.send(alice.make_move(course, course.state.legal_actions()[0]))
    world.deliver(61)
    found = unread(bob)
    assert sorted(events(found)) == ["answer", "turn"]
    assert offered(next(letter for letter in found if letter.id.startswith("<turn.")))


@pytest.mark.parametrize("line", ["show", "moves", "log", "help", "9zz"])
def test_a_letter_that_is_sent_again_is_not_in_the_place_of_the_letter_about_a_turn(
    world: ListWorld, line: str
) -> None:
    """Mail programs show a letter once that comes twice, and its reader has seen it before the turn."""
    table = MailTable(world)
    assert table.send(table.line) == "on record"
    (answer,) = table.answers()
    assert not offered(answer)
    table.send(line, to=answer.answered_to)
    killed_after_a_letter(world)
    (first,) = unread(table.bob)
    assert not offered(first)
    world.clock.pass_by(LEASE)
    table.move()
    world.deliver(1)
    assert [letter.id for letter in unread(table.bob)] == [first.id]
    world.deliver(61)
    (turn,) = unread(table.bob)
    assert offered(turn)


@pytest.mark.parametrize(("line", "come"), [("show", ["answer"]), ("rules", ["answer", "turn"])])
def test_an_answer_is_in_the_place_of_the_letter_about_a_turn_only_if_it_shows_the_turn(
    world: ListWorld, line: str, come: list[str]
) -> None:
    table = MailTable(world)
    table.send(table.line)
    (answer,) = table.answers()
    table.move()
    table.send(line, to=answer.answered_to)
    world.deliver(61)
    found = unread(table.bob)
    assert sorted(events(found)) == come
    assert any(offered(letter) for letter in found)


def test_times_are_in_the_zone_of_the_last_mail_that_named_one(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    game = world.invite(alice, "bob", "bob@example.org")
    world.deliver()
    invitation = bob.next_letter(0)
    assert "at UTC+" not in invitation.text
    bob.date = "Fri, 20 Nov 2026 14:01:00 +0200"
    bob.answer(invitation, "accept")
    world.run(world.seeds.look())
    alice.seed(game)
    course = alice.course(game)
    alice.send(alice.make_move(course, course.state.legal_actions()[0]))
    world.deliver(61)
    turn = next(letter for letter in unread(bob) if letter.id.startswith("<turn."))
    assert " UTC (" in turn.text
    assert " at UTC+2)" in " ".join(turn.text.split())
    eve = world.player("eve@example.net")
    eve.date = "Fri, 20 Nov 2026 21:01:00 +0900"
    eve.answer(turn, "show")
    world.deliver()
    assert "UTC+9" not in "".join(letter.text for letter in unread(bob))
    bob.date = ""
    bob.answer(turn, "games")
    world.deliver()
    assert " at UTC+2)" in " ".join(bob.next_letter(0).text.split())


SINCE = "2026-12-03T08:00:00Z"


def silent(table: MailTable) -> object:
    return table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["silent"]


def test_a_mailbox_that_takes_no_letters_is_shown_until_the_next_mail_of_its_owner(table: MailTable) -> None:
    world = table.world
    assert silent(table) == {}
    world.run(world.store.change_mailbox(replace(world.box("bob"), paused=SINCE)))
    assert silent(table) == {"bob": SINCE}
    assert table.send("help") == "help"
    assert silent(table) == {}


def test_a_player_who_has_written_not_me_is_shown_until_yes(table: MailTable) -> None:
    table.send("not me")
    assert silent(table) == {"bob": table.world.box("bob").since}
    table.answers()
    table.send("yes", to=letters(table.bob.mailbox)[-1].answered_to)
    assert silent(table) == {}


def test_a_player_who_has_stopped_letters_is_not_given_away(table: MailTable) -> None:
    table.send("stop")
    assert silent(table) == {}


@pytest.mark.parametrize("meanwhile", [{"address": "bob@new.example"}, {"state": "stopped"}])
def test_the_operators_lock_keeps_what_a_mail_has_changed_meanwhile(
    table: MailTable, monkeypatch: pytest.MonkeyPatch, meanwhile: dict[str, str]
) -> None:
    box, change, changes = table.world.box("bob"), Store.change_mailbox, 0

    async def late(store: Store, mailbox: Mailbox, was: Mailbox | None = None) -> bool:
        nonlocal changes
        changes += 1
        if changes == 1:
            await change(store, replace(box, **meanwhile), box)  # type: ignore[arg-type] # fields by name
        return await change(store, mailbox, was)

    monkeypatch.setattr(Store, "change_mailbox", late)
    shown = mailbox_admin.lock(table.world.service.data, "bob")
    assert (shown["state"], shown["address"]) == ("suspended", meanwhile.get("address", box.address))
    locked = table.world.box("bob")
    assert (locked.state, locked.address) == (shown["state"], shown["address"])


# --- a held key that is revoked ---------------------------------------------------------------------------------------


def is_notice(letter: Letter) -> bool:
    """Whether a letter says what is so for a player whose held key is revoked, and offers nothing to send."""
    text = " ".join(letter.text.split())
    said = "has been revoked: what you write here moves nothing, and your clock runs on" in text
    how = "Answer this mail: your move" in text or "legal move" in text or "The service signs for you." in text
    return said and not how and offered(letter) == []


def test_letters_go_on_as_notices_when_the_held_key_is_revoked(table: MailTable) -> None:
    world = table.world
    line, head = table.line, table.head()
    assert offered(table.letter)
    assert world.run(world.players.revoke("bob"))
    for order in (line, "resign", "call off"):
        assert table.send(order) == "not done"
        world.deliver(61)
        (answer,) = unread(table.bob)
        assert is_notice(answer), answer.text
        assert "The service can no longer sign for you in this game." in " ".join(answer.text.split())
    for order in ("show", "moves", "what?"):
        table.send(order, to=table.letter.answered_to)
    for letter in (world.deliver(61), unread(table.bob))[1]:
        assert is_notice(letter), letter.text
    assert table.head() == head


def test_the_turn_letter_of_a_player_whose_key_is_revoked_shows_the_hand(table: MailTable) -> None:
    world = table.world
    table.send(table.line)
    world.deliver(61)
    unread(table.bob)
    assert world.run(world.players.revoke("bob"))
    before = table.head()
    table.move()
    assert table.head() != before
    world.deliver(61)
    letter = next(each for each in unread(table.bob) if each.id.startswith("<turn."))
    assert is_notice(letter), letter.text
    assert "You hold" in letter.text
    # A move that came by another address is not asked back: there would be nothing to answer.
    assert table.send("resign", sender="other@example.org", to=letter.answered_to) == "unreadable"


def test_a_player_whose_key_is_revoked_makes_no_game(table: MailTable) -> None:
    world = table.world
    table.send("new address")
    world.deliver(61)
    commands = command_address(unread(table.bob)[-1])
    world.run(world.players.revoke("bob"))
    assert table.send("new hanamikoji carol carol@example.com", to=commands) == "not done"
    assert world.run(world.store.mailbox_at("carol@example.com")) is None
    assert world.games_of("bob") == [table.game]
