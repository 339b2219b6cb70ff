"""Answers as the usual mail programs write them. `SHAPES` has each with what is to be read from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.mail_shape import (
    BOB,
    LETTER,
    TO_US,
    Shape,
    alternative,
    as_html,
    encoded,
    head,
    made,
    multipart,
    nested,
    part,
    parts,
    plain,
    quote,
)

MOVE: Final = "move 2BC"
_GMAIL_EN: Final = f"On Wed, Nov 25, 2026 at 10:00 AM hkoji <{TO_US}>\nwrote:\n"
_GMAIL_IT: Final = f"Il giorno mer 25 nov 2026 alle ore 10:00 hkoji <\n{TO_US}> ha scritto:\n"
_QUOTED: Final = f'<blockquote class="gmail_quote" style="margin:0 0 0 .8ex">{as_html()}</blockquote>'


def _gmail() -> Iterator[Shape]:
    html = f'<div dir="ltr">2bc</div><br><div class="gmail_quote"><div class="gmail_attr">On …</div>{_QUOTED}</div>\n'
    yield Shape("gmail-web-above", alternative(f"2bc\n\n{_GMAIL_EN}\n{quote()}", html), MOVE)
    yield Shape("gmail-web-italian", alternative(f"2bc\n\n{_GMAIL_IT}\n{quote()}", html), MOVE)
    yield Shape("gmail-web-below", alternative(f"{_GMAIL_EN}\n{quote()}\n2bc\n", html), MOVE)
    yield Shape("gmail-web-below-italian", alternative(f"{_GMAIL_IT}\n{quote()}\n2bc\n", html), MOVE)
    yield Shape("gmail-web-bold", alternative(f"*2bc*\n\n{_GMAIL_EN}\n{quote()}", html), MOVE)
    yield Shape(
        "gmail-android-signature",
        alternative(
            f"Take c.\n\n-- \nBob\nSent from my phone\n\n{_GMAIL_EN}\n{quote()}", html.replace("2bc", "Take c.")
        ),
        "move -C",
        "gift",
    )
    yield Shape("gmail-no-quotation", alternative("2bc\n", '<div dir="auto">2bc</div>\n'), MOVE)
    yield Shape(
        "gmail-thanks-in-the-next-line",
        alternative(f"2bc\nThanks, see you!\n\n{_GMAIL_EN}\n{quote()}", html),
        "nothing: Thanks, see you!",
    )
    yield Shape("gmail-forwarded", alternative(
        f"---------- Forwarded message ---------\nDa: hkoji <{TO_US}>\nSubject: x\n\n{LETTER}\n", html
    ), f"nothing: Da: hkoji <{TO_US}>")  # fmt: skip


def _apple() -> Iterator[Shape]:
    attribution = f"> On 25 Nov 2026, at 10:00, hkoji <{TO_US}> wrote:\n> \n"
    html = f"<html><body>2bc<br><div><blockquote type=cite>{as_html()}</blockquote></div></body></html>\n"
    yield Shape("apple-mail", plain(f"2bc\n\n{attribution}{quote()}"), MOVE)
    yield Shape("apple-mail-alternative", alternative(f"2bc\n\n{attribution}{quote()}", html), MOVE)
    flowed = "text/plain; charset=us-ascii; format=flowed; delsp=yes"
    yield Shape("apple-mail-flowed", plain(f"2bc\n\n{attribution}{quote()}", kind=flowed), MOVE)
    yield Shape("apple-mail-below", plain(f"{attribution}{quote()}\n2bc\n\nBob\n"), MOVE)
    mixed = multipart(
        "mixed",
        part("text/plain; charset=us-ascii", "2bc\n\n"),
        part("image/jpeg; name=IMG_1.jpeg", "/9j/4AAQ\n", "Content-Transfer-Encoding: base64"),
        part("text/plain; charset=us-ascii", "\nBob\n"),
    )
    yield Shape("apple-mail-photo-within", mixed, MOVE)
    related = nested(parts("related", part("text/html", html), part("image/png", "iVBO\n"), boundary="=_b2"))
    yield Shape(
        "apple-mail-related",
        made(*_with_body("alternative", part("text/plain", f"2bc\n\n{attribution}{quote()}"), related)),
        MOVE,
    )
    iphone = f"2bc\n\nSent from my iPhone\n\n{attribution}{quote()}"
    yield Shape("ios-mail", plain(iphone), MOVE)
    italian = attribution.replace("On", "Il giorno").replace(", at", ", alle ore").replace("wrote", "ha scritto")
    italian = f"2bc\n\nInviato da iPhone\n\n{italian}{quote()}"
    yield Shape("ios-mail-italian", encoded(italian, "quoted-printable"), MOVE)
    yield Shape("ios-mail-dash", encoded(f"–c\n\n{attribution}{quote()}", "base64"), "move -C", "gift")
    yield Shape("ios-mail-double-space", plain(f"1e. \n\nSent from my iPhone\n\n{attribution}{quote()}"), "move 1E")
    yield Shape("ios-mail-capital", plain(f"Accept\n\n{attribution}{quote()}"), "accept", "")


def _with_body(kind: str, *each: str) -> tuple[str, str]:
    field, body = parts(kind, *each)
    return head(field), body


def _outlook() -> Iterator[Shape]:
    old = f"________________________________\nFrom: hkoji <{TO_US}>\nSent: Wednesday, November 25, 2026 10:00\n"
    old += f"To: {BOB}\nSubject: hkoji 85c924c3: you and alice\n\n{LETTER}\n"
    html = f"<html><body><p class=MsoNormal>2bc<o:p></o:p></p><p>&nbsp;</p><hr>{as_html()}</body></html>\n"
    yield Shape("outlook-desktop", alternative(f"2bc\n\n \n\n{old}", html), MOVE)
    yield Shape("outlook-com", alternative(f"2bc\n{old}", html), MOVE)
    yield Shape("outlook-mobile", alternative(f"2bc\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n{old}", html), MOVE)
    yield Shape("outlook-base64", encoded(f"2bc\n\n{old}", "base64", "iso-8859-1"), MOVE)
    yield Shape(
        "outlook-original-message", plain(f"2bc\n\n-----Original Message-----\nFrom: hkoji\n\n{LETTER}\n"), MOVE
    )
    yield Shape(
        "outlook-italian",
        encoded(f"2bc\n\nDa: hkoji\nInviato: mercoledì 25 novembre\n\n{LETTER}\n", "quoted-printable", "windows-1252"),
        MOVE,
    )
    yield Shape("outlook-html-only", plain(html, kind="text/html; charset=utf-8"), MOVE)
    for name, line, reading, due in (
        ("marked-word", "prendi <span class=SpellE>c</span>", "move -C", "gift"),
        ("bold-in-part", '<b><span style="color:red">2</span></b><i>b</i>c', MOVE, "turn"),
        ("linked-address", 'new hanamikoji carol <a href="mailto:carol@example.net">carol@example.net</a> 3d/14d',
         "new hanamikoji carol carol@example.net 3d/14d", ""),
        ("ordinal", "1<sup>a</sup>", "move 1A", "turn"),
        ("spaces-between-words", "<span>take</span> <span>c</span>", "move -C", "gift"),
        ("struck-out", "<s>1a</s>2bc", MOVE, "turn"),
        ("line-break-between", "<span>2bc</span><br><span>Bob</span>", MOVE, "turn"),
    ):  # fmt: skip
        styled = f"<p class=MsoNormal><span lang=EN-GB>{line}<o:p></o:p></span></p>"
        page = f"<html><body>{styled}<p>&nbsp;</p><hr>{as_html()}</body></html>\n"
        yield Shape(f"outlook-html-{name}", plain(page, kind="text/html; charset=utf-8"), reading, due)
    inner = parts("alternative", part("text/plain", f"2bc\n\n{old}"), part("text/html", html), boundary="=_b2")
    picture = part("image/png; name=logo.png", "iVBO\n", "Content-ID: <logo>", "Content-Disposition: inline")
    yield Shape(
        "outlook-logo", multipart("related", nested(inner), picture, more='; type="multipart/alternative"'), MOVE
    )
    yield Shape(
        "outlook-no-empty-line",
        alternative(f"2bc\nFrom: hkoji <{TO_US}>\n{LETTER}", html),
        f"nothing: From: hkoji <{TO_US}>",
    )
    yield Shape(
        "exchange-long-fields",
        plain(f"2bc\n\n{old}", f"X-MS-Exchange-AntiSpam-MessageData-0: {'=?utf-8?B?' * 300}\n {'x' * 900}"),
        MOVE,
    )


def _desktop() -> Iterator[Shape]:
    wrote = "On 25/11/2026 10:00, hkoji wrote:\n"
    flowed = "text/plain; charset=UTF-8; format=flowed"
    yield Shape("thunderbird-below", plain(f"{wrote}{quote()}\n2bc\n", kind=flowed), MOVE)
    yield Shape("thunderbird-above", plain(f"2bc\n\n{wrote}{quote()}", kind=flowed), MOVE)
    yield Shape(
        "thunderbird-italian", plain(f"Il 25/11/2026 10:00, hkoji ha scritto:\n{quote()}\n2bc\n", kind=flowed), MOVE
    )
    yield Shape("thunderbird-no-empty-line", plain(f"2bc\n{wrote}{quote()}", kind=flowed), MOVE)
    yield Shape("thunderbird-within", plain(f"{wrote}{quote(LETTER[:40])}2bc\n{quote()}", kind=flowed), MOVE)
    yield Shape("thunderbird-trailing-space", plain(f"2bc \n\nBye \nbye\n{wrote}{quote()}", kind=flowed), MOVE)
    yield Shape("thunderbird-stuffed", plain(" 2bc\n \n -c\n", kind=flowed), MOVE)
    yield Shape("thunderbird-html-only", plain(
        f'<html><body><div class="moz-cite-prefix">{wrote}<br></div><blockquote cite="mid:x">{as_html()}</blockquote>'
        "<p>2bc</p>\n<p>Bob</p></body></html>\n", kind="text/html; charset=UTF-8"
    ), MOVE)  # fmt: skip
    yield Shape(
        "k9-above", encoded(f"2bc\n\n{wrote}{quote(mark='>')}-- \nSent from K-9 Mail.\n", "quoted-printable"), MOVE
    )
    yield Shape("k9-signature-first", plain(f"2bc\n-- \nSent from K-9 Mail.\n\n{wrote}{quote()}"), MOVE)
    mutt = "On Wed, Nov 25, 2026 at 10:00:00AM +0100, hkoji wrote:\n"
    yield Shape("mutt-below", plain(f"{mutt}{quote()}\n2bc\n\n-- \nBob\n", kind="text/plain; charset=us-ascii"), MOVE)
    yield Shape("mutt-no-charset", made(head(), f"{mutt}{quote()}\n2bc\n"), MOVE)
    yield Shape("mutt-in-between", plain(f"{mutt}{quote()}\n2bc\n{quote('more')}\nBob\n"), MOVE)
    yield Shape("gnus", plain(f'"hkoji" == hkoji  <{TO_US}> writes:\n\n{quote()}\n2bc\n'), MOVE)
    yield Shape("kmail", plain(f"mercoledì 25 novembre 2026 10:00:00 CET, hkoji ha scritto:\n{quote()}\n2bc\n"), MOVE)
    yield Shape("evolution", plain(f"On Wed, 2026-11-25 at 10:00 +0100, hkoji wrote:\n{quote()}\n2bc\n"), MOVE)
    yield Shape("pine", plain(f"On Wed, 25 Nov 2026, hkoji wrote:\n\n{quote()}\n2bc\n"), MOVE)
    yield Shape("latin-1", encoded(f"2bc\n\nÈ stato bello, così così\n\n{quote()}", "8bit", "iso-8859-1"), MOVE)
    yield Shape("latin-2", encoded(f"2bc\n\nDziękuję\n\n{quote()}", "quoted-printable", "iso-8859-2"), MOVE)
    yield Shape("latin-9", encoded("2bc\n\n5 €\n", "quoted-printable", "iso-8859-15"), MOVE)
    yield Shape("windows-1250", encoded("2bc\n\nDěkuji\n", "base64", "windows-1250"), MOVE)
    yield Shape(
        "attribution-of-three-lines",
        plain(f"Am Mittwoch, den 25. November\nhat hkoji\ngeschrieben:\n{quote()}\n2bc\n"),
        MOVE,
    )
    yield Shape("attribution-french", plain(f"Le mer. 25 nov. 2026 à 10:00, hkoji a écrit :\n{quote()}\n2bc\n"), MOVE)
    yield Shape("attribution-japanese", plain(f"2026年11月25日(水) 10:00 hkoji：\n{quote()}\n2bc\n"), MOVE)
    yield Shape("greeting-before-the-quotation", plain(f"Hello,\n{wrote}{quote()}\n2bc\n"), MOVE)


def _webmail() -> Iterator[Shape]:
    wrote = f"On Wednesday, November 25, 2026 at 10:00:00 AM GMT+1, hkoji <{TO_US}> wrote:"
    yahoo = "".join(f" {line}\n" for line in (wrote, "", *LETTER.splitlines()))
    html = "<div>2bc</div>\n"
    yield Shape("yahoo", alternative(f"  2bc\n\n   {yahoo}", html), MOVE)
    yield Shape(
        "proton", alternative(f"2bc\n\nSent with Proton Mail secure email.\n\n{wrote}\n\n{quote()}", html), MOVE
    )
    yield Shape(
        "fastmail", alternative(f"2bc\n\nOn Wed, Nov 25, 2026, at 10:00 AM, hkoji wrote:\n{quote()}", html), MOVE
    )
    gmx = f"2bc\n \n\nGesendet: Mittwoch, 25. November 2026 um 10:00 Uhr\nVon: hkoji\nAn: {BOB}\nBetreff: x\n{LETTER}\n"
    yield Shape("gmx", alternative(gmx, html), MOVE)
    yield Shape("web-de-html-only", plain(
        f'<html><body><div style="font-family: Verdana">\n<div>2bc</div>\n\n<div>&nbsp;\n<div name="quote">'
        f"<b>Gesendet:</b>&nbsp;Mittwoch{as_html()}</div></div></div></body></html>\n", kind="text/html"
    ), MOVE)  # fmt: skip
    spark = f"On 25 Nov 2026 at 10:00 +0100, hkoji <{TO_US}>, wrote:\n{quote()}"
    yield Shape("spark", alternative(f"2bc\n{spark}", html), MOVE)
    yield Shape("spark-bare-cards", alternative(f"c\n{spark}", html), "nothing: c", "gift")
    yield Shape("spark-wrong-move", alternative(f"2bx\n{spark}\n-- \nBob\n", html), "nothing: 2bx")
    yield Shape("spark-empty", alternative(spark, html), "nothing: (no line)")
    yield Shape("gmail-web-empty", alternative(f"{_GMAIL_EN}\n{quote()}", html), "nothing: (no line)")
    yield Shape("roundcube-below", plain(f"Il 2026-11-25 10:00 hkoji ha scritto:\n{quote()}\n2bc\n"), MOVE)
    yield Shape("roundcube-above", plain(f"2bc\n\nIl 2026-11-25 10:00 hkoji ha scritto:\n{quote()}"), MOVE)
    yield Shape(
        "libero",
        encoded(f"2bc\n\n> Il 25/11/2026 10:00 hkoji ha scritto:\n> \n> \n{quote()}", "quoted-printable"),
        MOVE,
    )
    yield Shape(
        "tutanota-html-only", plain("<div>2bc<br></div><div><br></div><div>Bob<br></div>\n", kind="text/html"), MOVE
    )
    yield Shape("html-of-one-line", plain("<HTML><BODY>2bc<BR>Bob</BODY></HTML>\n", kind="text/html"), "nothing: Bob")
    yield Shape("zoho-nbsp", alternative("2bc\u00a0\n\u00a0\nBob\n", html), MOVE)


def shapes() -> Iterator[Shape]:
    """Yields every shape of this module."""
    for group in (_gmail, _apple, _outlook, _desktop, _webmail):
        yield from group()
