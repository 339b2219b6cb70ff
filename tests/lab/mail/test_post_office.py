"""The post office in memory does what Postfix does, and mail programs answer as people do."""

from __future__ import annotations

import email
import email.policy
import smtplib
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from tests.support.mail.in_process import MemoryPostOffice
from tests.support.mail.mail_programs import MAIL_PROGRAMS
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, NoLetterError
from tests.support.mail.servers import MailServer

OURS = "play+7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example"
BOUNCES = "play+b-7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example"
RULE = "-" * 68
LETTER = f"""\
From: hkoji <play@hkoji.example>
Reply-To: hkoji <{OURS}>
To: bob@players.example
Subject: hkoji 85c924c3: you and alice
Date: {formatdate()}
Message-ID: <turn.9.7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example>
References: <thread.85c924c3@hkoji.example>
Content-Type: text/plain; charset="utf-8"

It is your turn, bob.
{RULE}
You could write:
  2bc
"""


class Door:
    """The program at the service's door: it answers as it is told, and keeps the mails that it takes."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, list[str], bytes]] = []
        self.replies: list[str] = []
        self._server = MailServer(self._take, lmtp=True)
        self.place = ("127.0.0.1", self._server.port)

    def _take(self, sender: str, recipients: list[str], raw: bytes) -> str:
        reply = self.replies.pop(0) if self.replies else "250 2.0.0 taken"
        if reply.startswith("2"):
            self.taken.append((sender, recipients, raw))
        return reply

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.close()


@pytest.fixture
def office(door: Door) -> Iterator[MemoryPostOffice]:
    made = MemoryPostOffice(lambda: door.place)
    yield made
    made.close()


def letter_to(office: MemoryPostOffice, to: str, sender: str = BOUNCES) -> None:
    with smtplib.SMTP("127.0.0.1", office.port) as post:
        post.sendmail(sender, [to], LETTER.replace("\n", "\r\n"))


@pytest.mark.parametrize("program", MAIL_PROGRAMS)
def test_an_answer_goes_where_the_letter_says_and_tells_what_it_answers(
    office: MemoryPostOffice, door: Door, program: str
) -> None:
    bob = MailboxPlayer(office.open("bob"), MAIL_PROGRAMS[program])
    letter_to(office, bob.mailbox.address)
    letter = bob.next_letter()
    bob.answer(letter, "2bc")
    office.wait_until_empty()
    ((sender, recipients, raw),) = door.taken
    assert (sender, recipients) == ("bob@players.example", [OURS])
    answer = Letter(raw)
    assert answer.field("In-Reply-To") == letter.id
    assert answer.references == ["<thread.85c924c3@hkoji.example>", letter.id]
    assert answer.subject == "Re: hkoji 85c924c3: you and alice"
    shown = email.message_from_bytes(raw, policy=email.policy.default).get_body(("plain", "html"))
    assert shown is not None
    words = shown.get_content()
    assert "2bc" in words
    assert "It is your turn, bob." in words
    assert b"\n" not in raw.replace(b"\r\n", b"")


def test_programs_write_at_different_places() -> None:
    letter = Letter(LETTER.encode())
    lines = {name: MAIL_PROGRAMS[name]("2bc", letter).text.decode("iso-8859-1").splitlines() for name in MAIL_PROGRAMS}
    assert lines["above"][0] == "2bc"
    assert lines["below"][-1] == "2bc"
    place = lines["inline"].index("2bc")
    assert [each[:1] for each in lines["inline"]][place - 2 : place + 3] == [">", "", "2", "", ">"]
    assert lines["html"][0].startswith("<html>")


def test_a_letter_that_the_service_puts_off_comes_again_and_a_refused_one_comes_back(
    office: MemoryPostOffice, door: Door
) -> None:
    bob = MailboxPlayer(office.open("bob"))
    door.replies = ["451 4.3.0 later", "452 4.2.2 later"]
    bob.write(OURS, "x", "2bc")
    office.wait_until_empty()
    assert [reply[:3] for reply in office.replies] == ["451", "452", "250"]
    door.replies = ["550 5.1.1 not ours"]
    bob.write(OURS, "x", "2bc")
    office.wait_until_empty()
    assert [said[:3] for _, said in office.returned] == ["550"]
    assert len(door.taken) == 1


def test_a_mail_waits_for_a_door_that_is_away(door: Door) -> None:
    places = [("127.0.0.1", 1)] * 3 + [door.place]
    office = MemoryPostOffice(lambda: places.pop(0) if len(places) > 1 else places[0])
    MailboxPlayer(office.open("bob")).write(OURS, "x", "2bc")
    office.wait_until_empty()
    office.close()
    assert len(office.replies) == 4
    assert len(door.taken) == 1


def test_a_letter_that_cannot_be_delivered_comes_back_as_a_report(office: MemoryPostOffice, door: Door) -> None:
    letter_to(office, "nobody@players.example")
    office.open("full")
    office.refused["full@players.example"] = "5.2.2 mailbox full"
    letter_to(office, "full@players.example")
    office.wait_until_empty()
    assert [(sender, recipients) for sender, recipients, _ in door.taken] == [("", [BOUNCES])] * 2
    for status, (_, _, raw) in zip(("5.1.1", "5.2.2"), door.taken, strict=True):
        report = email.message_from_bytes(raw, policy=email.policy.default)
        assert report.get_content_type() == "multipart/report"
        assert f"Status: {status}\r\n".encode() in raw
        assert b"Message-ID: <turn.9.7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example>" in raw
    letter_to(office, "nobody@players.example", sender="")
    office.wait_until_empty()
    assert len(door.taken) == 2  # a bounce does not bounce


def test_a_player_waits_for_a_letter_that_is_wanted(office: MemoryPostOffice) -> None:
    bob = MailboxPlayer(office.open("bob"))
    letter_to(office, bob.mailbox.address)
    with pytest.raises(NoLetterError, match="1 had come before"):
        bob.next_letter(0.1, lambda letter: letter.subject == "another")
    assert bob.next_letter().subject == "hkoji 85c924c3: you and alice"
    with pytest.raises(NoLetterError):
        bob.next_letter(0.1)
