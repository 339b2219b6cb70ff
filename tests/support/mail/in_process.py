"""The players' provider in this process: an SMTP server on loopback, mailboxes in memory, and a queue.

It does what Postfix does between a service and its players. A letter is accepted, and what cannot be delivered comes
back to its envelope sender as a bounce. A mail from a player is given to the service's LMTP door, again and again
while that says 4xx or is not there.
"""

from __future__ import annotations

import smtplib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate, make_msgid
from typing import Final, NamedTuple

from tests.support.mail.servers import MailServer

_RETRY: Final = 0.1
_SECONDS: Final = 30
UNKNOWN: Final = "5.1.1 no such mailbox here"
"""The text of a bounce of an unknown mailbox."""


class QueuedMail(NamedTuple):
    """A message on its way to the service, with LMTP's envelope."""

    sender: str
    recipient: str
    raw: bytes


@dataclass
class MailboxInMemory:
    """A mailbox in memory."""

    address: str
    _office: MemoryPostOffice
    messages: list[bytes] = field(default_factory=list)

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        for recipient in to:
            self._office.queue(QueuedMail(self.address, recipient, raw))

    def received(self) -> list[bytes]:
        return list(self.messages)


class MemoryPostOffice:
    """A provider for `domain`. `door` gives host and port of the service's LMTP door.

    The service sends its letters to `port`. An address in `refused` bounces with that text; an unknown one does too.
    """

    grade = "token"

    def __init__(self, door: Callable[[], tuple[str, int]], domain: str = "players.example") -> None:
        self.domain = domain
        self.refused: dict[str, str] = {}
        self.returned: list[tuple[QueuedMail, str]] = []
        """Mails that the service refused for good, with its reply."""
        self.replies: list[str] = []
        """The service's replies, in order."""
        self._door = door
        self._mailboxes: dict[str, MailboxInMemory] = {}
        self._waiting: deque[QueuedMail] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._busy = False
        self._server = MailServer(self._took)
        self.port = self._server.port
        self._thread = threading.Thread(target=self._deliver, daemon=True)
        self._thread.start()

    def open(self, name: str) -> MailboxInMemory:
        """The mailbox with this local part; it is made if need be."""
        address = f"{name}@{self.domain}"
        if address not in self._mailboxes:
            self._mailboxes[address] = MailboxInMemory(address, self)
        return self._mailboxes[address]

    def queue(self, mail: QueuedMail) -> None:
        """Takes a mail to the service."""
        trace = f"Received: from phone by mx.{self.domain}; {formatdate()}\r\n".encode()
        with self._changed:
            self._waiting.append(mail._replace(raw=trace + mail.raw))
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many mails wait, or are being given to the service."""
        with self._changed:
            return len(self._waiting) + self._busy

    def wait_until_empty(self, patience: float = _SECONDS) -> None:
        """Waits until the service has taken, or refused, all mails."""
        end = time.monotonic() + patience
        while self.waiting:
            assert time.monotonic() < end, self.replies[-3:]
            time.sleep(0.01)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_SECONDS)
        self._server.close()

    def _took(self, sender: str, recipients: list[str], content: bytes) -> str:
        refused: dict[str, list[str]] = defaultdict(list)
        for recipient in recipients:
            address = recipient.lower()
            if address in self.refused or address not in self._mailboxes:
                refused[self.refused.get(address, UNKNOWN)].append(recipient)
            else:
                self._mailboxes[address].messages.append(f"Return-Path: <{sender}>\r\n".encode() + content)
        for status, failed in refused.items():
            if sender:  # a bounce does not bounce
                for recipient in failed:
                    self.queue(QueuedMail("", sender, bounce(self.domain, sender, recipient, status, content)))
        return "250 2.0.0 queued"

    def _deliver(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                mail = self._waiting.popleft()
                self._busy = True
            code, said = self._give(mail)
            self.replies.append(f"{code} {said}")
            if 400 <= code < 500:
                with self._changed:
                    self._waiting.append(mail)
                    self._changed.wait(_RETRY)
            elif code >= 500:
                self.returned.append((mail, f"{code} {said}"))

    def _give(self, mail: QueuedMail) -> tuple[int, str]:
        try:
            host, port = self._door()
            with smtplib.LMTP(host, port, local_hostname=f"mx.{self.domain}", timeout=_SECONDS) as door:
                refused = door.sendmail(mail.sender, [mail.recipient], mail.raw)
        except smtplib.SMTPRecipientsRefused as error:
            code, said = error.recipients[mail.recipient]
        except smtplib.SMTPResponseException as error:
            code, text = error.smtp_code, error.smtp_error
            said = text if isinstance(text, bytes) else text.encode()
        except (OSError, smtplib.SMTPException) as error:
            return 451, type(error).__name__  # nobody listens, or the connection broke off
        else:
            code, said = refused.get(mail.recipient, (250, b"taken"))
        return code, said.decode("ascii", "replace")


def bounce(domain: str, to: str, failed: str, status: str, raw: bytes) -> bytes:
    """A bounce as Postfix writes it, by RFC 3464; `status` begins with the enhanced status code."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("ascii", "replace")
    text = f"""\
From: MAILER-DAEMON@mx.{domain} (Mail Delivery System)
To: {to}
Subject: Undelivered Mail Returned to Sender
Date: {formatdate()}
Message-ID: {make_msgid(domain=f"mx.{domain}")}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="=_bounce"

This is a MIME-encapsulated message.

--=_bounce
Content-Type: text/plain; charset=us-ascii

<{failed}>: {status}

--=_bounce
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.{domain}
Arrival-Date: {formatdate()}

Final-Recipient: rfc822; {failed}
Original-Recipient: rfc822;{failed}
Action: failed
Status: {status.split(maxsplit=1)[0]}
Diagnostic-Code: smtp; 550 {status}

--=_bounce
Content-Type: text/rfc822-headers

{head}

--=_bounce--
"""
    return text.replace("\n", "\r\n").encode()
