"""Header fields of mails and of their parts, within limits. Every function takes time linear in what it reads.

A field is `name:value`, with the value on one or more lines (RFC 5322, 2.2). Nothing else is read: a reader that
guesses what a broken header means could be led to another meaning than the one that a player's mail program shows.
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

_NAME = re.compile(rb"[!-9;-~]+:")
# `From : …` is a field with an obsolete space (RFC 5322, 4.5).
_MBOX = re.compile(rb"From (?![ \t]*:).*\n?")
_FOLDED = re.compile(rb"\n(?=[ \t])")
_TYPE = re.compile(r"[ \t]*([\w!#$&^.+-]+)/([\w!#$&^.+-]+)[ \t]*(?=[;(]|$)", re.ASCII)
_PARAMETER = re.compile(r';[ \t]*([\w!#$&^.+*%-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*+)"|([^ \t;"()<>@,]+))', re.ASCII)
_QUOTED_PAIR = re.compile(r"\\(.)")


class MailField(NamedTuple):
    """A header field: its name in lower case, and its value on one line, without the space around it."""

    name: str
    value: bytes

    @property
    def text(self) -> str:
        """The value as text; bytes that are not UTF-8 become the replacement character."""
        return self.value.decode("utf-8", "replace")


class MediaType(NamedTuple):
    """A Content-Type: `text/plain`, and the parameters that are well formed, with names in lower case."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    def parameter(self, name: str) -> str | None:
        """Returns a parameter, None if it is missing. Raises `UnreadableMailError` if there are two of that name."""
        found = [value for key, value in self.parameters if key == name]
        if len(found) > 1:
            raise UnreadableMailError(tell("a Content-Type field says two things about {name}", name=name))
        return found[0] if found else None


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


def split_header(entity: bytes) -> tuple[bytes, bytes]:
    """Returns the header and the body of a mail or a part, whose lines end in newlines."""
    if entity.startswith(b"\n"):
        return b"", entity[1:]
    header, _, body = entity.partition(b"\n\n")
    return header, body


def read_fields(header: bytes) -> tuple[MailField, ...]:
    """Returns the fields of a header whose lines end in newlines, top first.

    Raises `UnreadableMailError` over a limit, and for a line that is no field.
    """
    if len(header) > LONGEST_HEADER:
        raise UnreadableMailError(tell("its header is larger than {limit} KiB", limit=LONGEST_HEADER // 1024))
    fields = []
    for line in unfold(header):
        name = _NAME.match(line)
        if name is None:
            raise UnreadableMailError(tell("its header has a line that is no field"))
        limit = LONGEST_FROM if name[0].lower() == b"from:" else LONGEST_FIELD
        if len(line) > limit:
            raise UnreadableMailError(
                tell(
                    "the field {name} is larger than {limit} bytes",
                    name=name[0][:-1][:40].decode("ascii"),
                    limit=limit,
                )
            )
        fields.append(MailField(name[0][:-1].decode("ascii").lower(), line[name.end() :].strip()))
    return tuple(fields)


def unfold(header: bytes) -> list[bytes]:
    """Returns the lines of a header, each with those that continue it."""
    return [line for line in _FOLDED.sub(b"", header).split(b"\n") if line]


def only_field(fields: Iterable[MailField], name: str) -> MailField | None:
    """Returns the field of that name, None if there is none. Raises `UnreadableMailError` if there are two."""
    found = [field for field in fields if field.name == name]
    if len(found) > 1:
        raise UnreadableMailError(tell("it has two fields {name}", name=name))
    return found[0] if found else None


def first_value(fields: Iterable[MailField], name: str) -> str | None:
    """Returns the value of the topmost field of that name, None if there is none."""
    return next((field.text for field in fields if field.name == name), None)


def read_media_type(field: MailField | None) -> MediaType | None:
    """Returns what a Content-Type field says, None if it is missing or no type at all."""
    if field is None:
        return None
    text = field.text
    kind = _TYPE.match(text)
    if kind is None:
        return None
    parameters = tuple(
        (each[1].lower(), each[3] if each[2] is None else _QUOTED_PAIR.sub(r"\1", each[2]))
        for each in _PARAMETER.finditer(text, kind.end())
    )
    return MediaType(f"{kind[1]}/{kind[2]}".lower(), parameters)
