"""Header fields of mails and of their parts, within limits, and the decoding of what stands below them.

Every function takes time linear in what it reads.

A field is `name:value`, with the value on one or more lines (RFC 5322, 2.2). Faults that mail servers repair on the way
are read as the servers write them. Nothing else is read: a reader that guesses what a broken header means could be led
to another meaning than the one that a player's mail program shows.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from collections.abc import Iterable
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.messages.text import shorten, tell

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


# --- decoding ---------------------------------------------------------------------------------------------------------

MOST_LINES: Final = 2000

_CHARSETS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "iso8859-1": "iso-8859-1",
    "latin1": "iso-8859-1",
    "iso-8859-2": "iso-8859-2",
    "iso8859-2": "iso-8859-2",
    "iso-8859-15": "iso-8859-15",
    "iso8859-15": "iso-8859-15",
    "windows-1250": "cp1250",
    "cp1250": "cp1250",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
}
"""The codecs of the charsets that are read. All contain ASCII, so no choice of charset makes other cards."""

_OPAQUE = re.compile(r"utf[-_ ]*(7|16|32|ebcdic)|ucs|10646|unicode|2022|^(x|cs)?-?(hz|jis)|scsu|bocu")
"""Parts of the names of charsets in which the bytes of ASCII can mean something else."""
_ESCAPES: Final = (b"\0", b"\x1b")
"""Bytes that texts in such charsets have, also under another name."""
_IDENTITY: Final = frozenset({"", "7bit", "8bit", "binary", "7bits", "8bits", "none"})
_NOT_NAMING = re.compile(r"[^a-z0-9]")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/= \t\r\n]")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*+={0,2}")
_SPACE: Final = b" \t\r\n"
_LINE_END = re.compile("\r\n|[\r\n\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}]")
_LINE_OR_PAGE_END = re.compile("\r\n|[\r\n\v\f\x85\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}]")
_QUOTE = re.compile(">*")
_SIGNATURE: Final = "-- "
_WORD = re.compile(r"=\?([A-Za-z0-9_-]{1,40})(?:\*[A-Za-z0-9-]{0,40})?\?([BbQq])\?([!->@-~]*)\?=")
_BETWEEN = re.compile(r"(\?=)[ \t]+(?==\?)")


def decode_transfer(body: bytes, encoding: str) -> bytes:
    """Returns what a part's body stands for. `encoding` is its Content-Transfer-Encoding, empty if it has none.

    The name of a charset in its place is no encoding. Raises `UnreadableMailError` for an encoding that mails do not
    have, and for base64 that is not whole.
    """
    name = without_comments(encoding).partition(";")[0].strip(" \t\"'").lower()
    plain = _NOT_NAMING.sub("", name)
    if plain in _IDENTITY or name in _CHARSETS:
        return body
    if plain == "quotedprintable":
        return a2b_qp(body)
    if plain != "base64":
        raise UnreadableMailError(tell("its text is encoded as {encoding!r}", encoding=shorten(name)))
    data = body.translate(None, _SPACE)
    return a2b_base64(data if _is_base64(data) else _base64_above_a_footer(body))


def _is_base64(data: bytes) -> bool:
    return len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None


def _base64_above_a_footer(body: bytes) -> bytes:
    """Returns the base64 to which something else was added: what is not of its alphabet does not count (RFC 2045, 6.8).

    It ends with its `=`. If that is followed by more base64 and nothing else, it could be one text or two.
    """
    whole, end, more = body.partition(b"=")
    data = _NOT_BASE64.sub(b"", whole).translate(None, _SPACE)
    added = more.strip(_SPACE + b"=")
    if not end or (added and not _NOT_BASE64.search(added)):
        raise UnreadableMailError(tell("its text is not valid base64"))
    data += b"=" * (-len(data) % 4)
    if not _is_base64(data):
        raise UnreadableMailError(tell("its text is not valid base64"))
    return data


def decode_charset(data: bytes, charset: str | None) -> str:
    """Returns the text of `data`; bytes without a meaning become the replacement character.

    In a charset that is not known, and under a name that is none, only the bytes of ASCII have one. Raises
    `UnreadableMailError` for a charset in which these can mean something else.
    """
    name = (charset or "us-ascii").strip().lower()
    codec = _CHARSETS.get(name)
    if codec is not None:
        return data.decode(codec, "replace")
    if _OPAQUE.search(name) or any(each in data for each in _ESCAPES):
        raise UnreadableMailError(
            tell("its characters are encoded as {charset!r}, which is not read here", charset=shorten(charset or ""))
        )
    return data.decode("ascii", "replace")


def split_lines(text: str, reader: int) -> list[str]:
    """Returns the lines of a text, without their ends and without empty ones after the last.

    For version 1 of the `reader` vertical tabs, form feeds and U+0085 ended none. Raises `UnreadableMailError` if they
    are too many.
    """
    lines = (_LINE_END if reader == 1 else _LINE_OR_PAGE_END).split(text)
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) > MOST_LINES:
        raise UnreadableMailError(tell("its text has more than {limit} lines", limit=MOST_LINES))
    return lines


def join_flowed(lines: list[str], *, delete_space: bool) -> list[str]:
    """Returns the lines of a text in `format=flowed` (RFC 3676), with each paragraph on one line.

    `delete_space` is the parameter `delsp`. A line that flows into nothing, because an empty line, another depth of
    quotation or a signature follows, ends there.
    """
    joined: list[str] = []
    parts: list[str] = []
    depth = 0

    def end() -> None:
        if parts:
            text = "".join(parts)
            joined.append(f"{'>' * depth} {text}" if depth else text)
            parts.clear()

    for line in lines:
        marks = len(_QUOTE.match(line)[0])  # type: ignore[index] # it matches the empty text
        text = line[marks:].removeprefix(" ")
        if marks != depth or text == _SIGNATURE or not text.strip():
            end()
        depth = marks
        flows = text.endswith(" ") and text != _SIGNATURE
        parts.append(text[:-1] if flows and delete_space else text)
        if not flows or not text.strip():
            end()
    end()
    return joined


def decode_words(text: str) -> str:
    """Returns a field's text with its encoded words decoded (RFC 2047); those that are not understood stay."""
    return _WORD.sub(_decode_word, _BETWEEN.sub(r"\1", text))


def _decode_word(word: re.Match[str]) -> str:
    if word[1].lower() not in _CHARSETS:
        return word[0]
    data = word[3].encode("ascii")
    if word[2] in "Bb" and not _is_base64(data):
        return word[0]
    return decode_charset(a2b_qp(data, header=True) if word[2] in "Qq" else a2b_base64(data), word[1])
