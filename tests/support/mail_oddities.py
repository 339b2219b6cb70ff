"""Mails that are no plain answers: commands, tricks with addresses, lists, programs, reports, broken parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.mail_shape import (
    BOB,
    LETTER,
    OUR_ID,
    TO_US,
    TOKEN,
    Shape,
    alternative,
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
_NO_ADDRESS: Final = "refused: its From is not one address, with nothing before it but a name"


def _orders() -> Iterator[Shape]:
    for name, text, reading in (
        ("italian-words", "scarto b c", MOVE),
        ("copied-line", "2bc = trade off B, C", MOVE),
        ("copied-line-of-two-moves", "2bc = secret A", "nothing: 2bc = secret A"),
        ("full-width", "２ｂｃ", MOVE),
        ("bare-cards", "bc", "nothing: bc"),
        ("cards-not-in-hand", "2bb", "nothing: 2bb"),
        ("two-moves", "2bc\n1a", "nothing: 1a"),
        ("move-and-settings", "2bc\nlang it\ncards off", "move 2BC; lang it; cards off"),
        ("resign-italian", "Abbandono.", "resign"),
        ("call-off", "call off", "call off"),
        ("give", "dai 2d", "give 2d"),
        ("give-with-a-space", "Give 1d 12h", "nothing: Give 1d 12h"),
        ("rematch-italian", "Rivincita!", "nothing: Rivincita!"),
        ("rematch", "*rematch*", "rematch"),
        ("register", "Register Bob", "register bob"),
        ("new-in-capitals", "New Hanamikoji Carol Carol@Example.net 3D/14D",
         "new hanamikoji carol Carol@Example.net 3d/14d"),
        ("new", "new hanamikoji carol carol@example.net <mailto:carol@example.net> 3d/14d",
         "new hanamikoji carol carol@example.net 3d/14d"),
        ("not-me-italian", "non sono io", "not me"),
        ("quiet", "quiet 22 – 07", "quiet 22 7"),
        ("yes-italian", "Sì", "yes"),
        ("stop-before-a-name", "Stop.\nBob", "stop"),
        ("stop-before-a-move", "stop\n2bc", "stop; move 2BC"),
        ("stop-before-two-moves", "stop\n2bc\n1a", "stop"),
        ("stop-in-the-second-line", "show\nstop\nBob", "nothing: Bob"),
        ("politeness", "Could you play 2bc for me?", "nothing: Could you play 2bc for me?"),
    ):  # fmt: skip
        yield Shape(f"order-{name}", plain(f"{text}\n\nBob\n\n{quote()}"), reading)
    yield Shape("order-letter-of-the-answer", plain("e\n"), "nothing: e", "gift")
    yield Shape("order-signature-that-is-an-answer", plain("-c\nCD\n"), "nothing: CD", "gift")
    yield Shape("order-signature-after-a-line", plain("-c\n\nCD\n"), "move -C", "gift")
    yield Shape("order-other-game", plain("rivela e4\n"), "move RE4", "road")
    yield Shape("order-when-nothing-is-due", plain("2bc\n"), "nothing: 2bc", "")
    yield Shape("stop-as-subject", plain("\n", "Subject: stop", ids=False), "nothing: (no line)")
    yield Shape("empty", plain(""), "nothing: (no line)")
    yield Shape("only-a-quotation", plain(quote()), "nothing: (no line)")
    yield Shape("only-a-signature", plain("-- \n2bc\n"), "nothing: (no line)")


def _addresses() -> Iterator[Shape]:
    for name, sender, reading in (
        ("bare", BOB, MOVE),
        ("upper-case", "BOB@EXAMPLE.ORG", MOVE),
        ("quoted-name", f'"Bob, of Rome" <{BOB}>', MOVE),
        ("encoded-name", f"=?utf-8?q?Bob=40evil=2Eexample?= <{BOB}>", MOVE),
        ("comment", f"{BOB} (Bob)", MOVE),
        ("address-as-name", f"{BOB} <eve@evil.example>", _NO_ADDRESS),
        ("own-address-as-name", f"{BOB} <{BOB}>", MOVE),
        ("own-address-as-name-twice", f"{BOB} {BOB} <{BOB}>", MOVE),
        ("own-address-within-the-name", f"Bob {BOB} <{BOB}>", MOVE),
        ("quoted-address-as-name", f'"{BOB}" <eve@evil.example>', f"from eve@evil.example, {MOVE}"),
        ("two-in-brackets", f"<{BOB}> <eve@evil.example>", _NO_ADDRESS),
        ("no-brackets-closed", f"Bob <{BOB}", _NO_ADDRESS),
        ("several", f"{BOB}, eve@evil.example", "refused: its From has several addresses"),
        ("group", f"friends: {BOB};", "refused: its From is a group of addresses"),
        ("route", f"<@evil.example:{BOB}>", _NO_ADDRESS),
        ("not-ascii", f"Bób <{BOB}>", MOVE),
        ("comma-not-quoted", f"Brown, Bob <{BOB}>", MOVE),
        ("commas-not-quoted", f"Brown, Bob, Jr. <{BOB}> (at home, now)", MOVE),
        ("at-not-quoted", f"Bob @ home <{BOB}>", MOVE),
        ("own-address-in-apostrophes-as-name", f"'{BOB}' <{BOB}>", MOVE),
        ("own-address-after-an-apostrophe-as-name", f"'{BOB} <{BOB}>", _NO_ADDRESS),
        ("other-address-in-apostrophes-as-name", f"'eve@evil.example' <{BOB}>", _NO_ADDRESS),
        ("own-address-within-another-as-name", f"eve'{BOB}' <{BOB}>", _NO_ADDRESS),
        ("at-and-comma-not-quoted", f"@bob, Bob@Work [x] <{BOB}>", MOVE),
        ("address-and-comma-as-name", f"eve@evil.example, Bob <{BOB}>", "refused: its From has several addresses"),
        ("address-with-spaces-as-name", f"eve @ evil . example <{BOB}>", _NO_ADDRESS),
        (
            "address-of-other-script-as-name",
            f"eve@évil.example <{BOB}>",
            "refused: its From is not written in plain ASCII",
        ),
        ("quoted-local-part-as-name", f'"eve"@evil.example <{BOB}>', _NO_ADDRESS),
        ("name-behind-the-address", f"Bob <{BOB}>, Brown", "refused: its From has several addresses"),
        ("backslash-as-name", f"Bob \\ <{BOB}>", _NO_ADDRESS),
        ("homograph", "bob@exаmple.org", "refused: its From is not written in plain ASCII"),
        ("null", "<>", _NO_ADDRESS),
        ("other", "carol@example.net", f"from carol@example.net, {MOVE}"),
    ):
        yield Shape(f"from-{name}", plain("2bc\n", sender=sender), reading)
    yield Shape(
        "from-twice", plain("2bc\n", "From: eve@evil.example", f"From: {BOB}"), "refused: it has two fields From"
    )
    yield Shape("from-missing", made(head().partition("\n")[2], "2bc\n"), "refused: it has no field From")
    yield Shape("from-folded", plain("2bc\n", sender=f"Bob\n <{BOB}>"), MOVE)
    yield Shape("ids-none", made(head().replace("Message-ID", "X-Old-ID"), "2bc\n"), MOVE)
    yield Shape("ids-two", plain("2bc\n", "Message-ID: <a@b>", "Message-ID: <c@d>"), MOVE)
    for name, value in (
        ("with-a-comment", "<a@b> (added by postmaster@b)"),
        ("without-brackets", "a@b"),
        ("two-in-one-field", "<a@b> <c@d>"),
        ("empty", ""),
        ("not-ascii", "<Bób@b>"),
        ("with-spaces", "<a b@c>"),
    ):
        yield Shape(f"id-{name}", plain("2bc\n", f"Message-ID: {value}"), MOVE)
    yield Shape("token-in-the-answered-id", plain("2bc\n", to="play@hkoji.example"), MOVE)
    yield Shape(
        "token-only-in-references", plain("2bc\n", f"References: <a@b>\n {OUR_ID}", to="x@y.example", ids=False), MOVE
    )
    yield Shape(
        "token-only-in-cc", plain("2bc\n", f"Cc: a@b.example, <{TO_US.upper()}>", to="a@b.example", ids=False), MOVE
    )
    yield Shape(
        "token-only-in-the-subject",
        plain("2bc\n", f"Subject: {TO_US}", to="x@y.example", ids=False),
        f"no token, {MOVE}",
    )
    yield Shape("token-only-in-a-name", plain("2bc\n", to=f'"{TO_US}" <x@y.example>', ids=False), f"no token, {MOVE}")
    yield Shape("mbox-line", b"From bob@example.org Wed Nov 25 10:00:00 2026\n" + plain("2bc\n"), MOVE)
    yield Shape(
        "from-with-a-space", b"From : eve@evil.example\r\n" + plain("2bc\n"),
        "refused: it has two fields From",
    )  # fmt: skip
    yield Shape("line-ends-of-unix", plain("2bc\n\nBob\n").replace(b"\r", b""), MOVE)


def _programs() -> Iterator[Shape]:
    for name, field, reason in (
        ("vacation", "Auto-Submitted: auto-replied (vacation)", "auto-submitted"),
        ("vacation-folded", "Auto-Submitted:\n auto-generated", "auto-submitted"),
        ("mailing-list", "List-Id: Friends <friends.lists.example>", "list-id"),
        ("bulk", "Precedence: Bulk", "precedence"),
        ("autoreply", "X-Autoreply: yes", "x-autoreply"),
        ("autorespond", "X-Autorespond: away", "x-autorespond"),
        ("our-own-letter", "X-Hkoji: turn", "x-hkoji"),
    ):
        yield Shape(f"program-{name}", plain(f"2bc\n\n{LETTER}\n", field), f"dropped: {reason}")
    yield Shape(
        "program-with-two-senders", plain("2bc\n", "X-Autoreply: yes", "From: a@b", "From: c@d"), "dropped: x-autoreply"
    )
    yield Shape("program-with-a-broken-header", b"List-Id: x\r\nno field\r\n\r\n2bc\r\n", "dropped: list-id")
    yield Shape("no-program", plain("2bc\n", "Auto-Submitted: no", "Precedence: first-class"), MOVE)
    yield Shape(
        "list-footer", plain(f"2bc\n\n_______________\nfriends mailing list\nfriends@lists.example\n{quote()}"), MOVE
    )


def _reports() -> Iterator[Shape]:
    letter = f"From: play@hkoji.example\nMessage-ID: {OUR_ID}\nSubject: hkoji 85c924c3\n\n{LETTER}\n"
    for name, status, reading in (
        ("postfix-no-mailbox", "5.1.1", "bounce permanent 5.1.1, of our letter"),
        ("exchange-no-mailbox", "5.1.10", "bounce permanent 5.1.10, of our letter"),
        ("gmail-policy", "5.7.26", "bounce policy 5.7.26, of our letter"),
        ("exim-full", "5.2.2", "bounce failed 5.2.2, of our letter"),
        ("postfix-delayed", "4.4.1", "bounce delayed 4.4.1, of our letter"),
    ):
        report = f"Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; {BOB}\nAction: failed\nStatus: {status}\n"
        yield Shape(f"bounce-{name}", _report(report, part("message/rfc822", letter)), reading)
    report = f"Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; {BOB}\nStatus: 5.1.1 (unknown user)\n"
    headers = part("text/rfc822-headers", letter.partition("\n\n")[0] + "\n")
    yield Shape("bounce-headers-only", _report(report, headers), "bounce permanent 5.1.1, of our letter")
    yield Shape("bounce-without-letter", _report(report), "bounce permanent 5.1.1")
    success = report.replace("5.1.1", "2.0.0")
    yield Shape("report-of-success", _report(success, headers), "dropped: content-type")
    fields = ("Auto-Submitted: auto-replied", "From: mailer-daemon@mx.example")
    text = plain(f"This message was created by the mail system.\nStatus: 5.1.1\n\n{letter}", *fields)
    yield Shape("bounce-qmail-text", text, "dropped: auto-submitted")
    read = multipart(
        "report",
        part("text/plain", "Your message was read.\n"),
        part("message/disposition-notification", "Disposition: manual-action/MDN-sent-manually; displayed\n"),
        more="; report-type=disposition-notification",
    )
    yield Shape("read-receipt", read, "dropped: content-type")
    thumb = part("text/vnd.google.email-reaction+json; charset=UTF-8", '{"emoji":"\N{THUMBS UP SIGN}","version":1}\n')
    said = part("text/plain; charset=UTF-8", "\N{THUMBS UP SIGN}\n\nBob reacted via Gmail\n")
    yield Shape("reaction-gmail", multipart("alternative", said, thumb), "nothing: \N{THUMBS UP SIGN}")
    html = "<div>Bob Example reacted to your message:</div><table><tr><td>&#128077;</td></tr></table>\n"
    said = "nothing: Bob Example reacted to your message:"
    yield Shape("reaction-outlook", plain(html, "x-ms-reactions: allow", kind="text/html; charset=utf-8"), said)


def _report(status: str, *quoted: str) -> bytes:
    return multipart(
        "report",
        part("text/plain", "Your message could not be delivered.\n"),
        part("message/delivery-status", status),
        *quoted,
        more="; report-type=delivery-status",
        fields=(
            "From: MAILER-DAEMON@mx.example",
            "Auto-Submitted: auto-replied",
            "To: play+b-" + TOKEN + "@hkoji.example",
        ),
    )


def _parts() -> Iterator[Shape]:
    attached = "Content-Disposition: attachment; filename=notes.txt"
    text, base64 = "text/plain; charset=utf-8", "Content-Transfer-Encoding: base64"
    yield Shape("attachment-only", multipart("mixed", part(text, "2bc\n", attached)), "nothing: (no line)")
    yield Shape("attachment-first", multipart("mixed", part(text, "1a\n", attached), part(text, "2bc\n")), MOVE)
    yield Shape(
        "attached-letter", multipart("mixed", part("message/rfc822", plain("1a\n").decode()), part(text, "2bc\n")), MOVE
    )
    yield Shape(
        "only-a-letter", multipart("mixed", part("message/rfc822", plain("1a\n").decode())), "nothing: (no line)"
    )
    yield Shape("html-before-a-footer", multipart(
        "mixed", part("text/html; charset=utf-8", "<p>2bc</p>\n"), part(text, "_____\nfriends mailing list\n"),
    ), MOVE)  # fmt: skip
    notes = part("text/plain; charset=utf-8; name=notes.txt", "1a\n", "Content-Disposition: inline; filename=notes.txt")
    yield Shape("html-before-a-file", multipart("mixed", part("text/html", "<p>2bc</p>\n"), notes), MOVE)
    both = parts("alternative", part("text/html", "<p>2bc</p>\n"), part(text, "2bc\n"), boundary="=_b2")
    yield Shape("html-before-the-same-text", multipart("mixed", nested(both), part(text, "1a\n")), MOVE)
    empty_html = part("text/html", "<p>&nbsp;<br></p>\n")
    yield Shape("blank-html-before-text", multipart("mixed", empty_html, part(text, "2bc\n")), MOVE)
    calendar = part("text/calendar; method=REQUEST", "BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    yield Shape(
        "calendar-invitation",
        multipart("alternative", part(text, "Chess at nine\n"), calendar),
        "nothing: Chess at nine",
    )
    yield Shape("calendar-only", multipart("mixed", calendar), "nothing: (no line)")
    signature = part("application/pkcs7-signature; name=smime.p7s", "MIIB\n", base64)
    yield Shape("s-mime-signed", multipart("signed", part(text, "2bc\n"), signature, more="; micalg=sha-256"), MOVE)
    opaque = made(head("Content-Type: application/pkcs7-mime; smime-type=signed-data", base64), "MIIB\n")
    closed = "refused: it is encrypted, or its text is within its signature"
    yield Shape("s-mime-opaque", opaque, closed)
    inner = nested(parts("mixed", part(text, "2bc\n"), boundary="=_b2"))
    pgp = part("application/pgp-signature", "-----BEGIN PGP SIGNATURE-----\n-----END PGP SIGNATURE-----\n")
    yield Shape("pgp-signed", multipart("signed", inner, pgp), MOVE)
    inline = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n2bc\n-----BEGIN PGP SIGNATURE-----\n\nx\n"
    yield Shape("pgp-inline", plain(inline), MOVE)
    winmail = part("application/ms-tnef; name=winmail.dat", "eJ8+IgAAAAAB\n", base64)
    yield Shape("winmail-only", multipart("mixed", winmail), "nothing: (no line)")
    yield Shape("winmail-beside-text", multipart("mixed", part(text, "2bc\n\nBob\n"), winmail), MOVE)
    version = part("application/pgp-encrypted", "Version: 1\n")
    yield Shape("pgp-encrypted", multipart("encrypted", version, part("application/octet-stream", "x\n")), closed)
    yield Shape("blank-text-beside-html", alternative(" \n\n", "<p>2bc</p><p>Bob</p>\n"), MOVE)
    yield Shape(
        "html-with-style", plain("<style>p{}</style><script>2bc</script><p>1a</p>\n", kind="text/html"), "move 1A"
    )
    yield Shape("html-entities", plain("<p>&#50;&#98;c</p><p>&copy; Bob &amp; Co</p>\n", kind="text/html"), MOVE)
    yield Shape("html-comment-between", plain("<p>2b<!-- x -->c</p>\n", kind="text/html"), MOVE)
    yield Shape("html-comment", plain("<!-- <p>1a</p> --><p>2bc<!-- x --></p>\n", kind="text/html"), MOVE)
    yield Shape("charset-unknown", plain("2bc\n", kind="text/plain; charset=koi8-r"),
                MOVE)  # fmt: skip
    yield Shape("charset-utf-16", plain("2bc\n", kind="text/plain; charset=utf-16"),
                "refused: its characters are encoded as 'utf-16', which is not read here")  # fmt: skip
    yield Shape(
        "base64-with-a-footer",
        encoded("2bc\n", "base64").rstrip() + b"\r\n-- footer\r\n",
        MOVE,
    )
    yield Shape(
        "encoding-unknown",
        plain("2bc\n", "Content-Transfer-Encoding: x-uuencode"),
        "refused: its text is encoded as 'x-uuencode'",
    )
    yield Shape("type-twice", plain("2bc\n", "Content-Type: text/html"), "refused: it has two fields content-type")
    yield Shape("boundary-missing", made(head("Content-Type: multipart/mixed"), "2bc\n"),
                "refused: it has parts without a valid boundary between them")  # fmt: skip
    cut = multipart("mixed", part(text, "2bc\n")).rpartition(b"--=_b1--")[0]
    yield Shape("cut-off", cut, MOVE)
    yield Shape(
        "broken-field",
        b"From: bob@example.org\r\nnonsense\r\n\r\n2bc\r\n",
        "refused: its header has a line that is no field",
    )
    yield Shape("prefix-of-a-boundary", made(
        head('Content-Type: multipart/mixed; boundary="a"'), "--a\n\n2bc\n\n--ab\n1a\n--a\n\n1a\n--a--\n"
    ), MOVE)  # fmt: skip


def shapes() -> Iterator[Shape]:
    """Yields every shape of this module."""
    for group in (_orders, _addresses, _programs, _reports, _parts):
        yield from group()
