"""Mail programs differ in an answer: where the player writes, how the letter is quoted, how the bytes are coded."""

from __future__ import annotations

import base64
import html
import quopri
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.support.mail.post_office import Letter


class Body(NamedTuple):
    """The header fields that tell how a body is to be read, and the body; line ends are LF."""

    fields: tuple[str, ...]
    text: bytes


MailProgram = Callable[[str, Letter], Body]
"""Makes the body of an answer: the lines that the player writes, and the letter that is answered."""

_ENGLISH: Final = "On Sun, 22 Nov 2026 at 10:04, {author} wrote:"
_ITALIAN: Final = "Il giorno dom 22 nov 2026 alle ore 10:04 {author} ha scritto:"
_PLAIN: Final = ('Content-Type: text/plain; charset="utf-8"', "Content-Transfer-Encoding: 8bit")


def _quoted(letter: Letter) -> list[str]:
    return [f"> {line}".rstrip() for line in letter.lines]


def _coded(words: list[str]) -> Body:
    return Body(_PLAIN, ("\n".join(words) + "\n").encode())


def above(written: str, letter: Letter) -> Body:
    """The answer is above the quotation, and a signature below the answer."""
    attribution = _ENGLISH.format(author=letter.author)
    return _coded([written, "", "-- ", "Ed, B & e", "", attribution, "", *_quoted(letter)])


def below(written: str, letter: Letter) -> Body:
    """The answer is below the quotation."""
    return _coded([_ENGLISH.format(author=letter.author), *_quoted(letter), "", written])


def inline(written: str, letter: Letter) -> Body:
    """The answer is within the quotation, behind the first empty line or the line across the letter."""
    quoted = _quoted(letter)
    place = next((number for number, line in enumerate(quoted, 1) if line in {">", "> " + "-" * 68}), len(quoted))
    attribution = _ENGLISH.format(author=letter.author)
    return _coded([attribution, *quoted[:place], "", written, "", *quoted[place:]])


def only_html(written: str, letter: Letter) -> Body:
    """There is no plain text, and the quotation is marked as such."""
    said = "".join(f"<div>{html.escape(line) or '<br>'}</div>" for line in written.split("\n"))
    old = "<br>\n".join(html.escape(line) for line in letter.lines)
    attribution = html.escape(_ENGLISH.format(author=letter.author))
    page = (
        f'<html><head><style>p {{ color: red }}</style></head><body><div dir="ltr">{said}</div><br>\n'
        f'<div class="gmail_quote"><div dir="ltr">{attribution}<br></div>\n'
        f"<blockquote>{old}</blockquote></div></body></html>\n"
    )
    return Body(
        ('Content-Type: text/html; charset="utf-8"', "Content-Transfer-Encoding: quoted-printable"),
        quopri.encodestring(page.encode()),
    )


def italian(written: str, letter: Letter) -> Body:
    """An Italian program with an 8-bit charset of its own, and a line about the phone."""
    words = [written, "", "Inviato dal mio telefono, perch\N{LATIN SMALL LETTER E WITH ACUTE} sono in viaggio", ""]
    words += [_ITALIAN.format(author=letter.author), "", *_quoted(letter), ""]
    text = "\n".join(words).encode("iso-8859-1", "replace")
    return Body(
        ('Content-Type: text/plain; charset="iso-8859-1"', "Content-Transfer-Encoding: quoted-printable"),
        quopri.encodestring(text),
    )


def both(written: str, letter: Letter) -> Body:
    """A phone that sends plain text and HTML, in base64."""
    plain = "\n".join([written, "", _ENGLISH.format(author=letter.author), "", *_quoted(letter), ""]).encode()
    page = only_html(written, letter)
    lines = [
        "--=_b1",
        'Content-Type: text/plain; charset="utf-8"',
        "Content-Transfer-Encoding: base64",
        "",
        base64.encodebytes(plain).decode(),
        "--=_b1",
        *page.fields,
        "",
        page.text.decode(),
        "--=_b1--",
        "",
    ]
    return Body(('Content-Type: multipart/alternative; boundary="=_b1"',), "\n".join(lines).encode())


MAIL_PROGRAMS: Final[dict[str, MailProgram]] = {
    "above": above,
    "below": below,
    "inline": inline,
    "html": only_html,
    "italian": italian,
    "both": both,
}
"""The programs by name."""
