"""Mails made to exhaust their reader. `BOMBS` has each, written to tests/data/bombs by scripts/build/mails.py."""

from __future__ import annotations

import random
from base64 import encodebytes
from typing import Final

from tests.support.mail_shape import head, made, multipart, part, parts, plain

_HTML: Final = "text/html; charset=utf-8"
_KIB: Final = 1024
_MARKS: Final = "\N{COMBINING CEDILLA}\N{COMBINING ACUTE ACCENT}"
"""Marks that normalisation has to exchange."""


def _filled(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode()))


def _nested(depth: int) -> bytes:
    field, body = parts("mixed", part("text/plain", "2bc\n"), boundary="b0")
    for number in range(1, depth):
        field, body = parts("mixed", f"{field}\n\n{body}", boundary=f"b{number}")
    return made(head(field), body)


def _bombs() -> dict[str, bytes]:
    noise = random.Random(1)
    base64 = "Content-Transfer-Encoding: base64"
    quoted = "Content-Transfer-Encoding: quoted-printable"
    flowed = "text/plain; charset=utf-8; format=flowed"
    text = "text/plain; charset=utf-8"
    mail = plain("2bc\n")
    return {
        # fields
        "commas-in-from": plain("2bc\n", sender=_filled(",", 60_000)),
        "commas-in-to": plain("2bc\n", to=_filled(",", 8_000)),
        "quotes-in-to": plain("2bc\n", to=_filled('"\\', 8_000)),
        "quote-not-closed-in-from": plain("2bc\n", sender=f'"{_filled("a", 900)}'),
        "comments-in-to": plain("2bc\n", to=_filled("(", 8_000)),
        "comments-closed-in-to": plain("2bc\n", to=_filled("(a)", 8_000)),
        "brackets-in-to": plain("2bc\n", to=_filled("<", 8_000)),
        "one-atom-in-to": plain("2bc\n", to=_filled("a", 8_000)),
        "ats-in-to": plain("2bc\n", to=_filled("a@", 8_000)),
        "many-to-fields": plain("2bc\n", *(f"To: {_filled('a@b,', 900)}" for _ in range(60))),
        "references": plain("2bc\n", f"References: {_filled('<a@b> <', 8_000)}"),
        "encoded-words": plain("2bc\n", f"Subject: {_filled('=?utf-8?q?a?= ', 8_000)}"),
        "encoded-words-not-closed": plain("2bc\n", f"Subject: {_filled('=?a?q?', 8_000)}"),
        "subject-of-marks": plain("2bc\n", f"Subject: {_filled(_MARKS, 8_000)}"),
        "parameters-in-pieces": plain("2bc\n", kind="text/plain" + _filled("; charset*0*=u", 8_000)),
        "parameters-not-closed": plain("2bc\n", kind="text/plain" + _filled(';a="', 8_000)),
        "parameter-of-backslashes": plain("2bc\n", kind='text/plain; charset="' + _filled("\\", 8_000)),
        "field-too-long": plain("2bc\n", f"X-Long: {_filled('a', 9_000)}"),
        "header-too-long": plain("2bc\n", *(f"X-Long-{n}: {_filled('a', 900)}" for n in range(80))),
        "header-of-short-fields": made(_filled("a:\n", 60 * _KIB) + head(), "2bc\n"),
        "header-continued": made("X-Folded: a\n" + _filled(" \n", 8_000) + head(), "2bc\n"),
        "header-continued-too-long": made("X-Folded: a\n" + _filled(" a\n", 60_000) + head(), "2bc\n"),
        "header-without-end": _filled("a: b\n", 200 * _KIB).encode(),
        "no-header": b"\r\n" * 100_000,
        # parts
        "nested-5": _nested(5),
        "nested-6": _nested(6),
        "nested-1000": _nested(1000),
        "parts-10000": multipart("mixed", *[part("text/plain", "a")] * 6_000),
        "boundaries-with-spaces": made(
            head('Content-Type: multipart/mixed; boundary="b"'), _filled(f"--b{' ' * 900}x\n", 200 * _KIB)
        ),
        "boundary-lines-that-are-none": made(
            head('Content-Type: multipart/mixed; boundary="-"'), _filled("-" * 70 + "\n", 200 * _KIB)
        ),
        "reports": multipart("report", part("message/delivery-status", _filled("Status: 5\n", 200 * _KIB)),
                             more="; report-type=delivery-status"),
        # text
        "base64-garbage": plain(noise.randbytes(1500).decode("latin-1") * 100, base64),
        "base64-of-padding": plain(_filled("====\n", 200 * _KIB), base64),
        "base64-of-noise": plain(encodebytes(noise.randbytes(1_824) * 100).decode("ascii"), base64),
        "quoted-printable-of-soft-ends": plain(_filled("=\n", 160 * _KIB), quoted),
        "quoted-printable-of-equals": plain(_filled("=", 240 * _KIB), quoted),
        "nuls": plain(_filled("\0", 240 * _KIB)),
        "one-line": plain(_filled("2bc ", 240 * _KIB)),
        "lines-5000": plain(_filled("2bc\n", 20_000)),
        "lines-of-colons": plain(_filled("a\nb:\n\n", 3_900) + "> a\n"),
        "lines-of-colons-and-quotes": plain(_filled("on that day\na wrote:\n> x\n", 14_000)),
        "lines-of-dashes": plain(_filled("-" * 299 + "x\n", 80 * _KIB)),
        "lines-of-dashes-and-signs": plain(_filled("-" * 298 + "=x\n", 240 * _KIB)),
        "blocks-of-hashes": plain(_filled("Hash: a\nHash: a\nHash: a\n\n\n", 10_000)),
        "empty-lines": plain(_filled("\n", 1_990) + "2bc\n"),
        "line-of-combining-marks": plain(_filled(_MARKS, 240 * _KIB)),
        "lines-of-combining-marks": plain(_filled(f"a{_MARKS * 60}\n", 240 * _KIB)),
        "lines-of-ligatures": plain(_filled("\ufdfa" * 40 + "\n", 230 * _KIB)),
        "lines-of-format-characters": plain(_filled("\u200b" * 40 + "\n", 230 * _KIB)),
        "flowed-spaces": plain(_filled("a \n", 5_900), kind=flowed),
        "flowed-one-line": plain(_filled("a ", 240 * _KIB), kind=flowed),
        "flowed-quotes": plain(_filled(">" * 120 + " \n", 230 * _KIB), kind=flowed),
        "quotes-of-depth": plain(_filled(">", 240 * _KIB)),
        "order-of-many-lines": plain(_filled("show\n", 1_990 * 5)),
        # HTML
        "html-comments": plain(_filled("<!--", 240_000), kind=_HTML),
        "html-comments-64": plain(_filled("<!--", 63_000), kind=_HTML),
        "html-tags": plain(_filled("<a>b", 63_000), kind=_HTML),
        "html-tag-not-closed": plain(f"<a {_filled('b=c ', 63_000)}", kind=_HTML),
        "html-attributes-not-closed": plain(_filled('<a b="', 63_000), kind=_HTML),
        "html-attributes-of-two-quotes": plain(_filled("<a b='\"", 63_000), kind=_HTML),
        "html-spaces-in-a-tag": plain(f"<a{_filled(' ', 63_000)}", kind=_HTML),
        "html-brackets": plain(_filled("<", 63_000), kind=_HTML),
        "html-entities": plain(_filled("&", 63_000), kind=_HTML),
        "html-number": plain(f"&#{_filled('9', 63_000)};", kind=_HTML),
        "html-quotations": plain(_filled("<blockquote>", 63_000), kind=_HTML),
        "html-styles": plain(_filled("<style>", 63_000), kind=_HTML),
        "html-in-base64": plain(encodebytes(b"<p>" * 60_000).decode("ascii"), base64, kind=_HTML),
        "html-after-blank-texts": multipart("alternative", *[part(text, "\n" * 900)] * 18, part(_HTML, "<p>2bc</p>")),
        "html-blank-and-again": multipart("mixed", *[part(_HTML, "<b>" * 21_000)] * 3, part(_HTML, "<p>2bc</p>")),
        # size
        "too-large": mail + b"a" * (260 * _KIB),
        "too-large-by-one": mail + b"a" * (256 * _KIB - len(mail) + 1),
        "as-large-as-allowed": mail + b"\r\n" + b"a" * (256 * _KIB - len(mail) - 2),
    }  # fmt: skip


BOMBS: Final = _bombs()
"""Each bomb by its name."""

_SMALL: Final = 90 * _KIB
_LARGE: Final = (
    "as-large-as-allowed",
    "base64-garbage",
    "header-without-end",
    "html-comments",
    "lines-of-ligatures",
    "line-of-combining-marks",
    "nuls",
    "one-line",
    "parts-10000",
    "too-large",
)
FILED: Final = {name: raw for name, raw in BOMBS.items() if len(raw) < _SMALL or name in _LARGE}
"""Those that stand in tests/data/bombs. The others differ little from these, and are made when they are needed."""
