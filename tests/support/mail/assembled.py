"""The parts of a mail process in this process, as the program puts them together, beside a service.

The mail server, the players' provider and the DNS are in memory. Nothing happens before the test says so, and the clock
is moved by hand. `list_world` puts the parts together by itself, and leaves out what stands before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest.mock import patch

from hkoji_server.mail_app import MailWork, assemble
from hkoji_server.process.metrics import MailMetrics
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import identify
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MAIL_KIND

from hkoji.mail.dns_answers import DnsAnswers
from hkoji.mail.mail import read_mail
from tests.support.service import UNLIMITED
from tests.support.service_in_process import Clock, Inside, drawn, inside, read_settings

ADDRESS: Final = "play@hkoji.example"
ORIGIN: Final = "http://inside"
_TURN: Final = 61
"""A letter about a turn waits for a minute."""
_LOOKS: Final = 1000
_TASKS: Final = ("deliver_at_intervals", "keep_at_intervals", "tidy_at_intervals", "send_seeds_at_intervals")

T = TypeVar("T")


@dataclass
class AssembledMailbox:
    """A mailbox in memory."""

    address: str
    world: AssembledMail
    letters: list[bytes] = field(default_factory=list)

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        """Hands a message over to the service."""
        for recipient in to:
            self.world.deliver(self.address, recipient, self.world.signed(self.address, raw))

    def received(self) -> list[bytes]:
        return list(self.letters)


@dataclass
class AssembledMail:
    """A service, a mail process, and what is around them."""

    service: Inside
    store: Store
    work: MailWork
    players: HeldPlayers
    metrics: MailMetrics
    boxes: dict[str, AssembledMailbox] = field(default_factory=dict)
    records: dict[str, Sequence[str]] = field(default_factory=dict)
    """TXT records by name."""

    address: str = ADDRESS

    @property
    def data(self) -> Path:
        return self.service.data

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs something in the service's loop."""
        return self.service.runner.run(work)

    def mailbox(self, address: str) -> AssembledMailbox:
        """The mailbox of an address."""
        return self.boxes.setdefault(address, AssembledMailbox(address, self))

    def signed(self, sender: str, raw: bytes) -> bytes:
        """A mail as the provider of its sender sends it on."""
        return raw

    def deliver(self, sender: str, to: str, raw: bytes) -> None:
        """Gives a mail to the service, and lets it process it."""

        async def work() -> None:
            received = await self.work.receiving.receive(to, read_mail(raw), "lmtp", null_sender=not sender)
            assert received.taken, received
            await self.work.worker.look()

        self.run(work())

    def add(self, name: str, address: str) -> None:
        """Lets the operator invite the owner of a mailbox."""
        self.run(self.players.invite(name, address, "en", None))

    def settle(self) -> None:
        """Lets the service send its seeds and all letters, also those about turns."""
        self.service.clock.pass_by(_TURN)

        async def work() -> None:
            await self.work.seeds.look()
            for _ in range(_LOOKS):
                first = await self.store.next_notice((MAIL_KIND,))
                if first is None or first > await self.work.time.now():
                    return
                await self.work.delivery.look()
                await self.work.delivery.settle()
            raise AssertionError("letters are sent again and again")

        self.run(work())

    def now(self) -> float:
        """The time of the service."""
        return self.service.clock.now.timestamp()

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        """Takes a letter, as the mail server does."""
        self.mailbox(recipient).letters.append(b"Return-Path: <" + sender.encode() + b">\r\n" + letter)

    async def look_up(self, names: Sequence[str]) -> DnsAnswers:
        """Answers as the DNS does."""
        return {name: tuple(map(str.encode, self.records[name])) for name in names if name in self.records}


@contextmanager
def assembled(
    data: Path, kind: type[AssembledMail] = AssembledMail, seed: str = "one", clock: Clock | None = None
) -> Iterator[AssembledMail]:
    """A service and a mail process for the duration of a block. The same seed draws the same bytes."""
    patches = [patch(f"hkoji_server.app.{task}", _never) for task in _TASKS]
    for each in patches:
        each.start()
    try:
        with inside(data, seed=seed, clock=clock, mail=ADDRESS, outage_after=10**7) as service:
            service.ask("GET", "/v1/service")
            opened = service.store()
            store = service.runner.run(opened.__aenter__())
            try:
                yield service.runner.run(_make(service, store, kind, seed))
            finally:
                service.runner.run(opened.__aexit__(None, None, None))
    finally:
        for each in patches:
            each.stop()


async def _make(service: Inside, store: Store, kind: type[AssembledMail], seed: str) -> AssembledMail:
    sources = ClockAndEntropy(service.clock, drawn(f"mail of {seed}"), service.clock.elapsed)
    key, origin = await identify(store, sources, None, ORIGIN)
    settings = read_settings(
        data=service.data, mail=ADDRESS, outage_after=10**7, mail_per_day=10**6, mail_per_hour=10**6, **UNLIMITED
    )
    metrics = MailMetrics()
    players = HeldPlayers(store, sources, key, settings, origin=origin)
    world = kind(service, store, None, players, metrics)  # type: ignore[arg-type] # made below: it needs the world
    world.work = assemble(
        store,
        settings,
        sources,
        key=key,
        origin=origin,
        limits=RateLimits(),
        submission=world,
        look_up=world.look_up,
        metrics=metrics,
    )
    await world.work.time.beat()
    return world


def _never(*_: object) -> Coroutine[Any, Any, object]:
    return asyncio.Event().wait()
