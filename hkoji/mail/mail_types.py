"""What the readers of mails return. Each function that returns one of these is named in its docstring."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from hkoji.messages.text import Text


class Automatic(StrEnum):
    """Why a mail counts as sent by a program: the header field that says so. Such mails are never answered."""

    AUTO_SUBMITTED = "auto-submitted"
    PRECEDENCE = "precedence"
    LIST_ID = "list-id"
    X_AUTOREPLY = "x-autoreply"
    X_AUTORESPOND = "x-autorespond"
    X_HKOJI = "x-hkoji"
    REPORT = "content-type"
    """`multipart/report`: a receipt, or another report about a letter (RFC 6522). Nobody writes one by hand."""


@dataclass(frozen=True, slots=True)
class MailHeader:
    """The fields that count (`hkoji.mail.header.read_header`). Ids have their angle brackets.

    `sender` is the one address of From, in lower case; exactly one of it and `sender_fault` is None. `message_id` is
    the first id in the field, None if it has none. Addresses are in lower case, those of `to` and `cc` in order.
    `subject` is decoded and on one line; it is empty if there are two. `automatic` says that a program wrote the mail,
    whatever else is wrong with it.
    """

    sender: str | None
    sender_fault: Text | None
    message_id: str | None
    in_reply_to: str | None
    last_reference: str | None
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    delivered_to: str | None
    x_original_to: str | None
    automatic: Automatic | None


class MailText(NamedTuple):
    """The text of a mail as decoded lines without line ends (`hkoji.mail.message.read_text`).

    In lines from HTML a quotation stands as one line `>`.
    """

    lines: tuple[str, ...]
    from_html: bool


class BounceClass(StrEnum):
    """What a bounce says about a mailbox."""

    PERMANENT = "permanent"
    """5.1.1 and 5.1.10: there is no such mailbox."""
    POLICY = "policy"
    """5.7.…: our letters are not welcome; it says nothing about the mailbox."""
    FAILED = "failed"
    """Every other 5.…: a few of them in a week are as good as permanent."""
    DELAYED = "delayed"
    """4.…: the letter may still arrive. It counts as no bounce."""
    COMPLAINT = "complaint"
    """The letter has arrived, and its reader has told the provider that it is not wanted."""


class Bounce(NamedTuple):
    """A report about a letter of ours (`hkoji.mail.bounce.read_bounce`).

    `status` is like `5.1.1`, empty of a complaint. `message_id` is that of the letter, with its angle brackets, if the
    report quotes it.
    """

    kind: BounceClass
    status: str
    message_id: str | None
