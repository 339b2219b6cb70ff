"""A player who has only a mailbox: reads letters, and answers them with a mail program."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate

from tests.support.mail.mail_programs import MailProgram, above
from tests.support.mail.post_office import Letter, Mailbox, next_letter


@dataclass
class MailboxPlayer:
    """A player with a mailbox and a mail program."""

    mailbox: Mailbox
    program: MailProgram = above
    marks: Sequence[str] = ()
    """Header fields that are in each mail."""
    date: str = ""
    """The field Date of each mail; empty for the time now, without a zone."""
    known: int = 0
    """How many letters the player has read."""
    sent: list[bytes] = field(default_factory=list)
    """The mails that the player has sent."""

    @property
    def name(self) -> str:
        """The local part of the address."""
        return self.mailbox.address.partition("@")[0]

    def next_letter(self, patience: float = 60, wanted: Callable[[Letter], bool] = lambda _: True) -> Letter:
        """Waits for the next unread letter that is `wanted`; those before it count as read."""
        letter, self.known = next_letter(self.mailbox, self.known, patience, wanted)
        return letter

    def answer(self, letter: Letter, *written: str) -> bytes:
        """Answers a letter with these lines, as real programs do. Returns the bytes that were sent."""
        ids = " ".join([*letter.references, letter.id])
        subject = letter.subject if letter.subject.lower().startswith("re:") else f"Re: {letter.subject}"
        fields = [f"In-Reply-To: {letter.id}", f"References: {ids}"] if letter.id else []
        return self._send(letter.answered_to, subject, fields, *self.program("\n".join(written), letter))

    def write(self, to: str, subject: str, *written: str) -> bytes:
        """Writes a mail that answers nothing. Returns the bytes that were sent."""
        text = ("\n".join(written) + "\n").encode()
        return self._send(to, subject, [], ('Content-Type: text/plain; charset="utf-8"',), text)

    def _send(self, to: str, subject: str, fields: list[str], how: tuple[str, ...], text: bytes) -> bytes:
        address = self.mailbox.address
        domain = address.partition("@")[2]
        head = [
            f'From: "{self.name.title()}" <{address}>',
            f"To: {to}",
            f"Subject: {subject}",
            f"Date: {self.date or formatdate(localtime=False)}",
            f"Message-ID: <{secrets.token_hex(8)}@{domain}>",
            *fields,
            *self.marks,
            "MIME-Version: 1.0",
            *how,
        ]
        raw = "\n".join(head).encode() + b"\n\n" + text
        raw = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        self.sent.append(raw)
        self.mailbox.send(raw, [to])
        return raw
