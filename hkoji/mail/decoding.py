"""From the bytes of a part to its lines, and from a line to the form in which orders are read.

Transfer encodings, charsets, `format=flowed` and encoded words in fields are decoded. A line is cleaned of what people
and their mail programs put around and between its words.
"""

from __future__ import annotations

import re
import unicodedata
from binascii import a2b_base64, a2b_qp
from typing import Final

from hkoji.errors import UnreadableMailError
from hkoji.mail.fields import without_comments
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


_MOST_KEPT: Final = 4096
_MINUS: Final = "\N{MINUS SIGN}"
_LONGEST: Final = 300
"""No order is that long. Unicode's normalisation takes quadratic time for long runs of combining marks."""


def clean(line: str) -> str:
    """Returns `line` in NFKC, without control and format characters, with `-` for every dash, and stripped.

    A line longer than any order has dots instead of its middle: it is still none, and still ends as it did.
    """
    line = _shorten(line)
    if not (line.isascii() and line.isprintable()):
        # One character can become eighteen.
        line = _shorten(unicodedata.normalize("NFKC", line)).translate(_TABLE)
    return line.strip()


def trim(line: str) -> str:
    """Returns a clean line without `*` and `_` around it, which stand for bold and italics, and full stops at its end.

    To trim it again changes nothing.
    """
    return line.strip(" *_").rstrip(" *_.")


def trim_in_version_1(line: str) -> str:
    """Returns a clean line as version 1 of the reader trimmed it, with one full stop less at its end.

    To trim it again leaves out one more, and version 1 did so where it read the order.
    """
    return line.strip(" *_").removesuffix(".").strip(" *_")


def is_quoted(line: str) -> bool:
    """Tells whether a clean line belongs to a quotation."""
    return line.startswith((">", "|"))


def _shorten(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]}...{line[-half:]}"


class _Plain(dict[int, str]):
    """The replacements of characters, by code. Only some are kept: a mail can have every character there is."""

    def __missing__(self, code: int) -> str:
        """Returns what a character becomes that was not met before."""
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Pd" or character == _MINUS:
            character = "-"
        elif category in ("Zs", "Zl", "Zp") or character == "\t":
            character = " "
        elif category in ("Cc", "Cf"):
            character = ""
        if len(self) < _MOST_KEPT:
            self[code] = character
        return character


_TABLE: Final = _Plain()
