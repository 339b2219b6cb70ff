"""Shows that the mail servers of the laboratory do what is said of them, with a sink in the service's place.

The sink takes what comes to the service's door, and can be told to answer 4xx.
"""

from __future__ import annotations

import secrets
import smtplib
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Final, NamedTuple

from tests.lab.mail import dovecot
from tests.lab.mail.real_post_office import DOOR, SERVICE, SMTP, RealPostOffice
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.servers import MailServer

_SECONDS: Final = 20
TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"  # shaped like one


class TakenMail(NamedTuple):
    """The mails that came to the door."""

    sender: str
    recipient: str
    raw: bytes


class Sink:
    """Stands at the service's door."""

    def __init__(self) -> None:
        self.taken: list[TakenMail] = []
        self.reply = "250 2.0.0 taken"
        self.refused = 0
        self._server = MailServer(self._take, port=DOOR[1], lmtp=True)

    def _take(self, sender: str, recipients: list[str], raw: bytes) -> str:
        if not self.reply.startswith("2"):
            self.refused += 1
            return self.reply
        assert len(recipients) == 1, recipients
        self.taken.append(TakenMail(sender, recipients[0], raw))
        return self.reply

    def close(self) -> None:
        """Ends it."""
        self._server.close()


class Checks:
    """Prints whether each check holds."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def see(self, what: str, holds: object, said: object = "") -> None:
        """Prints a check, and what was said if it does not hold."""
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)
        if not holds:
            self.failed.append(what)
            if said:
                print(f"      {said}")


def until(seen: Callable[[], object], seconds: float = _SECONDS) -> bool:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def send_letter(to: str, *, token: str = TOKEN, subject: str = "hkoji 85c924c3: you and alice") -> str:
    """Sends a letter shaped like those of the service. Returns its Message-ID."""
    number = f"<turn.{secrets.randbelow(10**6)}.{token}@{SERVICE}>"
    raw = f"""\
From: hkoji <play@{SERVICE}>
Reply-To: hkoji <play+{token}@{SERVICE}>
To: {to}
Subject: {subject}
Date: {formatdate()}
Message-ID: {number}
Auto-Submitted: auto-generated
List-Id: <games.{SERVICE}>
List-Unsubscribe: <https://{SERVICE}/v1/mail/stop/{token}>, <mailto:play+{token}@{SERVICE}?subject=stop>
List-Unsubscribe-Post: List-Unsubscribe=One-Click
MIME-Version: 1.0
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

It is your turn.
To trade off B and C, write:
  2bc
