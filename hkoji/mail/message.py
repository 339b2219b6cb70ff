"""A mail's parts, its text, and the report that it may be. Every function takes time linear in the size of the mail.

`READER_VERSION` names the rules for reading mails and the orders in them, docs/spec/mails.md. Their results are bound
to entries of logs, so a change of any of them is a new version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.mail.fields import (
    MailField,
    MediaType,
    decode_charset,
    decode_transfer,
    join_flowed,
    only_field,
    read_fields,
    read_media_type,
    split_header,
    split_lines,
    without_mbox_line,
)
from hkoji.mail.html_text import html_to_text
from hkoji.mail.tokens import with_crlf
from hkoji.messages.text import Text, tell

READER_VERSION: Final = 2
READERS: Final = frozenset({1, READER_VERSION})
"""The versions by whose rules mails are read: each mail that version 1 understood means the same in version 2, but for
what `read_texts` and `order_paragraph` say. A mail that is bound to an entry of a log names its version.
"""

MOST_PARTS: Final = 20
MOST_DEPTH: Final = 5
LONGEST_HTML: Final = 64 * 1024
"""In bytes, decoded from its transfer encoding."""

_SAYS_TEXT = re.compile(r"[ \t\"']*text(?![\w/])", re.IGNORECASE)
_BOUNDARY = re.compile(r"[ -~]{0,199}[!-~]")
_TEXT: Final = MediaType("text/plain", ())
_UNKNOWN: Final = MediaType("", ())
_HTML: Final = "text/html"
_ALTERNATIVE: Final = "multipart/alternative"
_READ_THROUGH: Final = frozenset({_ALTERNATIVE, "multipart/mixed", "multipart/related", "multipart/signed"})
_CLOSED: Final = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_TRACE: Final = frozenset({b"received", b"return-path", b"delivered-to", b"x-original-to"})


class MailText(NamedTuple):
    """The text of a mail as decoded lines without line ends.

    In lines from HTML a quotation stands as one line `>`.
    """

    lines: tuple[str, ...]
    from_html: bool


class MailPart(NamedTuple):
    """A mail or a part of it. `body` has newlines at the ends of its lines; a multipart has `parts`.

    `fault` says why nothing is known of a part: it is as good as an attachment.
    """

    fields: tuple[MailField, ...]
    kind: MediaType
    body: bytes
    parts: tuple[MailPart, ...] = ()
    fault: Text | None = None

    def content(self) -> bytes:
        """Returns the body without its transfer encoding. Raises `UnreadableMailError`."""
        encoding = only_field(self.fields, "content-transfer-encoding")
        return decode_transfer(self.body, "" if encoding is None else encoding.text)

    @property
    def attached(self) -> bool:
        """Whether it is an attachment."""
        disposition = only_field(self.fields, "content-disposition")
        return disposition is not None and disposition.text.partition(";")[0].strip().lower() not in ("", "inline")


def read_parts(fields: tuple[MailField, ...], body: bytes) -> MailPart:
    """Returns a mail with all its parts.

    Raises `UnreadableMailError` for one over a limit, and for fields about the whole mail that have no clear meaning.
    """
    kind, boundary = _kind_of(fields, whole=True)
    return _with_parts(MailPart(fields, kind, body), boundary, _Count(), 1)


def read_texts(mail: MailPart, reader: int = READER_VERSION) -> Iterator[MailText]:
    """Yields the text of a mail, and then the same text in HTML if it is in a multipart/alternative with it.

    It is the first text/plain or text/html with any text that is no attachment. Of alternatives the plain text comes
    first. Version 1 of the `reader` also read what HTML hides or strikes out, and ended no line in `pre`. Raises
    `UnreadableMailError` for a mail over a limit, one that is encrypted, and one whose text cannot be decoded.
    """
    groups = list(_groups(mail))
    for group in groups:
        found = _texts(group, reader)
        first = next(found, None)
        if first is not None:
            yield first
            if not first.from_html:
                yield from (each for each in found if each.from_html)
            return
    parts = [part for group in groups for part in group]
    if any(part.kind.name in _CLOSED for part in parts):
        raise UnreadableMailError(tell("it is encrypted, or its text is within its signature"))
    fault = next((part.fault for part in parts if part.fault is not None), None)
    if fault is not None:
        raise UnreadableMailError(fault)
    yield MailText((), from_html=any(part.kind.name == _HTML for part in parts))


def without_trace(raw: bytes) -> bytes:
    """Returns a mail, with CRLF line ends, without the fields that delivery writes at its top.

    So a mail that is delivered twice is the same mail, whichever way it took.
    """
    rest = without_mbox_line(with_crlf(raw))
    place = 0
    while rest[place : rest.find(b":", place, place + 20)].lower() in _TRACE:
        place = _line_end(rest, place)
        while rest[place : place + 1] in (b" ", b"\t"):
            place = _line_end(rest, place)
    return rest[place:]


class _Count:
    """How many parts were read."""

    def __init__(self) -> None:
        self.parts = 0


def _read_part(entity: bytes, count: _Count, depth: int) -> MailPart:
    header, body = split_header(entity)
    try:
        fields = read_fields(header)
        kind, boundary = _kind_of(fields, whole=False)
    except UnreadableMailError as error:
        return MailPart((), _UNKNOWN, b"", fault=error.reason)
    return _with_parts(MailPart(fields, kind, body), boundary, count, depth)


def _with_parts(whole: MailPart, boundary: str | None, count: _Count, depth: int) -> MailPart:
    """Returns a mail or a part `depth` deep with the parts in its body, if there is a boundary between them."""
    if boundary is None:
        return whole
    if depth > MOST_DEPTH:
        raise UnreadableMailError(tell("its parts are nested more than {limit} deep", limit=MOST_DEPTH))
    parts = []
    for each in _split_parts(whole.body, boundary):
        count.parts += 1
        if count.parts > MOST_PARTS:
            raise UnreadableMailError(tell("it has more than {limit} parts", limit=MOST_PARTS))
        parts.append(_read_part(each, count, depth + 1))
    return whole._replace(body=b"", parts=tuple(parts))


def _kind_of(fields: tuple[MailField, ...], *, whole: bool) -> tuple[MediaType, str | None]:
    """Returns the type of a mail, if it is the `whole` mail, or of a part, and what stands between the parts of it.

    Raises `UnreadableMailError` for fields that have no clear meaning.
    """
    kind = _declared_kind(fields, whole=whole)
    boundary = _boundary_of(kind)
    for name in ("content-disposition", "content-transfer-encoding"):
        only_field(fields, name)
    return kind, boundary


def _declared_kind(fields: tuple[MailField, ...], *, whole: bool) -> MediaType:
    """Returns the type of a mail or a part.

    A mail whose type is none is plain text (RFC 2045, 5.2). A part of it could be anything, unless it says `text`.
    """
    declared = only_field(fields, "content-type")
    kind = _TEXT if declared is None else read_media_type(declared)
    if kind is not None:
        return kind
    assert declared is not None
    if whole or _SAYS_TEXT.match(declared.text):
        return _TEXT
    raise UnreadableMailError(tell("a Content-Type field names no type"))


def _boundary_of(kind: MediaType) -> str | None:
    """Returns what stands between the parts of a multipart, None for everything else."""
    if not kind.name.startswith("multipart/"):
        return None
    boundary = kind.parameter("boundary") or ""
    if not _BOUNDARY.fullmatch(boundary):
        raise UnreadableMailError(tell("it has parts without a valid boundary between them"))
    return boundary


def _split_parts(body: bytes, boundary: str) -> Iterator[bytes]:
    """Yields the parts of a multipart's body. The last one may lack the line that ends it, if a mail was cut off."""
    line = re.compile(rb"^--" + re.escape(boundary.encode("ascii")) + rb"(--)?[ \t]*+$\n?", re.MULTILINE)
    start = -1
    for found in line.finditer(body):
        if start >= 0:
            yield body[start : max(start, found.start() - 1)]
        if found[1]:
            return
        start = found.end()
    if start >= 0:
        yield body[start:]


