"""A mail ends each process that processes it, while mails of others wait.

It is set aside after three tries, and its sender is told. All other mails are answered, and none of them is set aside.
Mails come by LMTP and by the pipe, to one process or to two, which are started again whenever they end.
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.lab.mail.alone import Copies, LoneMail
from tests.lab.mail.one_mail import Before, StoryWorld, tell
from tests.lab.mail.points import FATAL_KEY, end_at_fatal_key
from tests.support.cluster import Cluster
from tests.support.mail.in_process import QueuedMail
from tests.support.mail.post_office import letters
from tests.support.mail.reading import offered
from tests.support.mail.servers import name_server
from tests.support.mail.signing import SigningProvider

_OTHERS: Final = 5
_FATAL: Final = "mallory"
_TRIES: Final = 3
_PATIENCE: Final = 90.0
_PAUSE: Final = 0.05


class FatalResult(NamedTuple):
    """How it went."""

    counts: Counter[str]
    wrong: list[str]


def run_fatal(count: int, seed: int = 1, server: Cluster | None = None) -> FatalResult:
    """Tries it so often. With a `server` the data is in PostgreSQL."""
    found = FatalResult(Counter(), [])
    with tempfile.TemporaryDirectory(prefix="hkoji-fatal-") as place, pytest.MonkeyPatch.context() as patched:
        before = tell(_write, Path(place, "story"))
        copies = Copies(before.database, server)
        with name_server(before.records, patched):
            for number in range(seed, seed + count):
                folder = Path(place, str(number))
                folder.mkdir()
                found.wrong.extend(_try(copies, before, folder, random.Random(number), found.counts))
    return found


def _write(world: StoryWorld) -> None:
    """All owe a move, and answer."""
    players = world.all_by_mail([_FATAL, *(f"player{number}" for number in range(_OTHERS))])
    turns = world.at_turns(world.client(), players)
    world.catching = True
    provider = world.provider
    for player, (_, letter) in zip(players, turns, strict=True):
        world.provider = SigningProvider(provider.dns, selector=FATAL_KEY) if player.name == _FATAL else provider
        player.answer(letter, offered(letter)[0])


class _Kept:
    """Keeps a process running behind a door: whenever it ends, it is started again."""

    def __init__(self, mail: LoneMail, door: int) -> None:
        self._mail, self._door = mail, door
        self.ends = 0
        self._process = mail.start(end_at_fatal_key, door)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def _keep(self) -> None:
        while not self._closing.wait(_PAUSE):
            if self._process.poll() is not None:
                self.ends += 1
                self._process = self._mail.start(end_at_fatal_key, self._door)

    def close(self) -> None:
        """Lets it be."""
        self._closing.set()
        self._thread.join()


def _try(copies: Copies, before: Before, folder: Path, rng: random.Random, counts: Counter[str]) -> list[str]:
    doors = rng.choice((1, 2))
    mail = LoneMail(copies.copy(folder), folder, before.mailboxes, doors)
    try:
        old = {row["number"] for row in mail.data.rows()["incoming"]}
        kept = [_Kept(mail, door) for door in range(doors)]
        try:
            ways: Counter[str] = Counter()
            for sent in rng.sample(before.mails, len(before.mails)):
                ways[way := rng.choice(("lmtp", "pipe"))] += 1
                if way == "lmtp":
                    mail.office.queue(QueuedMail(*sent))
                else:
                    while mail.pipe(*sent) != 0:
                        counts["mails that the pipe did not take at once"] += 1
            wrong = _wait(mail, old)
        finally:
            for each in kept:
                each.close()
        ends = sum(each.ends for each in kept)
        counts.update({"tries": 1, "processes": doors, "processes that ended": ends, **ways})
        if not 0 < ends < _TRIES + doors:
            wrong.append(f"{ends} processes have ended")
        return [f"{each} ({doors} processes, {dict(ways)})" for each in wrong]
    finally:
        mail.close()
        copies.drop(mail.data)


def _wait(mail: LoneMail, old: set[int]) -> list[str]:
    """Waits until all is as it should be. Returns what is not in the end."""
    end = time.monotonic() + _PATIENCE
    while (wrong := _faults(mail, old)) and time.monotonic() < end:
        time.sleep(_PAUSE)
    return wrong


def _faults(mail: LoneMail, old: set[int]) -> list[str]:
    rows = {row["name"]: row for row in mail.data.rows()["incoming"] if row["number"] not in old}
    wrong = []
    for address, mailbox in mail.mailboxes.items():
        name = address.partition("@")[0]
        if name != _FATAL and not name.startswith("player"):
            continue
        wanted = ("failed", "set aside") if name == _FATAL else ("done", "on record")
        row = rows.get(name)
        found = row and (row["state"], row["result"] and json.loads(row["result"])["answer"])
        if found != wanted:
            wrong.append(f"the mail of {name} is {found}")
        answers = {letter.id for letter in letters(mailbox) if letter.id.startswith("<answer.")}
        if len(answers) != 1:
            wrong.append(f"{name} has {len(answers)} answers")
    return wrong
