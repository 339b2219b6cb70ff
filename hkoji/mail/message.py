"""A mail's parts and its text. Every function takes time linear in the size of the mail.

`READER_VERSION` names the rules for reading mails and the orders in them, docs/spec/mails.md. What they read is bound
to entries of logs, so a change of any of them is a new version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.mail.decoding import decode_charset, decode_transfer, join_flowed, split_lines
from hkoji.mail.fields import (
    MailField,
    MediaType,
    only_field,
    read_fields,
    read_media_type,
    split_header,
    with_newlines,
    without_mbox_line,
)
from hkoji.mail.html_text import html_to_text
from hkoji.mail.mail_commitment import with_crlf
from hkoji.mail.mail_types import MailText
from hkoji.messages.text import tell

READER_VERSION: Final = 1

MOST_PARTS: Final = 20
MOST_DEPTH: Final = 5
LONGEST_HTML: Final = 64 * 1024
"""In bytes, decoded from its transfer encoding."""

_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_TEXT: Final = MediaType("text/plain", ())
_ALTERNATIVE: Final = "multipart/alternative"
_READ_THROUGH: Final = frozenset({_ALTERNATIVE, "multipart/mixed", "multipart/related", "multipart/signed"})
_CLOSED: Final = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_TRACE: Final = frozenset({b"received", b"return-path", b"delivered-to", b"x-original-to"})


class MailPart(NamedTuple):
    """A mail or a part of it. `body` has newlines at the ends of its lines; a multipart has `parts`."""

    fields: tuple[MailField, ...]
    kind: MediaType
    body: bytes
    parts: tuple[MailPart, ...] = ()

    def content(self) -> bytes:
        """Returns the body without its transfer encoding. Raises `UnreadableMailError`."""
        encoding = only_field(self.fields, "content-transfer-encoding")
        return decode_transfer(self.body, "" if encoding is None else encoding.text)

    @property
    def attached(self) -> bool:
        """Whether it is an attachment."""
        disposition = only_field(self.fields, "content-disposition")
        return disposition is not None and disposition.text.partition(";")[0].strip().lower() not in ("", "inline")


def read_parts(raw: bytes) -> MailPart:
    """Returns a mail with all its parts.

    Raises `UnreadableMailError` for one over a limit, and for fields about parts that have no clear meaning.
    """
    return _read_part(with_newlines(raw), _Count(), 1)


def read_text(raw: bytes) -> MailText:
    """Returns the text of a mail: its first text/plain or text/html with any text that is no attachment.

    Of alternatives the plain text comes first. A mail without any text has no lines. Raises `UnreadableMailError` for
    one over a limit, one that is encrypted, and one whose text cannot be decoded.
    """
    parts = list(_leaves(read_parts(raw)))
    for part in parts:
        read = _READERS.get(part.kind.name)
        lines = () if read is None else tuple(read(part))
        if any(line.strip() for line in lines):
            return MailText(lines, from_html=read is _html_lines)
    if any(part.kind.name in _CLOSED for part in parts):
        raise UnreadableMailError(tell("it is encrypted, or its text is within its signature"))
    return MailText((), from_html=any(part.kind.name == "text/html" for part in parts))


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
    fields = read_fields(header)
    declared = only_field(fields, "content-type")
    kind = _TEXT if declared is None else read_media_type(declared)
    if kind is None:
        raise UnreadableMailError(tell("a Content-Type field names no type"))
    if not kind.name.startswith("multipart/"):
        return MailPart(fields, kind, body)
    if depth > MOST_DEPTH:
        raise UnreadableMailError(tell("its parts are nested more than {limit} deep", limit=MOST_DEPTH))
    parts = []
    for each in _split_parts(body, kind):
        count.parts += 1
        if count.parts > MOST_PARTS:
            raise UnreadableMailError(tell("it has more than {limit} parts", limit=MOST_PARTS))
        parts.append(_read_part(each, count, depth + 1))
    return MailPart(fields, kind, b"", tuple(parts))


def _split_parts(body: bytes, kind: MediaType) -> Iterator[bytes]:
    """Yields the parts of a multipart's body. The last one may lack the line that ends it, if a mail was cut off."""
    boundary = kind.parameter("boundary") or ""
    if not _BOUNDARY.fullmatch(boundary):
        raise UnreadableMailError(tell("it has parts without a valid boundary between them"))
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


def _leaves(part: MailPart) -> Iterator[MailPart]:
    """Yields the parts that are no attachments, in order, in the multiparts that are read."""
    if part.kind.name in _READ_THROUGH:
        parts: Iterable[MailPart] = part.parts
        if part.kind.name == _ALTERNATIVE:
            parts = sorted(parts, key=lambda each: each.kind.name != _TEXT.name)
        for each in parts:
            yield from _leaves(each)
    elif part.kind.name in _CLOSED or not part.attached:
        yield part


def _plain_lines(part: MailPart) -> list[str]:
    lines = split_lines(decode_charset(part.content(), part.kind.parameter("charset")))
    if (part.kind.parameter("format") or "").lower() != "flowed":
        return lines
    return join_flowed(lines, delete_space=(part.kind.parameter("delsp") or "").lower() == "yes")


def _html_lines(part: MailPart) -> list[str]:
    data = part.content()
    if len(data) > LONGEST_HTML:
        raise UnreadableMailError(tell("its text is HTML of more than {limit} KiB", limit=LONGEST_HTML // 1024))
    return split_lines(html_to_text(decode_charset(data, part.kind.parameter("charset"))))


_READERS: Final = {_TEXT.name: _plain_lines, "text/html": _html_lines}


def _line_end(text: bytes, place: int) -> int:
    end = text.find(b"\n", place)
    return len(text) if end < 0 else end + 1
