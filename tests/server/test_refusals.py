"""What an operator sets, and addresses of services, webhooks and mailboxes: read or refused as the data says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from hkoji_server.mail_settings import read_imap, read_lmtp, read_smtp
from hkoji_server.service.guarded_post import parse_webhook_url
from hkoji_server.settings import load

from hkoji.mail.addresses import is_mailbox
from hkoji.mail.header import read_header, zone_of
from hkoji.rules.hanamikoji.notation import parse
from hkoji.service_url import parse_url
from hkoji.show.decks import find_deck
from tests.support.mail_shape import plain
from tests.support.refusals import Case, Reader, check, every_case


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
    to, cc = (read_header(plain("2bc\n", f"{field}: {text}")) for field in ("To", "Cc"))
    assert to.to == cc.cc
    return " ".join(to.to)


def _zone(date: str) -> str:
    return zone_of(f"Subject: hello\r\n{date}\r\n\r\nDate: Fri, 20 Nov 2026 13:01:00 +0900\r\n".encode())


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
    }
}


@every_case(AREAS)
def test_a_reader_answers_as_the_data_says(read: Reader, case: Case) -> None:
    check(read, case)
