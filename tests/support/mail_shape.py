"""The mails of tests/data/mails, what a reading says, and building blocks for other mails.

tests/data/mails/README says by hand what is to be read from each; nothing there is made by the reader. The mails were
written from knowledge of the programs, with one player and one letter, so that only the shapes differ.
"""

from __future__ import annotations

from base64 import encodebytes
from binascii import b2a_qp
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.commands import OrderFault
from hkoji.mail.mail import read_mail
from hkoji.mail.message import READER_VERSION
from hkoji.mail.order_lines import text_order
from hkoji.mail.orders import read_orders
from hkoji.rules.protocol import State
from hkoji.rules.transcript import parse_transcript

MAILS: Final = Path(__file__).parents[1] / "data" / "mails"
OWN: Final = OwnAddress("play@hkoji.example")
TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"
TO_US: Final = f"play+{TOKEN}@hkoji.example"
OUR_ID: Final = f"<turn.9.{TOKEN}@hkoji.example>"
BOB: Final = "bob@example.org"

LETTER: Final = """\
Your turn in game 85c924c3, against alice.
Send one move, for example this one:
  2ab

The hand is A B C D E F G.
stop ends these letters."""
"""A letter of ours as mails quote it: it has lines that would be orders."""

POSITIONS: Final = {
    "turn": '[Ruleset "hanamikoji/1 first=guest max_rounds=0 tiebreak=geisha"]\n\n1. =XXXXXX/ABCDEG +F\n',
    "gift": '[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]\n\n1. =XXXXXX/ABCDEG +X 3CDD\n',
    "road": '[Ruleset "geishas-road/1 first=host markers=random"]\n\n1. *AD =XXXXXX/A2A4B3D4E3E4 +X IXX +C3\n',
}
"""The entry that bob, the guest, owes: an action, the answer to a gift, an action in the other game."""


class Shape(NamedTuple):
    """A mail, and what is to be read from it, as `describe` says it. `due` is one of `POSITIONS`, empty for none."""

    name: str
    raw: bytes
    reading: str
    due: str = "turn"


def shapes() -> tuple[Shape, ...]:
    """All mails of tests/data/mails, in the order of its README."""
    _, _, rows = (MAILS / "README").read_text().rstrip("\n").partition("\n\n")
    read = (row.split("  ", 2) for row in rows.split("\n"))
    return tuple(
        Shape(name, (MAILS / f"{name}.eml").read_bytes(), reading, due.strip("-")) for name, due, reading in read
    )


def describe(raw: bytes, due: str = "turn", reader: int = READER_VERSION) -> str:
    """Reads a mail from end to end by a version of the rules, and says what came of it in one line."""
    mail = read_mail(raw)
    header, bounce, found = mail.header, mail.bounce, mail.find_token(None, OWN)
    program = next(iter(mail.automatic), None)
    try:
        if bounce is not None:
            ours = bounce.message_id is not None and OWN.find_in_id(bounce.message_id) is not None
            return f"bounce {bounce.kind} {bounce.status}{', of our letter' if ours else ''}"
        if program is not None:
            return f"dropped: {program}"
        if header.sender is None:
            return f"refused: {header.sender_fault}"
        who = f"{'' if header.sender == BOB else f'from {header.sender}, '}{'' if found else 'no token, '}"
        lines = text_order(mail.parts(), reader)
    except UnreadableMailError as error:
        return f"dropped: {program}" if program else f"refused: {error.reason}"
    orders = read_orders(lines, position(due))
    if isinstance(orders, OrderFault):
        return f"{who}nothing: {orders.line or '(no line)'}"
    return who + "; ".join(" ".join((order.kind.value, *order.words, order.action)).strip() for order in orders)


@cache
def position(due: str) -> State | None:
    """The position in which a mail is read."""
    if not due:
        return None
    transcript = parse_transcript(POSITIONS[due])
    state = transcript.ruleset.initial()
    for event in transcript.events:
        state = state.apply(event)
    return state


# --- building blocks --------------------------------------------------------------------------------------------------


_BOB: Final = f"Bob <{BOB}>"
_US: Final = f"hkoji <{TO_US}>"


def head(*fields: str, sender: str = _BOB, to: str = _US, ids: bool = True) -> str:
    """The header of an answer; `fields` come before the others, and are not written again."""
    named = {field.partition(":")[0].lower() for field in fields}
    usual = [
        f"From: {sender}",
        f"To: {to}",
        "Subject: Re: hkoji 85c924c3: you and alice",
        "Date: Wed, 25 Nov 2026 10:00:00 +0100",
        "Message-ID: <5e1f0c@mail.example.org>",
        *([f"In-Reply-To: {OUR_ID}", f"References: <open.1@hkoji.example> {OUR_ID}"] if ids else []),
        "MIME-Version: 1.0",
    ]
    return "".join(f"{line}\n" for line in (*fields, *(f for f in usual if f.partition(":")[0].lower() not in named)))


def made(header: str, body: str, charset: str = "utf-8") -> bytes:
    """A whole mail with the line ends of SMTP."""
    return f"{header}\n{body}".encode(charset).replace(b"\n", b"\r\n")


def plain(
    body: str,
    *fields: str,
    kind: str = "text/plain; charset=utf-8",
    sender: str = _BOB,
    to: str = _US,
    ids: bool = True,
) -> bytes:
    """A mail of one text. The options are those of `head`."""
    return made(head(f"Content-Type: {kind}", *fields, sender=sender, to=to, ids=ids), body)


def encoded(body: str, how: str, charset: str = "utf-8", kind: str = "text/plain") -> bytes:
    """A mail of one text in a transfer encoding and a charset."""
    data = body.encode(charset)
    text = (encodebytes(data) if how == "base64" else b2a_qp(data)).decode("ascii")
    fields = (f"Content-Type: {kind}; charset={charset}", f"Content-Transfer-Encoding: {how}")
    return made(head(*fields), text)


def part(kind: str, body: str, *fields: str) -> str:
    """A part of a multipart."""
    return "".join(f"{line}\n" for line in (f"Content-Type: {kind}", *fields)) + f"\n{body}"


def parts(kind: str, *each: str, boundary: str = "=_b1", more: str = "") -> tuple[str, str]:
    """The Content-Type of a multipart, and its body."""
    body = "".join(f"--{boundary}\n{text}\n" for text in each)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"{more}', f"{body}--{boundary}--\n"


def nested(content: tuple[str, str]) -> str:
    """A multipart as a part of another."""
    return f"{content[0]}\n\n{content[1]}"


def multipart(kind: str, *each: str, more: str = "", fields: tuple[str, ...] = ()) -> bytes:
    """A mail of several parts."""
    field, body = parts(kind, *each, more=more)
    return made(head(field, *fields), body)


def alternative(text: str, html: str) -> bytes:
    """A mail as most programs write it: its text, and the same in HTML."""
    return multipart("alternative", part("text/plain; charset=UTF-8", text), part("text/html; charset=UTF-8", html))


def quote(text: str = LETTER, mark: str = "> ") -> str:
    """A text as it is quoted."""
    return "".join(f"{mark}{line}\n" for line in text.splitlines())
