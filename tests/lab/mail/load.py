"""Many mails at once from many players, through Postfix: none is lost, and how many come in a second."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Final, NamedTuple

from tests.lab.mail.kept import kept_rows, lost_or_doubled
from tests.lab.mail.mail_world import MailWorld
from tests.lab.mail.real_post_office import SMTP, RealPostOffice
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import ACCEPT, command_address

PLAYERS: Final = 100
ENOUGH: Final = 100.0
"""Mails that the service must take in a second."""
_SENDERS: Final = 16
_PATIENCE: Final = 900.0
_SECONDS: Final = 60


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
    """How it went."""

    kept: int
    seconds: float
    wrong: list[str]


def run_load(world: MailWorld, office: RealPostOffice, count: int, players: int = PLAYERS) -> LoadResult:
    """Sends `count` mails, and waits until the service has processed all of them."""
    registered = register(world, office, [f"player{number}" for number in range(players)])
    before = len(kept_rows(world.data))
    mails = [_mail(registered[number % players], number) for number in range(count)]
    began = time.monotonic()
    with ThreadPoolExecutor(_SENDERS) as pool:
        for each in [pool.submit(_send, mails[start::_SENDERS]) for start in range(_SENDERS)]:
            each.result()
        end = began + _PATIENCE
        while len(kept_rows(world.data)) < before + count and time.monotonic() < end:
            time.sleep(0.1)
    seconds = time.monotonic() - began
    office.wait_until_empty()
    while any(row.state == "new" for row in kept_rows(world.data)) and time.monotonic() < end:
        time.sleep(0.1)
    kept = len(kept_rows(world.data)) - before
    wrong = lost_or_doubled(world.data, [Letter(raw).id for _, _, raw in mails])
    if kept / seconds < ENOUGH:
        wrong.append(f"only {kept / seconds:.0f} mails in a second")
    return LoadResult(kept, seconds, wrong)


class _Mail(NamedTuple):
    sender: str
    to: str
    raw: bytes


def _mail(of: Registered, number: int) -> _Mail:
    address, to = of.player.mailbox.address, command_address(of.welcome)
    text = f"""\
From: {address}
To: {to}
Subject: {number}
Date: {formatdate()}
Message-ID: <load.{number}@players.example>

games
"""
    return _Mail(address, to, text.replace("\n", "\r\n").encode())


def _send(mails: Sequence[_Mail]) -> None:
    """Hands mails to the Postfix beside the service, as another provider would."""
    with smtplib.SMTP(*SMTP, "mx", _SECONDS, ("127.0.0.2", 0)) as post:
        for mail in mails:
            post.sendmail(mail.sender, [mail.to], mail.raw)
