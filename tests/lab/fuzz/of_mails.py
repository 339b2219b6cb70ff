"""Targets: mails of any bytes, and the orders in them. An input that takes a quarter of a second is a finding."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from hkoji.errors import HkojiError
from hkoji.mail.bounce import read_bounce
from hkoji.mail.commands import OrderFault, OrderKind
from hkoji.mail.fields import split_mail
from hkoji.mail.header import automatic_reason, envelope_of, find_token, known_by, read_header
from hkoji.mail.message import read_text, without_trace
from hkoji.mail.order_lines import order_paragraph
from hkoji.mail.orders import read_orders
from hkoji.rules.protocol import State
from tests.lab.fuzz.target import Target, chosen, refusals, split_off, text
from tests.support.mail_shape import OWN, POSITIONS, position, shapes

_SECONDS: Final = 0.25
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
    automatic = automatic_reason(data)
    assert OWN.is_ours(envelope_of(data, OWN).recipient)
    with refusals():
        header = read_header(data)
        assert header.automatic is automatic
        assert (header.sender is None) is not (header.sender_fault is None)
        assert known_by(split_mail(data))  # it is known by something
        find_token(header, None, OWN)
    with refusals():
        read_bounce(split_mail(data))
    try:
        lines = order_paragraph(read_text(data).lines)
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
)
