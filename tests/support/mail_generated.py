"""Mails put together at random: what version 1 of the reader made of each is in tests/data/mails-version-1.txt.

A number always makes the same mail. About half of them order something; the others are wrong in one place or another.
"""

from __future__ import annotations

import random
from base64 import encodebytes
from binascii import b2a_qp
from typing import Final

from tests.support.mail_shape import BOB, LETTER, OUR_ID, TO_US, quote

NUMBERS: Final = range(3000)

_ORDERS: Final = ("2bc", "1a", "Take c.", "*2bc*", "2 b, c", "scarto b c", "show", "lang it\n2bc", "resign", "–c", "sì")
_NOT: Final = ("Hello", "2bc please", "1a\n2bc", "2bx", "", "Thanks\n2bc", "2bc\nThanks", "c", "On Monday I play 2bc")
_ENDS: Final = (
    "",
    "\n\nBob",
    "\n-- \nBob",
    "\n\nSent from my phone",
    "\n____\nlist",
    "\n\n1a",
    "\n> 1a",
    "\n\n***\nBob",
)
_ATTRIBUTIONS: Final = (
    *("", "", "On Wed, 25 Nov 2026, hkoji wrote:\n", f"Il giorno 25 nov 2026 hkoji <\n{TO_US}> ha scritto:\n\n"),
    *("On Wed\nhkoji\nwrote:\n", "a\nb\nc\nwrote:\n", "hkoji wrote\n", "hkoji schrieb am 25.11.2026 um 10:00\n\n"),
    *("-----Original Message-----\nFrom: hkoji\nSent: 25 November 2026\nSubject: x\n\n", "Da: hkoji\nA: Bob\n\n"),
)
_NAMES: Final = (
    *("Bob <{}>", "{}", '"Bob, of Rome" <{}>', "=?utf-8?q?B=C3=B3b?= <{}>", "{} (Bob)", "Bob (of (Rome)) <{}>", "<{}>"),
    *("{0} <{0}>", "Brown, Bob <{}>", "Bob @ home <{}>", "Bob <{}>, carol@example.net", "Bób <{}>", "Bob\n <{}>"),
)
_TYPES: Final = (
    *("text/plain; charset=utf-8", "text/plain; charset=utf-8", "text/plain", "", 'Text/Plain;charset="us-ascii"'),
    *("text/plain; charset=iso-8859-1", "text/plain; charset=windows-1252; format=flowed", "text/plain; format=flowed"),
    *("text/plain; charset=utf-8; format=flowed; delsp=yes", "text/plain; charset=utf-8 (a comment)", "text", "x"),
    *("text/plain; charset=koi8-r", "text/plain; charset=utf-16", 'text/plain; name="a;b"; charset=utf-8', "text/x"),
)
_HTML_TYPES: Final = ("text/html; charset=utf-8", "text/html", 'text/html; charset="windows-1252"', "text/html; x=y")
_ENCODINGS: Final = ("", "", "7bit", "8BIT", "quoted-printable", "base64", "binary", "x-odd", "8-bit")
_MORE: Final = (
    *("X-Other: a", "X-Other:\n a\n\tb", "Received: from a\n by b", "MIME-Version: 1.0", "Subject: Re: hkoji"),
    *("Subject: =?utf-8?q?caff=C3=A8?=", "Content-Disposition: inline", "X-Spam : no", ">From bob Wed", "no field"),
    *("Subject: stop", "Date: Wed, 25 Nov 2026 10:00:00 +0100", "Auto-Submitted: no", "Content-Language: en"),
)
_IDS: Final = ("<a1@b.example>",) * 6 + ("a1@b.example", "<a1@b.example> (x)", "<a@b> <c@d>", "")
_OTHERS: Final = (
    ("application/pdf", "attachment; filename=a.pdf", "JVBERi0=\n"),
    ("text/plain; charset=utf-8", "attachment", "1a\n"),
    ("text/plain; charset=utf-8", "", "1a\n"),
    ("text/plain", "inline", "\n"),
    ("image/png", "", "iVBO\n"),
    ("message/rfc822", "", f"From: hkoji\n\n{LETTER}\n"),
    ("text/calendar", "", "BEGIN:VCALENDAR\n"),
    ("=?utf-8?q?x?=", "attachment", "x\n"),
)


