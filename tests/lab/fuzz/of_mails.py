"""Targets: mails, their signatures and mails files of any bytes, and the orders in mails.

The bytes of signed mails are in the mail, in DNS, and in kept answers. A mail that takes a quarter of a second is a
finding. A mails file that is read is written the same again, and convicts no honest service.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Final

from hkoji.errors import HkojiError
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import OrderFault, OrderKind
from hkoji.mail.dkim_rules import MOST_TRIED, judge_dkim, key_names
from hkoji.mail.dns_answers import DnsAnswers, decode_answers, encode_answers
from hkoji.mail.mail import read_mail
from hkoji.mail.mails_audit import index_mails
from hkoji.mail.mails_file import ProvedMailbox, format_mails, parse_mails
from hkoji.mail.message import read_texts, without_trace
from hkoji.mail.order_lines import order_paragraph
from hkoji.mail.orders import read_orders
from hkoji.rules.protocol import State
from tests.lab.fuzz.target import Target, chosen, refusals, split_off, text
from tests.support.mail.framed_mails import accused_by
from tests.support.mail.proved_table import MAILBOX, SALT, ProvedTable, proved_game
from tests.support.mail.signing import record_of, rsa_key, seconds_of, sign
from tests.support.mail_shape import OWN, POSITIONS, position, shapes

_SECONDS: Final = 0.25
_T: Final = "2026-11-22T08:00:00Z"
_TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"  # no password
_NAME: Final = "s1._domainkey.example.org"
_TEXT: Final = (
    b"From: Bob <bob@example.org>\r\nTo: hkoji <play+7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example>\r\n"
    b"Subject: Re: hkoji\r\nDate: Sun, 22 Nov 2026 08:00:00 +0000\r\nMessage-ID: <1@example.org>\r\n"
    b"\r\n2bc\r\n\r\n> it is your turn\r\n"
)

DKIM_WORDS: Final = (
    *(
        "DKIM-Signature: ",
        "v=1; ",
        "a=rsa-sha256; ",
        "a=ed25519-sha256; ",
        "c=relaxed/relaxed; ",
        "c=simple; ",
        "d=org; ",
    ),
    *(
        "d=example.org; ",
        "h=from:subject:date:to; ",
        "l=3; ",
        "t=1795334400; ",
        "x=1; ",
        "bh=",
        "b=",
        ";",
        "\r\n ",
        "\r\n\t",
    ),
    *("Content-Type: multipart/mixed; boundary=b", "--b", "From: ", "Subject: ", "References: ", "@hkoji.example>"),
)
RECORD_WORDS: Final = (
    "v=DKIM1; ",
    "k=rsa; ",
    "k=ed25519; ",
    "p=",
    "t=y; ",
    "t=s; ",
    "h=sha256; ",
    "s=email; ",
    "MIGf",
    "AQAB",
)


@cache
def _signed() -> tuple[bytes, ...]:
    plain = sign(_TEXT, key=rsa_key())
    timed = sign(_TEXT, key=rsa_key(), tags={"t": str(seconds_of(_T)), "x": str(seconds_of(_T) + 60)})
    return plain, timed, sign(sign(_TEXT, key=rsa_key()), key=rsa_key(), selector="s2")


def dkim_mails(data: bytes) -> None:
    """A mail of any bytes, by a good key: if a signature holds, it is one of those that were made."""
    started = time.process_time()
    names = key_names(read_mail(data))
    assert len(names) <= MOST_TRIED
    answers = dict.fromkeys(names, (record_of(rsa_key()),))
    for at in (_T, None):
        verdict = judge_dkim(read_mail(data), answers, at=at, token=_TOKEN)
        assert verdict.holds is (verdict.reason is None)
        if verdict.holds:
            assert b"".join(_TEXT.lower().split()) in b"".join(data.lower().split())
    assert time.process_time() - started < 2 * _SECONDS


def dkim_records(data: bytes) -> None:
    """A good mail, by any bytes in DNS."""
    started = time.process_time()
    which, record = split_off(data, 2)
    verdict = judge_dkim(read_mail(_signed()[which]), {_NAME: (record,)}, at=_T, token=_TOKEN)
    assert verdict.holds is (verdict.reason is None)
    assert time.process_time() - started < _SECONDS
    with refusals():
        answers: DnsAnswers = decode_answers(data)
        assert encode_answers(answers) == data


def signed_seeds() -> Iterator[bytes]:
    """Mails that are signed."""
    yield from _signed()
    yield _TEXT


def record_seeds() -> Iterator[bytes]:
    """Records of keys, and kept answers."""
    for which in range(2):
        for more in ("", "t=s; ", "h=sha256; s=email; "):
            yield chosen(which, record_of(rsa_key(), more).decode())
    yield encode_answers({_NAME: (record_of(rsa_key()), b"\n"), "a.example": (b"",)})


_OF_DKIM: Final = (
    Target("dkim-rules", "DKIM signatures of a mail", dkim_mails, signed_seeds, 100_000, 4096, DKIM_WORDS),
    Target(
        "dns-answers", "TXT records of keys, and kept answers", dkim_records, record_seeds, 100_000, 4096, RECORD_WORDS
    ),
)


_WORDS: Final = (
    *('{"about":', '"dns":', '"game":', '"head":', '"nonce":', '"purpose":', '"raw":', '"reader":1', '"salt":'),
    *('"address_salt":', '"mailbox":', '"name":"bob"', '"turn"', '"again"', '"game"', MAILBOX, SALT, "}\n", "RnJvbTog"),
)


@cache
def _honest() -> ProvedTable:
    return proved_game(3, grade=MailGrade.TOKEN, lie=lambda mail: mail._replace(signed=False))


def mails_files(data: bytes) -> None:
    """A mails file beside the log of an honest service."""
    with refusals():
        found = parse_mails(data)
        assert format_mails(found) == data
        assert len(index_mails(found).by_commit) <= sum(len(each.mails) for each in found)
        assert not accused_by(_honest(), data)


def file_seeds() -> Iterator[bytes]:
    """The mails of an honest game, all and one by one; and a mailbox without any."""
    mailbox = _honest().mailbox()
    yield format_mails([mailbox])
    for each in mailbox.mails:
        yield format_mails([mailbox._replace(mails=(each,))])
    yield format_mails([ProvedMailbox(SALT, "eve@example.org", "eve"), mailbox])


_OF_FILES: Final = (Target("mails-file", "mails files", mails_files, file_seeds, 100_000, 4096, _WORDS),)


_DUE: Final = (*POSITIONS, "")
_STATES: Final = tuple(map(position, _DUE))

MAIL_WORDS: Final = (
    *(
        "From: ",
        "bob@example.org",
        "Content-Type: ",
        "text/plain",
        "text/html",
        "multipart/mixed",
        "; boundary=b",
        "--b",
    ),
    *("multipart/report", "message/delivery-status", "Status: 5.1.1", "; charset=utf-8", "; format=flowed", "base64"),
    *(
        "Content-Transfer-Encoding: ",
        "quoted-printable",
        "=?utf-8?q?",
        "?=",
        "<!--",
        "-->",
        "<blockquote>",
        "gmail_quote",
    ),
    *("Delivered-To: ", "X-Original-To: ", "Return-Path: <>", "play+7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example"),
    *("Message-ID: <a@b>", "In-Reply-To: ", "Auto-Submitted: ", "List-Id: ", "> ", "-- ", "2bc", "take c"),
)
ORDER_WORDS: Final = (
    *("2bc", "take c", "-c", "order c4 a1", "accept", "decline later", "give 2d", "lang it", "quiet 22-7", "not me"),
    *("new hanamikoji bob b@x", "> ", "wrote:", "-- ", "secret A", " = ", "scarto b c", "gift a b c", "4ab/cd"),
)


def mails(data: bytes) -> None:
    """A mail, read from end to end by each reader by itself, as a refusal by one must not keep another from reading."""
    started = time.process_time()
    mail = read_mail(data)
    assert OWN.is_ours(mail.envelope(OWN).recipient)
    assert (mail.header.sender is None) is not (mail.header.sender_fault is None)
    assert mail.known_by()  # it is known by something
    mail.find_token(None, OWN)
    assert mail.bounce is None or mail.fault is None
    with refusals():
        mail.order_lines()
    try:
        lines = order_paragraph(next(read_texts(mail.parts())).lines)
    except HkojiError:
        lines = ()
    for state in _STATES:
        _ordered(lines, state)
    assert time.process_time() - started < _SECONDS
    without = without_trace(data)
    assert without_trace(without) == without


def orders(data: bytes) -> None:
    """Lines of a mail, in a position or where no move is due."""
    started = time.process_time()
    which, rest = split_off(data, len(_STATES))
    lines = order_paragraph(text(rest).split("\n"))
    assert all(lines)
    _ordered(lines, _STATES[which])
    assert time.process_time() - started < _SECONDS


def _ordered(lines: tuple[str, ...], state: State | None) -> None:
    read = read_orders(lines, state)
    legal = () if state is None else state.legal_actions()
    if isinstance(read, OrderFault):
        assert set(read.near) <= set(legal)
        assert not read.ask or read.ask in legal
        for action in read.near:
            suggested = read_orders([action], state)
            assert not isinstance(suggested, OrderFault)
            assert suggested[0].action == action
        return
    assert sum(order.decides for order in read) <= 1
    assert all(order.action in legal for order in read if order.kind is OrderKind.MOVE)


def mail_seeds() -> Iterator[bytes]:
    """The shorter mails of the corpus."""
    for shape in shapes():
        if len(shape.raw) < 1500:
            yield shape.raw


def order_seeds() -> Iterator[bytes]:
    """Lines of each sort, in each position."""
    for which in range(len(_STATES)):
        for line in ORDER_WORDS:
            yield chosen(which, f"{line}\n\nBob\n")
        yield chosen(which, "show\nlang it\n2bc\n\nhkoji wrote:\n> 1a\n")


TARGETS: Final = (
    Target("mail-message", "mails of any bytes", mails, mail_seeds, 300_000, 4096, MAIL_WORDS),
    Target("mail-orders", "the orders in a mail", orders, order_seeds, 300_000, 1024, ORDER_WORDS),
    *_OF_FILES,
    *_OF_DKIM,
)