"""
    with smtplib.SMTP(*SMTP, timeout=_SECONDS) as post:
        post.sendmail(f"play+b-{token}@{SERVICE}", [to], raw.replace("\n", "\r\n").encode())
    return number


def check_post(office: RealPostOffice) -> list[str]:
    """Runs all checks. Returns those that failed."""
    checks, sink = Checks(), Sink()
    try:
        _letters_and_answers(checks, office, sink)
        _the_queue(checks, office, sink)
        _bounces(checks, office, sink)
        _vacations(checks, office, sink)
    finally:
        sink.close()
    return checks.failed


def _letters_and_answers(checks: Checks, office: RealPostOffice, sink: Sink) -> None:
    bob = MailboxPlayer(office.open("bob"))
    number = send_letter(bob.mailbox.address)
    letter = bob.next_letter()
    signed = letter.field("DKIM-Signature").replace(" ", "").lower()
    checks.see("a letter reaches its mailbox", letter.id == number, letter.raw.decode())
    both = signed.count("list-unsubscribe:") + signed.count("list-unsubscribe-post")
    checks.see("OpenDKIM signs it, both unsubscribe fields included, once more than they are there", both >= 4, signed)
    checks.see("the provider's OpenDKIM verifies that", _passed(letter), letter.field("Authentication-Results"))
    checks.see("no field is encoded", b"=?" not in letter.raw, letter.raw.decode())
    checks.see(
        "the envelope sender is the address for bounces", f"<play+b-{TOKEN}@{SERVICE}>" in letter.field("Return-Path")
    )
    bob.answer(letter, "2bc")
    checks.see("an answer reaches the door", until(lambda: sink.taken))
    mail = sink.taken[-1]
    checks.see("with the token in its envelope", mail.recipient == f"play+{TOKEN}@{SERVICE}", mail)
    head = mail.raw.partition(b"\r\n\r\n")[0].lower()
    checks.see("Postfix's LMTP client adds no Delivered-To", b"\ndelivered-to:" not in head, head)
    checks.see("the provider has signed it", b"dkim-signature:" in head and b"d=players.example" in head, head)
    send_letter(bob.mailbox.address, subject="changed on its way")
    changed = bob.next_letter().raw
    for field, value in ((b"List-Unsubscribe-Post", b"x"), (b"List-Unsubscribe", b"<https://evil.example/>")):
        office.names.asked.clear()
        added = field + b": " + value + b"\r\n" + changed.partition(b"\r\n\r\n")[0].split(b"DKIM-Signature", 1)[1]
        raw = b"DKIM-Signature" + added.partition(b": " + value + b"\r\n")[2] + b"\r\n" + field + b": " + value
        raw += b"\r\n\r\n" + changed.partition(b"\r\n\r\n")[2]
        with smtplib.SMTP("127.0.0.2", 25, "evil", _SECONDS, ("127.0.0.4", 0)) as provider:
            provider.sendmail("someone@elsewhere.example", [bob.mailbox.address], raw)
        checks.see(f"a second {field.decode()} breaks the signature", not _passed(bob.next_letter()))


def _passed(letter: Letter) -> bool:
    return "dkim=pass" in letter.field("Authentication-Results")


def _the_queue(checks: Checks, office: RealPostOffice, sink: Sink) -> None:
    bob = MailboxPlayer(office.open("bob"))
    before = len(sink.taken)
    sink.reply = "451 4.3.0 later"
    bob.write(f"play+{TOKEN}@{SERVICE}", "later", "2bc")
    checks.see("451 keeps a mail in the queue", until(lambda: sink.refused and office.service.queue()))
    sink.reply = "250 2.0.0 taken"
    office.service.flush()
    checks.see("it comes again, and once", until(lambda: len(sink.taken) == before + 1))
    sink.close()
    bob.write(f"play+{TOKEN}@{SERVICE}", "nobody is there", "2bc")
    checks.see("so does a door at which nobody is", until(office.service.queue))
    sink.__init__()  # type: ignore[misc] # it is there again
    office.service.flush()
    checks.see("when the service is there again", until(lambda: len(sink.taken) == 1))
    both = [f"play+{TOKEN}@{SERVICE}", f"play+{TOKEN[::-1]}@{SERVICE}"]
    bob.mailbox.send(b"From: bob@players.example\r\nMessage-ID: <two@players.example>\r\n\r\n2bc\r\n", both)
    checks.see("a mail to two addresses comes twice, each with one", until(lambda: len(sink.taken) == 3))
    checks.see("their envelopes differ", {mail.recipient for mail in sink.taken[-2:]} == set(both))


def _bounces(checks: Checks, office: RealPostOffice, sink: Sink) -> None:
    before = len(sink.taken)
    send_letter("nobody@players.example")
    checks.see("a letter to an unknown mailbox comes back", until(lambda: len(sink.taken) > before))
    mail = sink.taken[-1]
    checks.see("from the null sender", mail.sender == "", mail.sender)
    checks.see("to the address for bounces", mail.recipient == f"play+b-{TOKEN}@{SERVICE}", mail.recipient)
    report = all(each in mail.raw for each in (b"multipart/report", b"delivery-status", b"Status: 5.1.1"))
    checks.see("as a report with the status 5.1.1", report, mail.raw.decode())
    bob = MailboxPlayer(office.open("bob"))
    known = len(bob.mailbox.received())
    refused = 0
    for address in (f"other@{SERVICE}", f"play+short@{SERVICE}"):
        try:
            with smtplib.SMTP("127.0.0.1", 25, "mx", _SECONDS, ("127.0.0.2", 0)) as post:
                post.sendmail(bob.mailbox.address, [address], b"Subject: x\r\n\r\nx\r\n")
        except smtplib.SMTPRecipientsRefused:
            refused += 1
    checks.see("an address that the service does not have is refused before its mail", refused == 2)
    before = len(sink.taken)
    sink.reply = "550 5.1.1 not ours"
    bob.write(f"play+{TOKEN}@{SERVICE}", "x", "2bc")
    checks.see("550 at the door comes back to the sender", until(lambda: len(bob.mailbox.received()) > known))
    sink.reply = "250 2.0.0 taken"
    checks.see("and nothing reaches the service", len(sink.taken) == before)


def _vacations(checks: Checks, office: RealPostOffice, sink: Sink) -> None:
    away = MailboxPlayer(office.open("away"))
    dovecot.give_rules("away", 'require ["vacation"];\nvacation :days 1 "I am away.";\n')
    before = len(sink.taken)
    send_letter(away.mailbox.address)
    away.next_letter()
    bob = MailboxPlayer(office.open("bob"))
    known = len(bob.mailbox.received())
    bob.write(away.mailbox.address, "are you there?", "hello")
    checks.see("Dovecot's vacation answers people", until(lambda: len(bob.mailbox.received()) > known))
    office.wait_until_empty()
    checks.see("and not a letter with Auto-Submitted and List-Id", len(sink.taken) == before)
