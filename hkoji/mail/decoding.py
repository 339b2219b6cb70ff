"""From the bytes of a part to its lines: transfer encodings, charsets, `format=flowed`, encoded words in fields."""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from typing import Final

from hkoji.errors import UnreadableMailError
from hkoji.messages.text import shorten, tell

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

_IDENTITY: Final = frozenset({"", "7bit", "8bit", "binary"})
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*+={0,2}")
_SPACE: Final = b" \t\r\n"
_LINE_END = re.compile("\r\n|[\r\n\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}]")
_QUOTE = re.compile(">*")
_SIGNATURE: Final = "-- "
_WORD = re.compile(r"=\?([A-Za-z0-9_-]{1,40})(?:\*[A-Za-z0-9-]{0,40})?\?([BbQq])\?([!->@-~]*)\?=")
_BETWEEN = re.compile(r"(\?=)[ \t]+(?==\?)")


def decode_transfer(body: bytes, encoding: str) -> bytes:
    """Returns what a part's body stands for. `encoding` is its Content-Transfer-Encoding, empty if it has none.

    Raises `UnreadableMailError` for an encoding that mails do not have, and for base64 with anything else in it.
    """
    name = encoding.strip().lower()
    if name in _IDENTITY:
        return body
    if name == "quoted-printable":
        return a2b_qp(body)
    if name != "base64":
        raise UnreadableMailError(tell("its text is encoded as {encoding!r}", encoding=shorten(name)))
    data = body.translate(None, _SPACE)
    if len(data) % 4 or not _BASE64.fullmatch(data):
        raise UnreadableMailError(tell("its text is not valid base64"))
    return a2b_base64(data)


def decode_charset(data: bytes, charset: str | None) -> str:
    """Returns the text of `data`; bytes without a meaning become the replacement character.

    Raises `UnreadableMailError` for a charset that is not read, by its name.
    """
    codec = _CHARSETS.get((charset or "us-ascii").strip().lower())
    if codec is None:
        raise UnreadableMailError(
            tell("its characters are encoded as {charset!r}, which is not read here", charset=shorten(charset or ""))
        )
    return data.decode(codec, "replace")


def split_lines(text: str) -> list[str]:
    """Returns the lines of a text, without their ends and without empty ones after the last.

    Raises `UnreadableMailError` if they are too many.
    """
    lines = _LINE_END.split(text)
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
    data = word[3].encode("ascii")
    try:
        if word[2] in "Qq":
            return decode_charset(a2b_qp(data, header=True), word[1])
        return decode_charset(decode_transfer(data, "base64"), word[1])
    except UnreadableMailError:
        return word[0]
