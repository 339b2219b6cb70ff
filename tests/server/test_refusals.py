"""Settings, addresses, links, problem documents and parts of mails are read or refused as tests/data/refusals says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hkoji_server.mail_settings import read_imap, read_lmtp, read_smtp
from hkoji_server.service.notices.guarded_post import parse_webhook_url
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.players.limits import counted_name
from hkoji_server.settings import load

from hkoji.client.answers import problem
from hkoji.client.seats import read_invite_link
from hkoji.client.transport import HttpAnswer
from hkoji.local.local_games import player_name
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.html_text import html_to_text
from hkoji.mail.mail import read_mail
from hkoji.mail.message import READER_VERSION, read_texts
from hkoji.mail.order_lines import order_paragraph
from hkoji.rules.hanamikoji.actions import parse
from hkoji.service_url import parse_url
from hkoji.show.games import find_deck
from tests.support.mail_shape import describe, plain
from tests.support.refusals import Case, Reader, check, every_reader


def _setting(value: dict[str, Any]) -> None:
    load(**value)


def _webhook(text: str) -> str:
    url = parse_webhook_url(text)
    assert parse_webhook_url(url.text) == url
    return f"{url.shown} {url.host} {url.target} {url.secure}"


def _service(text: str) -> str:
    url = parse_url(text)
    assert parse_url(url) == url
    return url


def _addresses(text: str) -> str:
    to, cc = (read_mail(plain("2bc\n", f"{field}: {text}")).header for field in ("To", "Cc"))
    assert to.to == cc.cc
    return " ".join(to.to)


def _problem(value: dict[str, Any]) -> object:
    answer = HttpAnswer(value["status"], json.dumps(value["body"]).encode(), "https://elsewhere.example/\x1b")
    raise problem(answer)


def _order_in_html(markup: str) -> str:
    """The lines of the order, of a markup alone and of a mail that has it."""
    order = order_paragraph(html_to_text(markup, READER_VERSION).split("\n"))
    read = next(read_texts(read_mail(plain(markup, kind="text/html; charset=utf-8")).parts()))
    assert read.from_html
    assert order_paragraph(read.lines) == order
    return " / ".join(order)


def _program(field: str) -> str:
    """The reason for which a mail with this field is one of a program, whatever else is in its header."""
    raw = plain("2bc\n", field)
    (reason,) = read_mail(raw).automatic or (None,)
    broken, long = b"no field at all\r\n" + raw, raw + b"a" * 300_000
    several = plain("2bc\n", "Auto-Submitted: no", field, "From: a@b", "From: c@d")
    assert all(read_mail(each).automatic == read_mail(raw).automatic for each in (broken, long, several))
    assert not read_mail(plain(f"2bc\n\n{field}\n")).automatic
    return str(reason)


def _zone(date: str) -> str:
    return read_mail(f"Subject: hello\r\n{date}\r\n\r\nDate: Fri, 20 Nov 2026 13:01:00 +0900\r\n".encode()).zone


AREAS: Final[Mapping[str, Mapping[str, Iterable[Reader]]]] = {
    "service": {
        "a setting": [_setting],
        "where mail is taken": [lambda text: tuple(read_lmtp(text))],
        "where letters are given": [lambda text: tuple(read_smtp(text))],
        "a mailbox that is read": [lambda text: tuple(read_imap(text))],
        "the address of a webhook": [_webhook],
        "the address of a service": [_service],
        "a move in the names of a deck": [lambda text: parse(find_deck("everdeck").read(text))],
        "a mailbox": [is_mailbox],
        "a list of addresses in a mail": [_addresses],
        "the zone of a mail": [_zone],
        "the settings of a channel": [ChannelSettings.parse],
        "the address that a limit counts": [counted_name],
        "the link of an invitation": [read_invite_link],
        "a problem document": [_problem],
        "the order in HTML": [_order_in_html],
        "the order in a text, by version 1": [lambda text: describe(plain(text), reader=1)],
        "the order in a text": [lambda text: describe(plain(text))],
        "a field of a program's mail": [_program],
        "the name that a bot gets": [player_name],
    }
}


@every_reader(AREAS)
def test_a_reader_answers_as_the_data_says(read: Reader, found: Sequence[Case]) -> None:
    check(read, found)
