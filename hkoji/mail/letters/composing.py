"""Composes a letter as the bytes of a message: RFC 5322 with MIME, all of it ASCII, with CRLF line ends.

The composition is our own: the standard library's encodes long ids and addresses as words of RFC 2047, which mail
programs do not understand in those fields. The result depends on its arguments alone, so a letter that is rendered
again has the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from hkoji.log.canonical import encode_base64
from hkoji.mail.letters.headers import LetterHeaders, header_lines
from hkoji.mail.letters.letter import Attachment, Letter

_CRLF: Final = "\r\n"
_LINE: Final = 76
"""RFC 2045, 6.7 and 6.8: the most characters of an encoded line."""
_ASCII: Final = frozenset(range(0x20, 0x7F)) - {ord("=")}
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")


def compose(letter: Letter, headers: LetterHeaders) -> bytes:
    """Returns the message of a letter: text/plain, or multipart/mixed if files are attached.

    Raises `ValueError` for a header value, a file name or a type that is not of its form.
    """
    head = [*header_lines(headers, letter.subject), "MIME-Version: 1.0"]
    text = [*_text_part(letter.text)]
    if not letter.attachments:
        return _CRLF.join([*head, *text, ""]).encode("ascii")
    # The boundary cannot occur in a part: encoded parts have no such line, and a letter of ours has no such word.
    boundary = f"=_{sha256(headers.message_id.encode('ascii')).hexdigest()[:32]}"
    lines = [*head, f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    # A line end before a boundary belongs to the boundary, so the text's own needs an empty line behind it.
    for part in ([*text, ""], *([*_file_part(file)] for file in letter.attachments)):
        lines += [f"--{boundary}", *part]
    return _CRLF.join([*lines, f"--{boundary}--", ""]).encode("ascii")


def _text_part(text: str) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n")
    if text.isascii() and all(_is_plain(line) for line in lines):
        yield from ("Content-Type: text/plain; charset=us-ascii", "Content-Transfer-Encoding: 7bit", "")
        yield from lines
        return
    yield from ("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "")
    for line in lines:
        yield from _quoted(line)


def _is_plain(line: str) -> bool:
    """Whether a line of ASCII can stand in a message as it is; `From ` at its beginning is changed on the way."""
    return len(line) <= _LINE and line.isprintable() and line == line.rstrip() and not line.startswith("From ")


def _quoted(line: str) -> Iterator[str]:
    """The encoded lines of one line: RFC 2045, 6.7."""
    units = [chr(byte) if byte in _ASCII else f"={byte:02X}" for byte in line.encode("utf-8")]
    if units and units[-1] == " ":
        units[-1] = "=20"
    if line.startswith("From "):
        units[0] = "=46"
    done = ""
    for number, unit in enumerate(units):
        # The last unit needs no room for the `=` of a line that goes on.
        if len(done) + len(unit) > _LINE - (number + 1 < len(units)):
            yield f"{done}="
            done = ""
        done += unit
    yield done


def _file_part(file: Attachment) -> Iterator[str]:
    if not _FILE.fullmatch(file.name) or not _TYPE.fullmatch(file.type):
        raise ValueError(f"not a file name or not a type: {file.name!r}, {file.type!r}")
    yield f"Content-Type: {file.type}"
    yield f'Content-Disposition: attachment; filename="{file.name}"'
    yield "Content-Transfer-Encoding: base64"
    yield ""
    encoded = encode_base64(file.content)
    yield from (encoded[n : n + _LINE] for n in range(0, len(encoded), _LINE))
