"""A service whose provider delivers only the bare address: ids of letters are all that tells what a mail answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server.store.mail_values import Mailbox

from hkoji.mail.addresses import OwnAddress
from tests.support.mail import list_world as worlds
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters
from tests.support.service import Player

CLUB = "club@hkoji.example"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ListWorld]:
    monkeypatch.setattr(worlds, "OWN", OwnAddress(CLUB, ""))
    with list_world(tmp_path / "data", mail=CLUB, mail_delimiter="none") as made:
        yield made


def only(player: MailboxPlayer) -> Letter:
    """The one letter that a player has not read."""
    (letter,) = unread(player)
    return letter


def mailbox(world: ListWorld) -> Mailbox:
    found = world.run(world.store.mailbox_at("bob@example.org"))
    assert found is not None
    return found


def test_a_game_is_played_by_answers_alone_and_no_address_has_a_token(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    game = world.joined(alice, bob)
    world.deliver(61)
    for letter in letters(bob.mailbox):
        assert letter.answered_to == CLUB
        assert not re.search(r"[a-z2-7]{26}@", letter.text)
    assert world.courier.envelopes == [CLUB] * len(world.courier.envelopes)
    assert "join" in [line.entry.kind for line in alice.lines(game)]


def test_an_order_about_no_game_is_written_in_answer_to_a_letter_of_its_own(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    world.joined(alice, bob)
    world.deliver(61)
    told = "\n".join(letter.text for letter in unread(bob))
    assert "answer  new address" in " ".join(told.split(" ")).replace("\n", " ")
    bob.answer(letters(bob.mailbox)[-1], "new hanamikoji carol carol@example.com")
    world.deliver(61)
    assert len(world.games_of("bob")) == 1
    bob.answer(only(bob), "new address")
    world.deliver(61)
    letter = only(bob)
    assert "Answer this mail with orders that belong to no game" in letter.text
    bob.answer(letter, "new hanamikoji carol carol@example.com")
    world.deliver(61)
    assert len(world.games_of("bob")) == 2
    unread(bob)
    # The letter before that one works no more once there is another.
    bob.answer(letter, "new address")
    world.deliver(61)
    bob.answer(letter, "new hanamikoji dave dave@example.com")
    world.deliver(61)
    assert len(world.games_of("bob")) == 2


def test_the_welcome_to_no_game_is_the_letter_for_that(world: ListWorld) -> None:
    bob = world.player("bob@example.org")
    world.run(world.players.invite("bob", "bob@example.org", "en", None))
    world.deliver()
    bob.answer(only(bob), "accept")
    world.deliver()
    welcome = only(bob)
    assert "Answer this mail with orders that belong to no game" in welcome.text
    bob.answer(welcome, "new hanamikoji carol carol@example.com")
    assert len(world.games_of("bob")) == 1


def test_unsubscribing_says_in_a_field_which_mailbox_is_meant(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    world.joined(alice, bob)
    field = letters(bob.mailbox)[-1].field("List-Unsubscribe")
    found = re.fullmatch(
        rf"<http://inside/v1/mail/stop/(\w+)>, <mailto:{CLUB}\?subject=stop&In-Reply-To=%3C([^<>%]+)%3E>", field
    )
    assert found, field
    assert found[1] in found[2]
    head = ["From: bob@example.org", f"To: {CLUB}", "Message-ID: <s@x>", "Subject: stop", f"In-Reply-To: <{found[2]}>"]
    bob.mailbox.send("\r\n".join([*head, "", ""]).encode(), [CLUB])
    assert mailbox(world).state == "stopped"


@pytest.mark.parametrize(("subject", "text"), [("stop", ""), ("Unsubscribe", "x"), ("hello", "stop")])
def test_without_that_field_stop_is_asked_back_once_a_day_as_anybody_can_write_it(
    world: ListWorld, subject: str, text: str
) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    world.joined(alice, bob)
    world.deliver(61)
    unread(bob)
    for _ in range(2):
        bob.write(CLUB, subject, text)
        world.deliver(61)
    asked = only(bob)
    assert "Your mail answers no letter" in asked.text
    assert mailbox(world).state == "active"
    bob.write(CLUB, "hello", "is anybody there?")  # which is counted by itself
    world.deliver(61)
    assert len(unread(bob)) == 1
    bob.answer(asked, "stop")
    world.deliver(61)
    assert mailbox(world).state == "stopped"
    assert "the last letter" in only(bob).text
    bob.write(CLUB, subject, text)
    world.deliver(61)
    assert unread(bob) == []