def generated_mail(number: int) -> bytes:
    """Returns the mail of a number."""
    chance = random.Random(number)
    text = _text(chance)
    fields, body = _entity(chance, text, chance.random() < 0.3)
    for _ in range(chance.choice((0, 0, 1, 2))):
        fields, body = _around(chance, fields, body)
    header = [f"From: {chance.choice(_NAMES[: chance.choice((8, 8, 8, 13))]).format(BOB)}", f"To: hkoji <{TO_US}>"]
    message_id = chance.choice(_IDS[: chance.choice((6, 6, 6, 10))])
    header += [f"Message-ID: {message_id}"] * bool(message_id) + [f"In-Reply-To: {OUR_ID}"] + fields
    header += chance.sample(_MORE, chance.choice((0, 0, 1, 2)))
    chance.shuffle(header)
    raw = ("\n".join(header) + "\n\n" + body).encode("utf-8", "surrogateescape")
    return raw.replace(b"\n", chance.choice((b"\r\n", b"\r\n", b"\n")))


def _text(chance: random.Random) -> str:
    order = chance.choice(_ORDERS if chance.random() < 0.7 else _NOT)
    quotation = chance.choice(_ATTRIBUTIONS) + quote(mark=chance.choice(("> ", ">", ">> ")))
    match chance.randrange(5):
        case 0:
            return f"{order}{chance.choice(_ENDS)}\n"
        case 1:
            return f"{order}{chance.choice(_ENDS)}\n\n{quotation}"
        case 2:
            return f"{quotation}\n{order}{chance.choice(_ENDS)}\n"
        case 3:
            lines = quote().splitlines()
            place = chance.randrange(len(lines))
            return "\n".join([*lines[:place], *order.split("\n"), *lines[place:]]) + chance.choice(_ENDS) + "\n"
    return f"{order}\n{quotation}"


def _entity(chance: random.Random, text: str, html: bool) -> tuple[list[str], str]:
    """Returns the fields and the body of one text."""
    if html:
        kind, text = chance.choice(_HTML_TYPES), _html(chance, text)
    else:
        kind = chance.choice(_TYPES[: chance.choice((8, 8, 9, len(_TYPES)))])
    charset = "cp1252" if "1252" in kind else "iso-8859-1" if "8859" in kind else "utf-8"
    data = text.encode(charset, "replace")
    encoding = chance.choice(_ENCODINGS[: chance.choice((7, 7, 7, 9))])
    if encoding == "base64":
        data = encodebytes(data)
    elif encoding == "quoted-printable":
        data = b2a_qp(data)
    fields = [f"Content-Type: {kind}"] * bool(kind) + [f"Content-Transfer-Encoding: {encoding}"] * bool(encoding)
    return fields, data.decode("utf-8", "surrogateescape")


def _html(chance: random.Random, text: str) -> str:
    """A text as HTML of some program."""
    lines = [line.replace("&", "&amp;").replace("<", "&lt;") for line in text.split("\n")]
    quoted = [line for line in lines if line.startswith(">")]
    own = [line for line in lines if not line.startswith(">")]
    match chance.randrange(5):
        case 0:
            return "<br>\n".join(lines)
        case 1:
            return "".join(f"<p class=MsoNormal>{line or '&nbsp;'}<o:p></o:p></p>\n" for line in lines)
        case 2:
            return f"<div>{'</div><div>'.join(own)}</div><blockquote type=cite>{'<br>'.join(quoted)}</blockquote>"
        case 3:
            hidden = chance.choice(("", '<div style="display:none">1a</div>', "<style>p{}</style>", "<!-- 1a -->"))
            return f"<html><head><title>1a</title></head><body>{hidden}<div>{'<br>'.join(own)}</div></body></html>"
    return f"<pre>{chr(10).join(lines)}</pre>" if chance.random() < 0.5 else f"<b>{'</b><br><b>'.join(own)}</b>"


def _around(chance: random.Random, fields: list[str], body: str) -> tuple[list[str], str]:
    """Returns a multipart with an entity, and others beside it."""
    boundary = chance.choice(("b1", "=_a.b", "b 1", "----=_Part_1"))
    mine = "\n".join(fields) + f"\n\n{body}"
    kind = chance.choice(("mixed", "mixed", "alternative", "related", "signed", "digest"))
    others = []
    for kind_of_other, disposition, content in chance.sample(
        _OTHERS[: chance.choice((7, 8))], chance.choice((0, 1, 2))
    ):
        written = f"\nContent-Disposition: {disposition}" if disposition else ""
        others.append(f"Content-Type: {kind_of_other}{written}\n\n{content}")
    place = chance.randrange(len(others) + 1) if chance.random() < 0.4 else 0
    each = [*others[:place], mine, *others[place:]]
    if kind == "alternative" and chance.random() < 0.7:
        each = [mine, "Content-Type: text/html; charset=utf-8\n\n<p>1a</p>\n"]
        chance.shuffle(each)
    joined = "".join(f"--{boundary}\n{one}\n" for one in each)
    end = f"--{boundary}--\n" if chance.random() < 0.9 else ""
    return [f'Content-Type: multipart/{kind}; boundary="{boundary}"'], f"{joined}{end}"
