"""Mailboxes of players: what a player's mail program can do, and a letter as it shows it.

There are two post offices: `in_process` with mailboxes in memory, and the real one of `tests.lab.mail` with Postfix and
Dovecot.
"""

from __future__ import annotations

import email
import email.policy
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from functools import cached_property
from typing import Protocol

_PAUSE = 0.02


class NoLetterError(AssertionError):
    """No letter came in time."""


class Mailbox(Protocol):
    """The mailbox of one address."""

    @property
    def address(self) -> str:
        """The address."""

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        """Hands a message with CRLF line ends over to the player's provider, as sent by this address."""

    def received(self) -> list[bytes]:
        """All messages that have arrived so far, the oldest first."""


class PostOffice(Protocol):
    """The players' provider."""

    @property
    def grade(self) -> str:
        """The grade of a mail that it sends on: `dkim` if it signs them."""

    def open(self, name: str) -> Mailbox:
        """The mailbox of the provider with this local part; it is made if need be."""


@dataclass(frozen=True)
class Letter:
    """A message that a mailbox has received, read as a mail program reads it."""

    raw: bytes

    @cached_property
    def message(self) -> EmailMessage:
        """The parsed message. Letters of the service are well-formed, so the reader of the standard library will do."""
        parsed = email.message_from_bytes(self.raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def field(self, name: str) -> str:
        """The text of a header field; empty without it."""
        return str(self.message.get(name, ""))

    @property
    def subject(self) -> str:
        return self.field("Subject")

    @property
    def id(self) -> str:
        return self.field("Message-ID").strip()

    @property
    def references(self) -> list[str]:
        """The ids in `References`, the oldest first."""
        return re.findall(r"<[^<>\s]+>", self.field("References"))

    @property
    def author(self) -> str:
        """From, as it is shown above a quotation."""
        return self.field("From")

    @property
    def answered_to(self) -> str:
        """The address that an answer goes to: Reply-To, else From."""
        return parseaddr(self.field("Reply-To") or self.author)[1]

    @cached_property
    def text(self) -> str:
        """The first part that is plain text."""
        body = self.message.get_body(("plain",))
        return str(body.get_content()).replace("\r\n", "\n") if isinstance(body, EmailMessage) else ""

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def attachments(self) -> dict[str, bytes]:
        """Attached files by name."""
        parts = self.message.iter_attachments()
        return {part.get_filename() or "": part.get_payload(decode=True) for part in parts}  # type: ignore[misc] # bytes


def letters(mailbox: Mailbox) -> list[Letter]:
    """All letters in a mailbox, the oldest first."""
    return [Letter(raw) for raw in mailbox.received()]


def next_letter(
    mailbox: Mailbox, known: int, patience: float = 60, wanted: Callable[[Letter], bool] = lambda _: True
) -> tuple[Letter, int]:
    """Waits for a letter beyond the first `known` ones. Returns it, and the number of letters up to it.

    Raises `NoLetterError` if none that is `wanted` came within `patience` seconds.
    """
    end = time.monotonic() + patience
    while True:
        found = letters(mailbox)
        for number, letter in enumerate(found[known:], known + 1):
            if wanted(letter):
                return letter, number
        if time.monotonic() > end:
            raise NoLetterError(f"no letter for {mailbox.address} in {patience} s; {len(found)} had come before")
        time.sleep(_PAUSE)
