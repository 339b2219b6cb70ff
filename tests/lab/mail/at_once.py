"""How long mails with a move take from the LMTP door until their answers are at the mail server: many at once, and one.

The mail process is that of the product, without any change. Mails come over as many connections as Postfix opens.
"""

from __future__ import annotations

import smtplib
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import pytest

from scripts.bench.memory import processor_seconds
from tests.lab.mail.alone import Copies, LoneMail
from tests.lab.mail.one_mail import SentMail, StoryWorld, tell
from tests.support.cluster import Cluster
from tests.support.mail.reading import offered
from tests.support.mail.servers import name_server

AIM: Final = 5.0
"""Seconds in which 300 mails that come at once should be answered."""
AIM_ALONE: Final = 0.5
_ALONE: Final = 20
_OPEN: Final = 20
"""How many games of one player may be open at a time."""
_CONNECTIONS: Final = 20
_SECONDS: Final = 60
_PATIENCE: Final = 300.0
_PAUSE: Final = 0.002


class AtOnceResult(NamedTuple):
    """In how many seconds all were kept, and answered, and one alone; processor seconds of the mail process a mail."""

    mails: int
    kept: float
    answered: float
    processor: float
    alone: float
    processor_alone: float


def run_at_once(count: int, server: Cluster | None = None, alone: int = _ALONE) -> AtOnceResult:
    """Sends so many mails at once, each of another player, and before that some alone.

    With a `server` the data is in PostgreSQL.
    """
    with tempfile.TemporaryDirectory(prefix="hkoji-at-once-") as place, pytest.MonkeyPatch.context() as patched:
        before = tell(partial(_write, count + alone), Path(place, "story"))
        copies = Copies(before.database, server)
        mail = LoneMail(copies.copy(Path(place)), Path(place), before.mailboxes)
        try:
            with name_server(before.records, patched):
                process = mail.start(None)
                began = processor_seconds(process.pid)
                seconds = median(_send_one(mail, each) for each in before.mails[:alone])
                between = processor_seconds(process.pid)
                kept, answered = _send_all(mail, before.mails[alone:])
                end = processor_seconds(process.pid)
        finally:
            mail.close()
            copies.drop(mail.data)
    return AtOnceResult(count, kept, answered, (end - between) / count, seconds, (between - began) / alone)


def _write(count: int, world: StoryWorld) -> None:
    """So many mail players owe a move, and answer."""
    players = world.all_by_mail(f"player{number}" for number in range(count))
    alice = world.client()
    turns = [
        turn
        for start in range(0, count, _OPEN)
        for turn in world.at_turns(alice.login(), players[start : start + _OPEN])
    ]
    world.catching = True
    for player, (_, letter) in zip(players, turns, strict=True):
        player.answer(letter, offered(letter)[0])


def _send_one(mail: LoneMail, sent: SentMail) -> float:
    began, letters = time.monotonic(), _letters(mail)
    _send(mail, [sent])
    _wait(mail, letters + 1)
    return time.monotonic() - began


def _send_all(mail: LoneMail, sent: Sequence[SentMail]) -> tuple[float, float]:
    began, letters = time.monotonic(), _letters(mail)
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        for each in [pool.submit(_send, mail, sent[start::_CONNECTIONS]) for start in range(_CONNECTIONS)]:
            each.result()
    kept = time.monotonic() - began
    _wait(mail, letters + len(sent))
    return kept, time.monotonic() - began


def _send(mail: LoneMail, sent: Sequence[SentMail]) -> None:
    with smtplib.LMTP(str(mail.doors[0]), 0, "mx", timeout=_SECONDS) as door:
        for each in sent:
            door.sendmail(each.sender, [each.recipient], each.raw)


def _letters(mail: LoneMail) -> int:
    return sum(len(mailbox.messages) for mailbox in mail.mailboxes.values())


def _wait(mail: LoneMail, letters: int) -> None:
    end = time.monotonic() + _PATIENCE
    while _letters(mail) < letters:
        assert time.monotonic() < end, f"{_letters(mail)} of {letters} letters have come: {mail.log[-3000:]}"
        time.sleep(_PAUSE)
