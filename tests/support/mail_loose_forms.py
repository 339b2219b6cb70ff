"""Mails that are not formed as they should be, but mean one thing; and some that look alike and could mean two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.mail_clients import MOVE
from tests.support.mail_shape import BOB, LETTER, TO_US, Shape, alternative, multipart, part, plain, quote

_NO_ORDER: Final = {
    "of-five-lines": "nothing: (no line)",
    "without-a-colon": "nothing: (no line)",
    "without-a-colon-in-two-lines": "nothing: (no line)",
    "outlook-header": "nothing: (no line)",
    "original-message": "nothing: (no line)",
    "outlook-header-in-italian": "nothing: Da: hkoji",
}
_TWO_ORDERS: Final = "refused: its text and its HTML have different orders"
_LETTER_WITH_END: Final = f"{LETTER}\n\nThe service signs for you. Log: entry 6.\n"


def _repaired() -> Iterator[Shape]:
    """Headers and line ends that mail servers repair."""
    yield Shape("space-before-a-colon", plain("2bc\n", "X-Spam-Status : No", "Subject\t: Re: x"), MOVE)
    yield Shape("mbox-line-within", plain("2bc\n").replace(b"\r\n\r\n", b"\r\n>From bob Fri Nov 27\r\n\r\n", 1), MOVE)
    yield Shape("mbox-line-quoted", b">From bob@example.org Wed Nov 25\r\n" + plain("2bc\n"), MOVE)
    yield Shape("line-ends-with-two-cr", plain("2bc\n\nBob\n").replace(b"\r\n", b"\r\r\n"), MOVE)
    two = multipart("mixed", part("text/plain", "2bc\n\nBob\n"), part("image/png", "x\n"))
    yield Shape("parts-with-two-cr", two.replace(b"\r\n", b"\r\r\n"), MOVE)
    yield Shape("byte-order-mark-before-the-header", b"\xef\xbb\xbf" + plain("2bc\n"), MOVE)
    yield Shape("byte-order-mark-before-the-order", plain("\ufeff2bc\n"), MOVE)
    yield Shape("vertical-tabs", plain("2bc\v\vBob\v"), MOVE)
    yield Shape("nul-bytes", plain("2bc\0\n\n\0Bob\n"), MOVE)
    yield Shape("soft-hyphen", plain("2b\u00adc\n"), MOVE)


def _loosely_formed() -> Iterator[Shape]:
    """Types, charsets and encodings that are not as the RFCs have them."""
    pdf = "Content-Disposition: attachment; filename=a.pdf"
    for name, kind in (
        ("encoded-word", "=?utf-8?Q?application/pdf?="), ("empty", ""), ("one-word", "pdf"), ("slash", "/"),
        ("boundary-missing", "multipart/mixed"), ("two-charsets", "text/plain; charset=a; charset=b"),
    ):  # fmt: skip
        beside = part(kind, "JVBERi0=\n", pdf, "Content-Transfer-Encoding: base64")
        yield Shape(f"attachment-of-type-{name}", multipart("mixed", part("text/plain", "2bc\n"), beside), MOVE)
    odd = f"{pdf}\nno field\nContent-Type: text/plain\n\n1a\n"
    yield Shape("attachment-with-a-broken-header", multipart("mixed", part("text/plain", "2bc\n"), odd), MOVE)
    twice = part("text/plain", "1a\n", "Content-Type: text/html", pdf)
    yield Shape("attachment-of-two-types", multipart("mixed", part("text/plain", "2bc\n"), twice), MOVE)
    unread = "refused: a Content-Type field names no type"
    yield Shape("only-a-part-of-no-type", multipart("mixed", part("=?utf-8?q?x?=", "2bc\n")), unread)
    for name, kind in (
        ("no-subtype", "text"), ("no-subtype-but-a-charset", "text; charset=utf-8"), ("empty", ""), ("no-type", "8bit"),
        ("comment", "text/plain (a comment); charset=utf-8 (another)"), ("comment-first", "(x) text(y)/(z)plain"),
        ("no-semicolon", "text/plain charset=utf-8"), ("colon", "text/plain: charset=utf-8"),
        ("type-in-the-comment", "text/plain (; charset=utf-16)"), ("quoted", '"text/plain"'),
        ("charset-twice", "text/plain; charset=utf-8; charset=utf8"),
    ):  # fmt: skip
        raw = plain("2bc\n\ngrüße\n", kind=kind)
        reading = (
            MOVE
            if name != "type-in-the-comment"
            else "refused: its characters are encoded as 'utf-16', which is not read here"
        )
        yield Shape(f"type-{name}", raw, reading)
    yield Shape("type-twice-the-same", plain("2bc\n", "Content-Type: text/plain; charset=utf-8"), MOVE)
    for charset in (
        "ANSI_X3.4-1968", "gb2312", "GBK", "big5", "shift_jis", "euc-kr", "windows-1251", "koi8-u", "X-UNKNOWN",
        "unknown-8bit", "%CHARSET", "none", "\"\"", "iso-8859-8-i", "x-mac-roman", "utf-8,iso-8859-1", "_iso-8859-1",
        "default",
    ):  # fmt: skip
        text = plain("2bc\n\nX\n", kind=f"text/plain; charset={charset}").replace(b"X\r\n", b"\xef\xe0\x81A\x82b\r\n")
        yield Shape("charset-" + charset.lower().strip('"').replace("%", "").replace(",", "-"), text, MOVE)
    for charset in (
        "utf-7", "UTF-16LE", "utf_32", "ISO-2022-JP", "hz-gb-2312", "unicode-1-1-utf-7", "csISO2022KR", "ucs-2",
        "JIS_Encoding",
    ):  # fmt: skip
        reading = f"refused: its characters are encoded as {charset!r}, which is not read here"
        yield Shape(f"charset-{charset.lower()}", plain("2bc\n", kind=f"text/plain; charset={charset}"), reading)
    reading = "refused: its characters are encoded as 'x-odd', which is not read here"
    yield Shape("charset-odd-with-escapes", plain("\x1b$B\x1b(B2bc\n", kind="text/plain; charset=x-odd"), reading)
    yield Shape("charset-odd-with-nul-bytes", plain("\x002\0b\0c\n", kind="text/plain; charset=x-odd"), reading)
    for name, encoding in (
        ("8-bit", "8-bit"), ("7bits", "7 bits"), ("quoted", '"8bit"'), ("comment", "7BIT (plain text)"),
        ("charset", "utf-8"), ("semicolon", "8bit;"), ("none", "none"), ("comment-alone", "(none)"),
    ):  # fmt: skip
        yield Shape(f"encoding-{name}", plain("2bc\n", f"Content-Transfer-Encoding: {encoding}"), MOVE)
    for encoding in ("quoted-printable (x)", "Quoted Printable"):
        name = "encoding-" + encoding.lower().replace(" (x)", "-with-a-comment").replace(" ", "-without-its-dash-")
        yield Shape(name, plain("=32bc\n", f"Content-Transfer-Encoding: {encoding}"), MOVE)
    yield Shape("encoding-base64-with-a-comment", plain("MmJjCg==\n", "Content-Transfer-Encoding: base64 (x)"), MOVE)
    yield Shape("encoding-base64-with-junk", plain("MmJj!Cg==\n", "Content-Transfer-Encoding: base64"), MOVE)
    two = plain("MmJjCg==MWEK\n", "Content-Transfer-Encoding: base64")
    yield Shape("encoding-base64-of-two-texts", two, "refused: its text is not valid base64")
    parted = multipart("mixed", part("text/plain", "2bc\n"))
    for name, more in (
        ("in-pieces", 'boundary*0="=_"; boundary*1=b1'), ("behind-a-comment", '(x) boundary="=_b1"'),
        ("spaced", 'boundary = "=_b1"'),
    ):  # fmt: skip
        yield Shape(f"boundary-{name}", parted.replace(b'boundary="=_b1"', more.encode()), MOVE)
    yield Shape("boundary-odd", parted.replace(b"=_b1", b"=_[1];&" + b"x" * 90), MOVE)


_APPLE_WRAPPED: Final = f"""\
> On 25 Nov, at 10:00, hkoji <{TO_US}> wrote:
>\x20
> Answer this mail, or see
<http://x/very/
long>.
> Thanks
"""
_LONG_QUOTE: Final = (
    "> You hold A B C D E F G. Actions left: 1 secret, 2 trade-off, 3 gift, 4\ncompetition\n> (alice: 2, 3, 4).\n"
)
_OUTLOOK_HEADER: Final = (
    f"From: hkoji <{TO_US}>\nSent: Wednesday, November 25, 2026 10:00\nTo: {BOB}\nSubject: hkoji\n\n"
)


def _texts() -> Iterator[Shape]:
    """What stands around an order."""
    for name, attribution in (
        ("of-five-lines", f"On Wed, Nov 25, 2026 at 10:00 AM\nhkoji card games by mail\n<\n{TO_US}>\nwrote:\n"),
        ("without-a-colon", f"Am 25. Nov. 2026 um 10:00 schrieb hkoji <{TO_US}>\n"),
        ("without-a-colon-in-two-lines", f"El mié, 25 nov 2026 a las 10:00, hkoji\n({TO_US}) escribió\n\n"),
        ("outlook-header", _OUTLOOK_HEADER),
        ("original-message", f"-----Original Message-----\n{_OUTLOOK_HEADER}"),
        ("outlook-header-in-italian", "____\nDa: hkoji\nInviato: mercoledì 25 novembre\nA: Bob\nOggetto: x\n\n"),
    ):  # fmt: skip
        yield Shape(f"attribution-{name}-then-below", plain(f"{attribution}{quote()}\n2bc\n\nBob\n"), MOVE)
        yield Shape(f"attribution-{name}-then-above", plain(f"2bc\n\n{attribution}{quote()}"), MOVE)
        yield Shape(f"attribution-{name}-then-nothing", plain(f"{attribution}{quote()}"), _NO_ORDER[name])
    yield Shape("attribution-without-a-colon-at-once", plain(f"2bc\n25.11.2026 10:00, hkoji\n{quote()}"), MOVE)
    yield Shape(
        "order-in-an-attribution",
        plain(f"1a\nhkoji, 25.11.2026\n2bc\nwrote:\n{quote()}\n3abc\n"),
        "nothing: hkoji, 25.11.2026",
    )
    yield Shape(
        "words-above-the-quotation", plain(f"Do not play\nwhat I wrote\n{quote()}\n2bc\n"), "nothing: Do not play"
    )
    yield Shape("quotation-wrapped", plain(f"{_APPLE_WRAPPED}\n2bc\n"), MOVE)
    yield Shape("quotation-wrapped-twice", plain(f"{_APPLE_WRAPPED}{_LONG_QUOTE}\n2bc\n"), MOVE)
    yield Shape("quotation-wrapped-at-its-end", plain(f"{_LONG_QUOTE.rpartition('>')[0]}\n2bc\n"), MOVE)
    yield Shape(
        "quotation-wrapped-and-an-order-within",
        plain(f"{_APPLE_WRAPPED}show\n> x\n\n2bc\n"),
        "nothing: <http://x/very/",
    )
    yield Shape("quotation-with-an-order-within", plain("> Send one\n2bc\n> of these\n\n1a\n"), MOVE)
    yield Shape("quotation-with-words-below", plain("> Your turn\nThanks!\n\n2bc\n"), "nothing: Thanks!")
    yield Shape("outlook-header-and-answer-below", plain(f"{_OUTLOOK_HEADER}{_LETTER_WITH_END}\n2bc\n\nBob\n"), MOVE)
    yield Shape(
        "outlook-header-and-no-answer", plain(f"{_OUTLOOK_HEADER}{_LETTER_WITH_END}"), f"nothing: From: hkoji <{TO_US}>"
    )
    yield Shape(
        "outlook-header-and-half-a-letter",
        plain(f"{_OUTLOOK_HEADER}Your turn.\n\nSend:\n\n2bc\n"),
        f"nothing: From: hkoji <{TO_US}>",
    )
    yield Shape(
        "outlook-header-and-two-orders",
        plain(f"{_OUTLOOK_HEADER}{_LETTER_WITH_END}\n2bc\n\n1a\n"),
        f"nothing: From: hkoji <{TO_US}>",
    )
    unmarked = f"On 25 Nov 2026, hkoji wrote:\n\n{_LETTER_WITH_END}\n2bc\n"
    yield Shape("attribution-of-an-unmarked-letter", plain(unmarked), MOVE)
    advice = "Hi Bob,\nI would play this, for the\nnext round\n\n2bc\n\nCarol\n"
    theirs = "From: Carol <carol@example.net>\nDate: 25 Nov 2026\nTo: Bob\nSubject: Fwd: hkoji 85c924c3: your turn\n\n"
    yield Shape(
        "forwarded-letter-of-somebody-else",
        plain(f"---------- Forwarded message ---------\n{theirs}{advice}"),
        "nothing: From: Carol <carol@example.net>",
    )
    wrote = "On 25 Nov 2026, Carol wrote:"
    yield Shape("attribution-of-somebody-else", plain(f"{wrote}\n\n{advice}"), f"nothing: {wrote}")
    yield Shape(
        "next-part", plain("2bc\n-------------- next part --------------\nAn HTML attachment was scrubbed...\n"), MOVE
    )
    yield Shape(
        "reply-above-this-line", plain(f"2bc\n##- Please type your reply above this line -##\n\n{LETTER}\n"), MOVE
    )
    yield Shape("rule-of-equals-signs", plain("2bc\n=====\nThis mail is confidential.\n"), MOVE)
    yield Shape("quotation-with-bars", plain("| Send one move:\n|   1a\n\n2bc\n"), MOVE)
    for name, stub in (
        ("english", "This message is in HTML. Please view it with an HTML capable mail program."),
        ("italian", "Questo messaggio si legge nel browser: https://mail.example/1"),
        ("short", "HTML only"),
    ):
        yield Shape(f"stub-{name}", alternative(f"{stub}\n", "<p>2bc</p>\n"), MOVE)
    unsure = "I am not sure whether to play 2bc"
    for name, text, html, reading in (
        ("other-order", "1a", "<p>2bc</p>", _TWO_ORDERS),
        ("other-order-with-words", "1a", "<p>2bc<br>Thanks</p>", _TWO_ORDERS),
        ("other-command", "lang it", "<p>lang en</p>", _TWO_ORDERS),
        ("same-order-in-words", "2bc", "<p>Trade off <b>b</b> c.</p>", MOVE),
        ("other-order-quoted", "2bc", "<blockquote>1a</blockquote><p>2bc</p>", MOVE),
        ("other-order-in-a-signature", "2bc", "<p>2bc</p><p>1a</p>", MOVE),
        ("other-order-below-words", "2bc", "<p>Hello<br>1a</p>", MOVE),
        ("other-order-hidden", "2bc", '<p style="display:none">1a</p><p>2bc</p>', MOVE),
        ("stop-and-other-order", "stop", "<p>2bc</p>", "stop"),
        ("wrong-order", "2bx", "<p>2bc</p>", "nothing: 2bx"),
        ("same-words", unsure, "<p>2bc</p><p>is not sure</p>", f"nothing: {unsure}"),
        ("no-order", "This message is in HTML", "<p>Hello</p>", "nothing: This message is in HTML"),
        ("two-orders", "This message is in HTML", "<p>2bc<br>1a</p>", "nothing: 1a"),
    ):
        yield Shape(f"no-stub-{name}", alternative(f"{text}\n", f"{html}\n"), reading)
    coded = part("text/plain; charset=utf-7", "+ADI-bc\n")
    yield Shape("stub-that-cannot-be-read", multipart("alternative", coded, part("text/html", "<p>2bc</p>\n")), MOVE)
    for name, html, reading in (
        ("pre", "<pre>2bc\n\nBob\n</pre>", MOVE),
        ("pre-at-once", "<div><pre class=x>\n2bc\nlang it\n</pre></div>", "move 2BC; lang it"),
        ("pre-quoted", "<pre>2bc\n&gt; 1a\n</pre>", MOVE),
        ("pre-by-style", '<div style="white-space: pre-wrap">2bc\n\nBob</div>', MOVE),
        ("hidden", '<div style="display:none">1a</div><p>2bc</p>', MOVE),
        ("hidden-with-spaces", "<span style='color:red; DISPLAY : none !important'>1a</span><p>2bc</p>", MOVE),
        ("hidden-by-attribute", "<p hidden>1a</p><p>2bc</p>", MOVE),
        ("hidden-by-size", '<div style="font-size:0px;max-height:0">1a <b>x</b></div><div>2bc</div>', MOVE),
        ("hidden-alone", '<div style="display:none">2bc</div>', "nothing: (no line)"),
        ("hidden-within", '<p>2b<span style="mso-hide:all">x</span>c</p>', MOVE),
        ("small-but-there", '<p style="font-size:0.9em;opacity:0.5">2bc</p>', MOVE),
    ):
        yield Shape(f"html-{name}", plain(f"{html}\n", kind="text/html; charset=utf-8"), reading)


def shapes() -> Iterator[Shape]:
    """Yields every shape of this module."""
    for group in (_repaired, _loosely_formed, _texts):
        yield from group()
