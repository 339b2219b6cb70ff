"""Measures how soon mails are answered: from the mail server's LMTP until the answer is at the mail server's SMTP.

    python -m scripts.bench.answers
    python -m scripts.bench.answers --mails 1000 --players 200

A mail process runs on SQLite, and a mail server in this program takes its letters. First mails come one at a time, each
after the process has been idle for a while, and then all at once. Each is the order `games` of a player.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import smtplib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from hkoji_server.service.mail.commands import command_fields
from hkoji_server.service.mail.tokens import MailTokens, kept_token
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import KeptCertificate, KeptHeldKey
from hkoji_server.store.mail_values import MAIL_KIND, Mailbox
from hkoji_server.store.player_tables import Player
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.tables import row_of

from hkoji.log.canonical import encode
from hkoji.log.private_key import PrivateKey
from scripts.bench.memory import processor_seconds
from scripts.bench.moves import KEY
from scripts.bench.page import Figure, record
from tests.support import mailboxes
from tests.support.leases import lease_due
from tests.support.mail.servers import MailServer
from tests.support.service import HKOJI

_HOST: Final = "hkoji.example"
_SINCE: Final = "2026-11-20T12:00:00Z"
_SETTINGS: Final = encode(ChannelSettings().to_json())
_IDLE: Final = 3.0
"""How many seconds the process is idle before a single mail."""
_SENDERS: Final = 8
_PATIENCE: Final = 120.0
_MOST_OF_ONE: Final = 3
"""So many times a player is answered the same in a day."""


class _MailedPlayer:
    """A player by mail, and the address to which their orders go."""

    def __init__(self, number: int) -> None:
        self.name = f"player{number}"
        self.address = f"{self.name}@players.example"
        self.key = PrivateKey.from_seed(number.to_bytes(32, "big"))
        self.to = ""

    async def add(self, store: SqliteStore, tokens: MailTokens) -> None:
        """Adds their mailbox, which has accepted, and the token of their command address."""
        key = self.key.public.text
        box = Mailbox(f"channel-{self.name}", self.name, self.address, key, "en", "invited", _SINCE)
        held = row_of(KeptHeldKey, key=key, name=self.name, private=self.key.to_openssh().decode())
        certificate = row_of(KeptCertificate, text="{}" + self.name, key=key, mailbox=self.address, salt="5a" * 32)
        await store.invite_mailbox(NewMailbox(box, _SETTINGS, None, held, certificate))
        await mailboxes.accept(
            store, box.channel, row_of(Player, name=self.name, key=key, registered=_SINCE, text="text", sig="sig")
        )
        token = await tokens.make(command_fields(box))
        await mailboxes.keep_reply(store, kept_token(token, box, _SINCE, None))
        self.to = f"play+{token.text}@{_HOST}"

    def mail(self, number: int) -> bytes:
        """A mail with an order."""
        text = (
            f"From: {self.address}\nTo: {self.to}\nSubject: {number}\nMessage-ID: <{number}@players.example>\n\ngames\n"
        )
        return text.replace("\n", "\r\n").encode()


async def _make_database(path: Path, players: Sequence[_MailedPlayer]) -> None:
    store = SqliteStore(path)
    await store.add_identity(KEY.to_openssh().decode(), "http://127.0.0.1")
    tokens = MailTokens(store)
    for player in players:
        await player.add(store, tokens)
    # The letters that invited them were sent long ago.
    for leased in await lease_due(store, (MAIL_KIND,), "2027-01-01T00:00:00Z", "2027-01-01T00:01:00Z"):
        await store.delete_notice(leased, sent=True)
    store.close()


@contextmanager
def _mail_process(data: Path, smtp: int) -> Iterator[tuple[int, int]]:
    """A mail process: its id, and the port at which it takes mail."""
    settings = {
        "MAIL": f"play@{_HOST}",
        "MAIL_LMTP": "127.0.0.1:0",
        "MAIL_SMTP": f"smtp://127.0.0.1:{smtp}",
        "MAIL_PER_HOUR": "100000",
    }
    environment = {**os.environ, **{f"HKOJI_SERVER_{name}": value for name, value in settings.items()}}
    with subprocess.Popen(
        [str(HKOJI), "admin", "mail", "run", "--data", str(data)], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stderr is not None
            ready = process.stderr.readline()
            yield process.pid, int(ready.partition(" at ")[2].partition(",")[0].rpartition(":")[2])
        finally:
            process.terminate()


def _send(port: int, mails: Sequence[tuple[_MailedPlayer, int]]) -> None:
    with smtplib.LMTP("127.0.0.1", port) as door:
        for player, number in mails:
            door.sendmail(player.address, [player.to], player.mail(number))


def run(mails: int = 300, players: int = 100, single: int = 10) -> float:
    """Prints how soon mails are answered, and returns in how many seconds `mails` of them are, of so many `players`."""
    assert mails <= players * _MOST_OF_ONE, "further mails of a player would not be answered"
    print("\nMails that are answered, from LMTP to SMTP")
    people = [_MailedPlayer(number) for number in range(players + single)]
    came: list[float] = []

    def take(_: str, __: list[str], ___: bytes) -> str:
        came.append(time.monotonic())
        return "250 2.0.0 taken"

    def wait_for(count: int) -> None:
        end = time.monotonic() + _PATIENCE
        while len(came) < count:
            assert time.monotonic() < end, f"{len(came)} of {count} mails were answered"
            time.sleep(0.005)

    sink = MailServer(take)
    try:
        with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as folder:
            data = Path(folder)
            asyncio.run(_make_database(data / "hkoji.sqlite3", people))
            with _mail_process(data, sink.port) as (pid, port):
                waits: list[float] = []
                for number in range(single):
                    time.sleep(_IDLE)
                    began = time.monotonic()
                    _send(port, [(people[players + number], number)])
                    wait_for(number + 1)
                    waits.append(came[-1] - began)
                print(f"  one mail:   {median(waits):.2f} s (at most {max(waits):.2f} of {single})", flush=True)
                began, used = time.monotonic(), processor_seconds(pid)
                work = [(people[number % players], single + number) for number in range(mails)]
                with ThreadPoolExecutor(_SENDERS) as pool:
                    list(pool.map(lambda start: _send(port, work[start::_SENDERS]), range(_SENDERS)))
                taken = time.monotonic() - began
                wait_for(single + mails)
                answered = came[-1] - began
                used = processor_seconds(pid) - used
                print(
                    f"  {mails} mails: taken in {taken:.1f} s, answered in {answered:.1f} s; the process used"
                    f" {used:.1f} s of a core",
                    flush=True,
                )
                if mails == 300:
                    record("one mail, until it is answered, s", Figure(median(waits)))
                    record("300 mails at once, until all are answered, s", Figure(answered))
    finally:
        sink.close()
    return answered


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mails", type=int, default=300, help="how many come at once")
    parser.add_argument("--players", type=int, default=100, help="of how many players they are")
    parser.add_argument("--single", type=int, default=10, help="how many come one at a time")
    given = parser.parse_args()
    run(given.mails, given.players, given.single)


if __name__ == "__main__":
    main()
