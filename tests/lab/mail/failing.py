"""A mail that the service cannot keep is answered by 451, without a word on why, and stays in the queue."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final

from tests.lab.mail.kept import lost_or_doubled
from tests.lab.mail.load import register
from tests.lab.mail.mail_world import MailWorld
from tests.lab.mail.raising import SAID
from tests.lab.mail.real_post_office import RealPostOffice
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import command_address

_PATIENCE: Final = 120.0
RAISING: Final = (sys.executable, "-m", "tests.lab.mail.raising")


def run_failures(world: MailWorld, office: RealPostOffice) -> list[str]:
    """Lets the store fail, then the database be locked, then be fine. Returns what was wrong."""
    wrong: list[str] = []
    world.start_mail()
    (bob,) = register(world, office, ["bob"])
    to, known = command_address(bob.welcome), len(bob.player.mailbox.received())
    sent = []
    # A signed mail with the Date and the text of another one to the same address would be taken for the same mail.
    for fails, order in ((_a_store_that_raises, "games"), (_a_database_that_is_locked, "help")):
        with fails(world):
            logged = len(office.service.log)
            sent.append(Letter(bob.player.write(to, fails.__name__, order)).id)
            if not _until(lambda since=logged: "status=deferred" in office.service.log[since:]):  # type: ignore[misc] # a default
                wrong.append(f"{fails.__name__}: the mail was not put off")
            said = office.service.log[logged:]
            if "said: 451" not in said:
                wrong.append(f"{fails.__name__}: the reply is not 451")
            if SAID in said or "ValueError" in said or "sqlite" in said.lower():
                wrong.append(f"{fails.__name__}: the reply tells why")
            if not office.service.queue():
                wrong.append(f"{fails.__name__}: the mail is not in the queue")
            if len(bob.player.mailbox.received()) != known:
                wrong.append(f"{fails.__name__}: the sender has got a message")
    office.service.flush()
    office.wait_until_empty(_PATIENCE)
    if not _until(lambda: len(bob.player.mailbox.received()) == known + len(sent)):
        wrong.append(f"{len(bob.player.mailbox.received()) - known} answers have come to {len(sent)} mails")
    return wrong + lost_or_doubled(world.data, sent)


@contextmanager
def _a_store_that_raises(world: MailWorld) -> Iterator[None]:
    world.kill_mail()
    world.start_mail(RAISING)
    yield
    world.kill_mail()
    world.start_mail()


@contextmanager
def _a_database_that_is_locked(world: MailWorld) -> Iterator[None]:
    with closing(sqlite3.connect(world.data / "hkoji.sqlite3", isolation_level=None, timeout=60)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def _until(seen: Callable[[], object]) -> bool:
    end = time.monotonic() + _PATIENCE
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
