"""Registration by a mail to the bare address: whose mail leads to a letter, and what `yes` to it does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.mail.receiving import Bounces, Received, Receiving
from hkoji_server.service.mail.mailboxes import SelfRegistration

from hkoji.game.agreement import DAY
from hkoji.mail.mail import read_mail
from tests.support.mail.dkim_signer import Signer
from tests.support.mail.list_world import OWN, ListWorld, list_world, unread
from tests.support.service import Player

DAVE = "dave@example.com"
SIGNER = Signer("example.com", "s1")


class Door:
    """The receiver of mails to the bare address of a service at which everybody can register."""

    def __init__(self, world: ListWorld, *, open_to_all: bool = True) -> None:
        self.world, self.number = world, 0
        world.dns.records[SIGNER.name] = (SIGNER.record.encode(),)
        registration = SelfRegistration(world.players, world.dns.look_up) if open_to_all else None
        self.receiving = Receiving(
            world.store, world.time, OWN, Bounces(world.store, world.time), registration=registration
        )

    def write(self, *lines: str, sender: str = DAVE, signer: Signer | None = SIGNER, to: str = OWN.mailbox) -> Received:
        self.number += 1
        head = (f"From: {sender}", f"To: {to}", "Subject: hello", f"Message-ID: <{self.number}@example.com>",
                "Date: Fri, 20 Nov 2026 12:00:00 +0000")  # fmt: skip
        raw = "\r\n".join([*head, "", *lines, ""]).encode()
        raw = raw if signer is None else signer.sign(raw)
        return self.world.run(self.receiving.receive(to, read_mail(raw), "lmtp", null_sender=False))

    def rows(self) -> dict[str, Any]:
        """The rows that the service keeps."""
        tables = ("mailbox", "channel", "held_key", "certificate", "incoming", "outbox", "reply", "player")
        with closing(sqlite3.connect(self.world.service.data / "hkoji.sqlite3")) as database:
            return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        yield Door(world)


def test_a_signed_mail_is_asked_for_yes_and_yes_registers(door: Door) -> None:
    world = door.world
    assert door.write("register Dave", "", "Thank you!") is Received.REGISTRATION
    assert world.service.ask("GET", "/v1/players/dave").status == 404
    assert world.deliver() == ["confirm"]
    dave = world.player(DAVE)
    (letter,) = unread(dave)
    assert "under the name dave" in " ".join(letter.text.split())
    # The name is reserved meanwhile.
    assert Player(world.service, "dave").send_registration().status == 409
    dave.answer(letter, "yes")
    assert world.service.ask("GET", "/v1/players/dave").json["held"]["origin"] == "http://inside"
    box = world.box("dave")
    assert (box.state, box.address) == ("active", DAVE)
    world.deliver(1)
    (welcome,) = unread(dave)
    salt = world.run(world.store.certificates(box.held_key))[0].salt
    assert welcome.subject == "hkoji by mail"
    assert "Welcome, dave" in welcome.text
    assert salt in welcome.text
    # A second yes is welcome again, and registers nobody anew.
    dave.answer(letter, "yes")
    assert world.box("dave").held_key == box.held_key


@pytest.mark.parametrize(
    "signer",
    [
        None,
        Signer("example.org", "s1"),
        Signer("example.com", "unknown"),
        Signer("mail.example.com", "s1"),
        Signer("example.com", "s1", tags={"l": "4"}),
        Signer("example.com", "s1", tags={"x": "1"}),
    ],
    ids=["none", "other domain", "no key", "child domain", "length", "expired"],
)
def test_without_a_signature_of_the_senders_domain_nothing_is_kept_and_nothing_is_answered(
    door: Door, signer: Signer | None
) -> None:
    before = door.rows()
    assert door.write("register dave", signer=signer) is Received.NO_LETTER
    assert door.rows() == before
    assert door.world.deliver(1) == []


@pytest.mark.parametrize("lines", [("hello",), ("register",), ("register dave", "show"), ("yes",), ("2bc",)])
def test_nothing_but_register_is_read_from_a_stranger_and_dns_is_not_asked(door: Door, lines: tuple[str, ...]) -> None:
    before = door.rows()
    assert door.write(*lines) is Received.NO_LETTER
    assert door.rows() == before
    assert door.world.dns.asked == []


def test_it_is_off_unless_the_operator_wants_it(door: Door) -> None:
    closed = Door(door.world, open_to_all=False)
    before = closed.rows()
    assert closed.write("register dave") is Received.NO_LETTER
    assert (closed.rows(), closed.world.dns.asked) == (before, [])


@pytest.mark.parametrize(
    ("name", "other"),
    [("alice", "bob"), ("server", "bob"), ("Not!a!name", "not-a-name"), ("_Dave!", "dave"), ("a", "bob")],
)
def test_one_letter_says_that_a_name_cannot_be_had_and_another_can_be_asked_for(
    door: Door, name: str, other: str
) -> None:
    world = door.world
    Player(world.service, "alice").register()
    assert door.write(f"register {name}") is Received.REGISTRATION
    assert world.deliver() == ["confirm"]
    dave = world.player(DAVE)
    (letter,) = unread(dave)
    said = " ".join(letter.text.split())
    assert "so nothing was done" in said
    assert f"write a line such as register {other} to:" in said
    # The same again brings no second letter, and yes to it registers nobody.
    door.write(f"register {name}")
    dave.answer(letter, "yes")
    assert world.service.ask("GET", "/v1/players/dave").status != 200
    world.deliver(1)
    assert [each.id.partition(".")[0] for each in unread(dave)] == ["<answer"]
    assert door.write("register dave") is Received.REGISTRATION
    assert world.deliver(1) == ["confirm"]
    assert "under the name dave" in " ".join(unread(dave)[-1].text.split())


def test_the_limits_are_those_of_invitations(door: Door) -> None:
    world = door.world
    assert door.write("register dave") is Received.REGISTRATION
    world.deliver()
    # The same changes nothing, and another name is refused while that stands.
    before = door.rows()
    assert door.write("register dave") is Received.REGISTRATION
    assert door.rows() == before
    assert door.write("register davy") is Received.NO_LETTER
    assert len(unread(world.player(DAVE))) == 1
    for _ in range(2):
        world.clock.pass_by(DAY + 1)
        assert door.write("register dave") is Received.REGISTRATION
    world.clock.pass_by(DAY + 1)
    # Three were left unanswered.
    assert door.write("register dave") is Received.NO_LETTER


def test_a_name_that_is_not_confirmed_is_free_again_after_a_day(door: Door) -> None:
    world = door.world
    door.write("register dave")
    world.deliver()
    (letter,) = unread(world.player(DAVE))
    world.clock.pass_by(DAY + 1)
    world.player(DAVE).answer(letter, "yes")
    assert world.service.ask("GET", "/v1/players/dave").status == 404
    assert Player(world.service, "dave").send_registration().status in (200, 201)


def test_strangers_with_a_slow_dns_hold_other_mails_up_for_a_short_time_only(door: Door) -> None:
    clock, asked = [0.0], 0

    async def slow(_: object) -> dict[str, tuple[bytes, ...]]:
        nonlocal asked
        asked, clock[0] = asked + 1, clock[0] + 6
        return {}

    registration = SelfRegistration(door.world.players, slow, elapsed=lambda: clock[0])
    raw = SIGNER.sign(
        f"From: {DAVE}\r\nSubject: hello\r\nDate: x\r\nMessage-ID: <1@x>\r\n\r\nregister dave\r\n".encode()
    )
    now = door.world.run(door.world.time.now())

    def take() -> None:
        assert not door.world.run(registration.take(read_mail(raw), now))

    for _ in range(200):
        take()
    assert 6 <= clock[0] <= 30
    clock[0] += 3600
    before = asked
    take()
    assert asked == before + 1
