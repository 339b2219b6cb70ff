"""The players' provider of the laboratory, and the mail servers beside the service: Postfix, Dovecot and OpenDKIM.

A letter goes from the service to its Postfix (127.0.0.1, signed by OpenDKIM), by SMTP (from 127.0.0.5) to the Postfix
of the provider (127.0.0.2), by LMTP to Dovecot. A mail goes from a player (127.0.0.3) to the provider's Postfix, by
SMTP to the service's, and by LMTP to the service's door. Names are found by DNS.
"""

from __future__ import annotations

import imaplib
import smtplib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.lab.mail import dovecot, postfix
from tests.lab.mail.names import NameServer
from tests.lab.mail.postfix import beside_the_service, of_the_players

SERVICE: Final = "hkoji.example"
PLAYERS: Final = "players.example"
UNSIGNED: Final = ("quiet.example", "evil.example")
"""Domains whose mails the provider does not sign."""
DOOR: Final = ("127.0.0.1", 2424)
"""Where the service takes mail."""
SMTP: Final = ("127.0.0.1", 25)
"""Where the service sends letters to."""
_PROVIDER: Final = "127.0.0.2"
PROVIDER: Final = (_PROVIDER, 25)
"""Where a service sends letters to that has a mailbox at the players' provider."""
_PLAYER: Final = "127.0.0.3"
_SECONDS: Final = 60


@dataclass
class ImapMailbox:
    """A mailbox that is read by IMAP."""

    address: str
    _messages: list[bytes] = field(default_factory=list)
    _imap: imaplib.IMAP4 | None = None

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        with smtplib.SMTP(_PROVIDER, 25, "phone", _SECONDS, (_PLAYER, 0)) as provider:
            provider.sendmail(self.address, list(to), raw)

    def received(self) -> list[bytes]:
        if self._imap is None:
            self._imap = imaplib.IMAP4(_PROVIDER, timeout=_SECONDS)
            self._imap.login(self.address, dovecot.PASSWORD)
        count = int(self._imap.select("INBOX", readonly=True)[1][0] or 0)
        if count > len(self._messages):
            _, found = self._imap.fetch(f"{len(self._messages) + 1}:{count}", "(RFC822)")
            self._messages += [each[1] for each in found if isinstance(each, tuple)]
        return list(self._messages)


class Provider:
    """The players' provider: Postfix, Dovecot, OpenDKIM, and a DNS that the whole machine uses."""

    def __init__(self) -> None:
        Path("/etc/resolv.conf").unlink(missing_ok=True)
        Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
        self.names = NameServer()
        for domain in (PLAYERS, *UNSIGNED):
            self.names.add(domain, "MX", f"10 mx.{PLAYERS}.")
        self.names.add(f"mx.{PLAYERS}", "A", _PROVIDER)
        self.players = of_the_players(PLAYERS, UNSIGNED, f"inet:{_PROVIDER}:8892")
        self._names: set[str] = set()
        self.players.write()
        there = f"if !/^nobody/\n/@({'|'.join((PLAYERS, *UNSIGNED))})$/ here\nendif\n"
        (self.players.folder / "mailboxes").write_text(there)
        dovecot.write()

    def start(self, *others: Callable[[], None]) -> None:
        """Starts all servers, and others at the same time."""
        ours = (lambda: postfix.start_of_the_players(PLAYERS, self.names), dovecot.start, self.players.start)
        with ThreadPoolExecutor() as pool:
            for each in [pool.submit(start) for start in (*ours, *others)]:
                each.result()

    def open(self, name: str, domain: str = PLAYERS) -> ImapMailbox:
        """The mailbox with this local part, which no other domain has; it is made if need be."""
        if name not in self._names:
            self._names.add(name)
            dovecot.add(name)
        return ImapMailbox(f"{name}@{domain}")


class RealPostOffice(Provider):
    """All mail servers, from their start until the namespaces end."""

    grade = "dkim"

    def __init__(self, local: str = "play") -> None:
        began = time.monotonic()
        super().__init__()
        self.names.add(SERVICE, "MX", f"10 mail.{SERVICE}.")
        self.names.add(f"mail.{SERVICE}", "A", "127.0.0.1")
        self.service = beside_the_service(SERVICE, local)
        self.service.write()
        base = Path("/etc/postfix/main.cf")
        base.write_text(
            f"compatibility_level = 3.6\nalternate_config_directories = {self.service.folder} {self.players.folder}\n"
        )
        self.start(lambda: postfix.start_beside_the_service(SERVICE, self.names), self.service.start)
        self.seconds = time.monotonic() - began
        """How long the start took."""

    @property
    def log(self) -> str:
        """The logs of all servers."""
        paths = [*map(Path, ("/var/log/service.log", "/var/log/players.log", "/var/log/dovecot.log"))]
        return "".join(f"--- {path.stem}\n{path.read_text(errors='replace')}" for path in paths if path.exists())

    def wait_until_empty(self, patience: float = _SECONDS) -> None:
        """Waits until both queues are empty."""
        end = time.monotonic() + patience
        while self.service.queue() or self.players.queue():
            assert time.monotonic() < end, self.log[-3000:]
            time.sleep(0.05)
