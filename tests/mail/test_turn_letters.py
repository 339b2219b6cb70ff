"""A player on turn gets a letter that says so, whichever letters are late, sent again, or about something else."""

from __future__ import annotations

import pytest
from hkoji_server.service.notices.delivery import LEASE

from tests.support.mail.fragile_store import KilledError
from tests.support.mail.list_world import ListWorld, unread
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter
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
