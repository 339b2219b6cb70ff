"""Header fields of mails and of their parts, within limits. Every function takes time linear in what it reads.

A field is `name:value`, with the value on one or more lines (RFC 5322, 2.2). Faults that mail servers repair on the way
are read as the servers write them. Nothing else is read: a reader that guesses what a broken header means could be led
to another meaning than the one that a player's mail program shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.messages.text import tell

LONGEST_MAIL: Final = 256 * 1024
LONGEST_HEADER: Final = 64 * 1024
LONGEST_FIELD: Final = 8 * 1024
LONGEST_FROM: Final = 1024
"""All in bytes, with line ends."""
NO_FIELD: Final = tell("its header has a line that is no field")

# `From : …` is a field with an obsolete space (RFC 5322, 4.5).
_NAME = re.compile(rb"([!-9;-~]+)[ \t]*:")
_MBOX = re.compile(rb"From (?![ \t]*:).*\n?")
_MBOX_WITHIN = re.compile(rb">*From (?![ \t]*:)")
_FIELD_END = re.compile(rb"\n(?![ \t])")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_TYPE = re.compile(r"[ \t]*([\w!#$&^.+-]+)/([\w!#$&^.+-]+)[ \t]*(?=[;(]|$)", re.ASCII)
_BROKEN_TYPE = re.compile(r"[ \t\"']*([\w!#$&^.+-]+)/([\w!#$&^.+-]+)", re.ASCII)
_PARAMETER = re.compile(r';[ \t]*([\w!#$&^.+*%-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*+)"|([^ \t;"()<>@,]+))', re.ASCII)
_OUTSIDE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^"(]++', re.DOTALL)
_BOUNDARY: Final = "boundary"
_QUOTED_PAIR = re.compile(r"\\(.)")


class MailField(NamedTuple):
    """A header field: its name in lower case, and its value on one line, without the space around it.

    `written` is the whole field as it stands in the mail, with newlines where it is folded.
    """

    name: str
    value: bytes
    written: bytes

    @property
    def text(self) -> str:
        """The value as text; bytes that are not UTF-8 become the replacement character."""
        return self.value.decode("utf-8", "replace")


class MediaType(NamedTuple):
    """A Content-Type: `text/plain`, and the parameters that are well formed, with names in lower case."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    def parameter(self, name: str) -> str | None:
        """Returns a parameter, None if it is missing. Raises `UnreadableMailError` if there are two that differ."""
        found = {value for key, value in self.parameters if key == name}
        if len(found) > 1:
            raise UnreadableMailError(tell("a Content-Type field says two things about {name}", name=name))
        return found.pop() if found else None


