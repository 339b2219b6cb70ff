"""The world in which spoofed mails are sent through Postfix, and signed by OpenDKIM where the provider signs."""

from __future__ import annotations

import smtplib
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from tests.lab.mail.kept import count_kept
from tests.lab.mail.mail_world import ADDRESS, MailWorld
from tests.lab.mail.names import text_record
from tests.lab.mail.real_post_office import PLAYERS, SMTP, ImapMailbox, RealPostOffice
from tests.support.mail.post_office import Letter, next_letter
from tests.support.times import now

_PATIENCE: Final = 300.0
_SECONDS: Final = 60
_ELSEWHERE: Final = "127.0.0.4"
_SPY: Final = "spy"


class RealSpoofWorld:
    """See `spoof.SpoofWorld`."""

    address = ADDRESS

    def __init__(self, world: MailWorld, office: RealPostOffice) -> None:
        self.service = world.service
        self.data = world.data
        self._world = world
        self._office = office
        self._spy = office.open(_SPY)
        self._boxes: dict[str, ImapMailbox] = {}

    def mailbox(self, address: str) -> ImapMailbox:
        if address not in self._boxes:
            self._boxes[address] = self._office.open(*address.split("@"))
        return self._boxes[address]

    def signed(self, sender: str, raw: bytes) -> bytes:
        """The mail also goes to a mailbox of the laboratory, and that copy is used."""
        known = len(self._spy.received())
        self.mailbox(sender).send(raw, [self._spy.address])
        sent = Letter(raw).id
        copy, _ = next_letter(self._spy, known, wanted=lambda each: each.id == sent)
        name = b"DKIM-Signature:" if sender.endswith(f"@{PLAYERS}") else raw.partition(b":")[0] + b":"
        head, found, rest = copy.raw.partition(b"\r\n" + name)
        assert found, head
        return name + rest

    def deliver(self, sender: str, to: str, raw: bytes) -> None:
        with smtplib.SMTP(*SMTP, "elsewhere.example", _SECONDS, (_ELSEWHERE, 0)) as post:
            post.sendmail(sender, [to], raw)

    def publish(self, name: str, texts: Sequence[str]) -> None:
        self._office.names.add(name, "TXT", *map(text_record, texts))

    def silence(self, name: str) -> None:
        self._office.names.silent.add(name)

    def add(self, name: str, address: str) -> None:
        self._world.hkoji("admin", "mail", "add", name, address, "--data", self.data)

    def settle(self) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            self._office.wait_until_empty(_PATIENCE)
            if not self._waits() and not (self._office.service.queue() or self._office.players.queue()):
                return
            assert time.monotonic() < end, self._world.log[-3000:]
            time.sleep(0.1)

    def _waits(self) -> int:
        """How many mails wait for the service, and letters that are due."""
        with closing(sqlite3.connect(f"file:{self.data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
            asked = "SELECT count(*) FROM outbox WHERE kind = 'mail' AND due <= ?"
            letters = database.execute(asked, (now(),)).fetchone()[0]
        return count_kept(self.data, "new") + int(letters)

    def now(self) -> float:
        return time.time()
