"""Many mails at once from many players, through Postfix: none is lost, and how many come in a second."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Final, NamedTuple

from tests.lab.mail.kept import count_kept, lost_or_doubled
from tests.lab.mail.mail_world import MailWorld
from tests.lab.mail.names import text_record
from tests.lab.mail.real_post_office import DOOR, SERVICE, SMTP, RealPostOffice
from tests.lab.mail.real_post_office import PLAYERS as PLAYERS_DOMAIN
from tests.support.mail.dkim_signer import Signer
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import ACCEPT, command_address
from tests.support.mail.servers import MailServer

PLAYERS: Final = 100
TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"
ENOUGH: Final = 100.0
"""Mails that the service must take in a second."""
_SENDERS: Final = 16
_PATIENCE: Final = 900.0
_SECONDS: Final = 60
_PAUSE: Final = 0.2


class Registered(NamedTuple):
    """A mail player, and the letter that has the command address."""

    player: MailboxPlayer
    welcome: Letter


def register(world: MailWorld, office: RealPostOffice, names: Sequence[str]) -> list[Registered]:
    """Lets the operator add mailboxes, whose owners accept."""
    players = [MailboxPlayer(office.open(name)) for name in names]
    for player in players:
        world.hkoji("admin", "mail", "add", player.name, player.mailbox.address, "--data", world.data)
    for player in players:
        player.answer(player.next_letter(), ACCEPT["en"])
    return [Registered(player, player.next_letter()) for player in players]


class LoadResult(NamedTuple):
    """How it went: how many mails were kept, and in how many seconds Postfix had all, all were kept, and processed.

    `floor` is in how many seconds as many came to a door that does nothing.
    """

    kept: int
    sent: float
    seconds: float
    processed: float
    floor: float
    wrong: list[str]


def run_load(
    world: MailWorld, office: RealPostOffice, count: int, players: int = PLAYERS, *, signed: bool = False
) -> LoadResult:
    """Sends `count` mails, `signed` or not, and waits until the service has processed all of them."""
    signer = Signer(PLAYERS_DOMAIN, "load") if signed else None
    if signer is not None:
        office.names.add(signer.name, "TXT", text_record(signer.record))
    floor = _floor(count)
    world.start_mail()
    registered = register(world, office, [f"player{number}" for number in range(players)])
    before = count_kept(world.data)
    mails = [_mail(registered[number % players], number, signer) for number in range(count)]
    began = time.monotonic()
    sent = _send_all(mails)
    end = began + _PATIENCE
    while count_kept(world.data) < before + count and time.monotonic() < end:
        time.sleep(_PAUSE)
    seconds = time.monotonic() - began
    while count_kept(world.data, "new") and time.monotonic() < end:
        time.sleep(_PAUSE)
    processed = time.monotonic() - began
    office.wait_until_empty()
    kept = count_kept(world.data) - before
    wrong = lost_or_doubled(world.data, [Letter(raw).id for _, _, raw in mails])
    if kept / seconds < ENOUGH:
        wrong.append(f"only {kept / seconds:.0f} mails in a second")
    return LoadResult(kept, sent, seconds, processed, floor, wrong)


def _floor(count: int) -> float:
    """Returns in how many seconds so many mails come through Postfix to a door that keeps nothing."""
    came: set[bytes] = set()

    def take(_: str, __: list[str], raw: bytes) -> str:
        came.add(raw.partition(b"load.")[2].partition(b"@")[0])
        return "250 2.0.0 taken"

    door = MailServer(take, port=DOOR[1], lmtp=True)
    try:
        sender, to = f"x@{PLAYERS_DOMAIN}", f"play+{TOKEN}@{SERVICE}"
        mails = [_Mail(sender, to, _raw(sender, to, number)) for number in range(count)]
        began = time.monotonic()
        _send_all(mails)
        while len(came) < count:
            assert time.monotonic() < began + _PATIENCE, f"{len(came)} of {count} mails came"
            time.sleep(_PAUSE)
        return time.monotonic() - began
    finally:
        door.close()


class _Mail(NamedTuple):
    sender: str
    to: str
    raw: bytes


def _mail(of: Registered, number: int, signer: Signer | None) -> _Mail:
    address, to = of.player.mailbox.address, command_address(of.welcome)
    raw = _raw(address, to, number)
    return _Mail(address, to, raw if signer is None else signer.sign(raw))


def _raw(sender: str, to: str, number: int) -> bytes:
    text = f"""\
From: {sender}
To: {to}
Subject: {number}
Date: {formatdate()}
Message-ID: <load.{number}@players.example>

games
"""
    return text.replace("\n", "\r\n").encode()


def _send_all(mails: Sequence[_Mail]) -> float:
    """Hands all mails to Postfix, and returns in how many seconds."""
    began = time.monotonic()
    with ThreadPoolExecutor(_SENDERS) as pool:
        for each in [pool.submit(_send, mails[start::_SENDERS]) for start in range(_SENDERS)]:
            each.result()
    return time.monotonic() - began


def _send(mails: Sequence[_Mail]) -> None:
    """Hands mails to the Postfix beside the service, as another provider would."""
    with smtplib.SMTP(*SMTP, "mx", _SECONDS, ("127.0.0.2", 0)) as post:
        for mail in mails:
            post.sendmail(mail.sender, [mail.to], mail.raw)