def _groups(part: MailPart) -> Iterator[tuple[MailPart, ...]]:
    """Yields the parts that are no attachments, in order, in the multiparts that are read; alternatives together."""
    if part.kind.name == _ALTERNATIVE:
        parts = sorted(part.parts, key=lambda each: each.kind.name != _TEXT.name)
        yield tuple(leaf for each in parts for group in _groups(each) for leaf in group)
    elif part.kind.name in _READ_THROUGH:
        for each in part.parts:
            yield from _groups(each)
    elif part.kind.name in _CLOSED or part.fault is not None or not part.attached:
        yield (part,)


def _texts(group: tuple[MailPart, ...], reader: int) -> Iterator[MailText]:
    """Yields the texts of one part, or of alternatives, that are not blank.

    One that cannot be decoded is passed over if another can. Raises `UnreadableMailError` if none can.
    """
    fault: UnreadableMailError | None = None
    any_found = False
    for part in group:
        read = _READERS.get(part.kind.name)
        if read is None:
            continue
        try:
            lines = tuple(read(part, reader))
        except UnreadableMailError as error:
            fault = fault or error
            continue
        if any(line.strip() for line in lines):
            any_found = True
            yield MailText(lines, from_html=read is _html_lines)
    if fault is not None and not any_found:
        raise fault


def _plain_lines(part: MailPart, reader: int) -> list[str]:
    lines = split_lines(decode_charset(part.content(), _charset_of(part)), reader)
    if (part.kind.parameter("format") or "").lower() != "flowed":
        return lines
    return join_flowed(lines, delete_space=(part.kind.parameter("delsp") or "").lower() == "yes")


def _html_lines(part: MailPart, reader: int) -> list[str]:
    data = part.content()
    if len(data) > LONGEST_HTML:
        raise UnreadableMailError(tell("its text is HTML of more than {limit} KiB", limit=LONGEST_HTML // 1024))
    return split_lines(html_to_text(decode_charset(data, _charset_of(part)), reader), reader)


def _charset_of(part: MailPart) -> str | None:
    """Returns the charset of a text, None if it has none. Two that differ are none that is known."""
    named = [value for key, value in part.kind.parameters if key == "charset"]
    return " and ".join(dict.fromkeys(named)) if named else None


_READERS: Final = {_TEXT.name: _plain_lines, _HTML: _html_lines}


def _line_end(text: bytes, place: int) -> int:
    end = text.find(b"\n", place)
    return len(text) if end < 0 else end + 1


# --- reports that a letter was not delivered (RFC 3464, and as Exim writes them), or is not wanted (RFC 5965) ---------

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