def with_newlines(raw: bytes) -> bytes:
    """Returns a mail with one newline at the end of each line.

    A line `From …` at the top, as some delivery agents write it, is no part of it.
    Raises `UnreadableMailError` if it is larger than a mail may be.
    """
    if len(raw) > LONGEST_MAIL:
        raise UnreadableMailError(tell("it is larger than {limit} KiB", limit=LONGEST_MAIL // 1024))
    return without_mbox_line(raw.replace(b"\r\n", b"\n"))


def without_mbox_line(mail: bytes) -> bytes:
    """Returns a mail without the line `From …` that some delivery agents write at its top."""
    line = _MBOX.match(mail)
    return mail if line is None else mail[line.end() :]


def as_read(raw: bytes) -> bytes:
    """Returns a mail as it is read: as `with_newlines` does, and with the ends of lines that mail servers repair.

    A mail whose header ends in CR CR LF has one CR too many in each line. A byte order mark before it is not part
    of it. Signatures are verified without these repairs. Raises as `with_newlines` does.
    """
    mail = with_newlines(raw.removeprefix(_BYTE_ORDER_MARK))
    return mail.replace(b"\r\n", b"\n") if b"\n\r\n" in mail.partition(b"\n\n")[0] + b"\n" else mail


def split_header(entity: bytes) -> tuple[bytes, bytes]:
    """Returns the header and the body of a mail or a part, whose lines end in newlines."""
    if entity.startswith(b"\n"):
        return b"", entity[1:]
    header, _, body = entity.partition(b"\n\n")
    return header, body


def read_fields(header: bytes) -> tuple[MailField, ...]:
    """Returns the fields of a header whose lines end in newlines, top first.

    Spaces before a colon, and lines `From …` or `>From …` of mailbox files, are passed over. Raises
    `UnreadableMailError` over a limit, and for a line that is no field.
    """
    if len(header) > LONGEST_HEADER:
        raise UnreadableMailError(tell("its header is larger than {limit} KiB", limit=LONGEST_HEADER // 1024))
    fields = []
    for written in split_fields(header):
        line = written.replace(b"\n", b"")
        name = _NAME.match(line)
        if name is None:
            if _MBOX_WITHIN.match(line):
                continue
            raise UnreadableMailError(NO_FIELD)
        known = name[1].decode("ascii")
        limit = LONGEST_FROM if known.lower() == "from" else LONGEST_FIELD
        if len(line) > limit:
            raise UnreadableMailError(
                tell("the field {name} is larger than {limit} bytes", name=known[:40], limit=limit)
            )
        fields.append(MailField(known.lower(), line[name.end() :].strip(), written))
    return tuple(fields)


def fields_there(header: bytes) -> tuple[MailField, ...]:
    """Returns the fields that a header has between lines that are none, and over limits. Nothing is obeyed by them."""
    fields = []
    for written in split_fields(header):
        line = written.replace(b"\n", b"")
        if name := _NAME.match(line):
            fields.append(MailField(name[1].decode("ascii").lower(), line[name.end() :].strip(), written))
    return tuple(fields)


def split_fields(header: bytes) -> list[bytes]:
    """Returns the lines of a header, each with those that continue it."""
    return [written for written in _FIELD_END.split(header) if written]


def only_field(fields: Iterable[MailField], name: str) -> MailField | None:
    """Returns the field of that name, None if there is none.

    Raises `UnreadableMailError` if there are two that differ.
    """
    found = [field for field in fields if field.name == name]
    if len({field.value for field in found}) > 1:
        raise UnreadableMailError(tell("it has two fields {name}", name=name))
    return found[0] if found else None


def read_media_type(field: MailField | None) -> MediaType | None:
    """Returns what a Content-Type field says, None if it is missing or names no type at all.

    Text behind a type that is not well formed is read as parameters.
    """
    if field is None:
        return None
    text = field.text
    plain = without_comments(text)
    kind, clear = _TYPE.match(text), _TYPE.match(plain) or _BROKEN_TYPE.match(plain)
    if clear is None:
        return None
    more = _parameters(";" + plain[clear.end() :].lstrip(" \t;,"))
    parameters = more if kind is None else _parameters(text[kind.end() :])
    if all(name != _BOUNDARY for name, _ in parameters):
        # It can be behind a comment, or in pieces (RFC 2231).
        parameters += tuple(each for each in (*more, *_joined(more)) if each[0] == _BOUNDARY)
    return MediaType(f"{clear[1]}/{clear[2]}".lower() if kind is None else f"{kind[1]}/{kind[2]}".lower(), parameters)


def without_comments(text: str) -> str:
    """Returns the value of a field without its comments (RFC 5322, 3.2.2); one that is not closed goes to the end."""
    kept: list[str] = []
    depth = place = 0
    while place < len(text):
        if depth or text[place] == "(":
            # In a comment only brackets and pairs with a backslash matter.
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 2 if text[place] == "\\" else 1
            continue
        piece = _OUTSIDE.match(text, place)
        assert piece is not None
        kept.append(piece[0])
        place = piece.end()
    return "".join(kept)


def _parameters(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (each[1].lower(), each[3] if each[2] is None else _QUOTED_PAIR.sub(r"\1", each[2]))
        for each in _PARAMETER.finditer(text)
    )


def _joined(parameters: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Returns the boundary that stands in pieces `boundary*0`, `boundary*1` and so on; nothing without the first."""
    pieces = dict(reversed(parameters))
    found: list[str] = []
    while (piece := pieces.get(f"{_BOUNDARY}*{len(found)}")) is not None:
        found.append(piece)
    return ((_BOUNDARY, "".join(found)),) if found else ()
