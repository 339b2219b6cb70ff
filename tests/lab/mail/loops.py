"""Programs that answer mail by themselves, and bounces: each loop ends within two letters of the service."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

from tests.lab.mail import dovecot
from tests.lab.mail.mail_world import ADDRESS, UNHURRIED, MailWorld
from tests.lab.mail.real_post_office import SMTP, RealPostOffice
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import letters

MOST: Final = 2
MOST_UNMARKED: Final = 4
"""Of answers by a program that does not say that it is one, three a token and day are answered."""
Loop = Callable[[MailWorld, RealPostOffice], AbstractContextManager[None]]
"""Begins a loop, and takes part in it until the end of the block."""
SECOND: Final = "second.example"
SECOND_DOOR: Final = ("127.0.0.1", 2525)
_QUIET: Final = 4.0
"""After so many seconds without a message it has ended."""
_PATIENCE: Final = 60.0


class Ended(NamedTuple):
    """A loop that has ended: how many letters the service has sent in it, the first one included, and may at most."""

    name: str
    letters: int
    most: int


def run_loops(world: MailWorld, office: RealPostOffice) -> list[Ended]:
    """Begins each with an invitation, and waits for its end."""
    world.start_mail()
    return [
        Ended(name, _counted(office, begin, world), MOST_UNMARKED if begin is _unmarked else MOST)
        for name, begin in LOOPS.items()
    ]


def _counted(office: RealPostOffice, begin: Loop, world: MailWorld) -> int:
    before = _letters_of(office)
    with begin(world, office):
        return _wait(office, before)


def _wait(office: RealPostOffice, before: int) -> int:
    end, last, since = time.monotonic() + _PATIENCE, before, time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < _QUIET:
        if (now := _letters_of(office)) != last:
            last, since = now, time.monotonic()
        time.sleep(0.1)
    return last - before


def _letters_of(office: RealPostOffice) -> int:
    """How many letters of services the Postfix beside them has taken so far; one that comes back is no other letter."""
    return len(set(re.findall(r"message-id=<(\w+\.\d+\.[a-z2-7]{26}@\S+)>", office.service.log)))


def _invite(world: MailWorld, name: str, address: str) -> None:
    world.hkoji("admin", "mail", "add", name, address, "--data", world.data)


@contextmanager
def _vacation(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    box = office.open("vacation")
    dovecot.give_rules("vacation", 'require ["vacation"];\nvacation :days 1 "I am away.";\n')
    _invite(world, "vacation", box.address)
    yield


@contextmanager
def _forwarding(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    box = office.open("forward")
    dovecot.give_rules("forward", f'require ["copy"];\nredirect :copy "{ADDRESS}";\n')
    _invite(world, "forward", box.address)
    yield


@contextmanager
def _forwarding_to_a_vacation(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    box, other = office.open("chain"), office.open("chained")
    dovecot.give_rules("chain", f'redirect "{other.address}";\n')
    dovecot.give_rules("chained", 'require ["vacation"];\nvacation :days 1 "I am away.";\n')
    _invite(world, "chain", box.address)
    yield


@contextmanager
def _bounce(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    _invite(world, "nobody", "nobody@players.example")
    yield


@contextmanager
def _marked(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    with _answering(world, office, "marked", ["Precedence: bulk", "X-Autoreply: yes"]):
        yield


@contextmanager
def _unmarked(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    with _answering(world, office, "unmarked", []):
        yield


@contextmanager
def _answering(world: MailWorld, office: RealPostOffice, name: str, marks: list[str]) -> Iterator[None]:
    """A program that answers each letter at the address where answers go."""
    player, over = MailboxPlayer(office.open(name), marks=marks), threading.Event()

    def answer() -> None:
        while not over.wait(0.1):
            for letter in letters(player.mailbox)[player.known :]:
                player.known += 1
                player.answer(letter, "I am away until Monday.")

    thread = threading.Thread(target=answer, daemon=True)
    _invite(world, name, player.mailbox.address)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _two_services(world: MailWorld, office: RealPostOffice) -> Iterator[None]:
    office.service.serve(SECOND, SECOND_DOOR)
    folder = world.folder / "second"
    folder.mkdir()
    settings = {**UNHURRIED, "mail": f"play@{SECOND}"}
    second = MailWorld(folder, SECOND_DOOR, SMTP, settings)
    try:
        second.start_mail()
        _invite(second, "first", ADDRESS)
        _invite(world, "second", f"play@{SECOND}")
        yield
    finally:
        second.stop()


LOOPS: Final[dict[str, Loop]] = {
    "a vacation": _vacation,
    "a mailbox that forwards to the service": _forwarding,
    "a mailbox that forwards to one with a vacation": _forwarding_to_a_vacation,
    "a mailbox that does not exist": _bounce,
    "a program that answers everything, and says so": _marked,
    "a program that answers everything": _unmarked,
    "two services that invite each other": _two_services,
}
