"""Reports that a letter was not delivered (RFC 3464, and as Exim writes them), or that it is not wanted (RFC 5965)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.mail.message import MailPart

_REPORT_TYPE: Final = "delivery-status"
_COMPLAINT_PART: Final = "message/feedback-report"
_FAILED_RECIPIENTS: Final = "x-failed-recipients"
_STATUS_PART: Final = frozenset({"message/delivery-status", "message/global-delivery-status"})
_QUOTING: Final = frozenset({"message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers"})
_STATUS = re.compile(rb"^Status:[ \t]*([45]\.[0-9]{1,3}\.[0-9]{1,3})(?![0-9.])", re.IGNORECASE | re.MULTILINE)
_FEEDBACK_TYPE = re.compile(rb"^Feedback-Type:[ \t]*([a-z-]{1,40})", re.IGNORECASE | re.MULTILINE)
_WANTED: Final = b"not-spam"
_SAID = re.compile(rb"(?<![0-9.])[45][0-9]{2}[ -]([45]\.[0-9]{1,3}\.[0-9]{1,3})(?![0-9.])")
"""The words of a mail server, as a report in words quotes it: a reply code, and the status."""
_UNKNOWN_FAILURE: Final = "5.0.0"
_MESSAGE_ID = re.compile(rb"^Message-ID:\s{0,9}(<[!-;=?-~]{1,996}>)", re.IGNORECASE | re.MULTILINE)
_NO_MAILBOX: Final = frozenset({"5.1.1", "5.1.10"})


class BounceClass(StrEnum):
    """The state of a mailbox, as a bounce reports it."""

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
    """A report about a letter of ours.

    `status` is like `5.1.1`, empty of a complaint. `message_id` is that of the letter, with its angle brackets, if the
    report quotes it.
    """

    kind: BounceClass
    status: str
    message_id: str | None


def read_bounce(report: MailPart) -> Bounce | None:
    """Returns what a report about a letter says, from its parts; None for every other mail, and for a success.

    A report is known by its parts, whatever the multipart around them is called, or by `X-Failed-Recipients`, of which
    the text has the details. A report by anybody can say anything: it is one about a letter of ours only with a null
    sender in its envelope, and the token of the letter in its recipient or in the Message-ID that it quotes. If it is
    about several recipients, a failure counts before a delay. Raises `UnreadableMailError`.
    """
    complaints = [_FEEDBACK_TYPE.search(_content(part)) for part in report.parts if part.kind.name == _COMPLAINT_PART]
    if any(each is not None and each[1].lower() != _WANTED for each in complaints):
        return Bounce(BounceClass.COMPLAINT, "", _quoted_id(report))
    if (report.kind.parameter("report-type") or _REPORT_TYPE).lower() != _REPORT_TYPE:
        return None
    codes = [
        code.decode("ascii")
        for part in report.parts
        if part.kind.name in _STATUS_PART
        for code in _STATUS.findall(_content(part))
    ]
    if not codes:
        return _in_words(report)
    status = max(codes, key=lambda code: code[0])
    return Bounce(class_of_status(status), status, _quoted_id(report))


def _in_words(report: MailPart) -> Bounce | None:
    if all(field.name.lower() != _FAILED_RECIPIENTS for field in report.fields):
        return None
    text = b"\n".join(_content(part) for part in report.parts or (report,) if part.kind.name == "text/plain")
    said = _SAID.search(text)
    status = _UNKNOWN_FAILURE if said is None else said[1].decode("ascii")
    # The letter is quoted behind the words, its header first.
    found = _MESSAGE_ID.search(text)
    quoted = _quoted_id(report) if found is None else found[1].decode("ascii")
    return Bounce(class_of_status(status), status, quoted)


def class_of_status(status: str) -> BounceClass:
    """Returns what a status code of RFC 3463 that begins with 4 or 5 says about a mailbox."""
    if status.startswith("4"):
        return BounceClass.DELAYED
    if status in _NO_MAILBOX:
        return BounceClass.PERMANENT
    return BounceClass.POLICY if status.startswith("5.7.") else BounceClass.FAILED


def _quoted_id(report: MailPart) -> str | None:
    for part in report.parts:
        if part.kind.name in _QUOTING:
            header = _content(part).partition(b"\n\n")[0]
            found = _MESSAGE_ID.search(header)
            if found is not None:
                return found[1].decode("ascii")
    return None


def _content(part: MailPart) -> bytes:
    try:
        return part.content().replace(b"\r\n", b"\n")
    except UnreadableMailError:
        return b""
