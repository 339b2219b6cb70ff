"""A service in this process whose notices go to a courier of the test, when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hkoji_server.service.games.notice_rules import EVENTS
from hkoji_server.service.notices.couriers import DirectCourier, Notice
from hkoji_server.service.notices.delivery import NoticeDelivery
from hkoji_server.store.contract import Store
from hkoji_server.store.tables import Channel

from tests.support.rows import a_kept_channel
from tests.support.service_in_process import Inside, inside
from tests.support.table import AT
from tests.support.timed_games import NEVER_OUT

Deed = Callable[[], Awaitable[None]]
"""The work of a courier before it says that it has sent something."""


@dataclass
class NotingCourier(DirectCourier):
    """Notes what it is to send, in order. `deeds` are done first, one a call; it may raise or wait."""

    sent: list[tuple[str, Notice]] = field(default_factory=list)
    """The channel and the notice of each call."""
    deeds: list[Deed] = field(default_factory=list)
    lasting: bool = False
    places: int = 100

    def host_of(self, target: str) -> str:
        """The target of a channel stands for its host."""
        return target

    async def send(self, channel: Channel, notice: Notice) -> None:
        """Notes the notice."""
        self.sent.append((channel.id, notice))
        if self.deeds:
            await self.deeds.pop(0)()

    @property
    def events(self) -> list[str]:
        """The events of all notices, in order."""
        return [notice.event.value for _, notice in self.sent]

    def fail(self, *errors: Exception) -> None:
        """Lets the next calls fail."""

        async def failing(error: Exception) -> None:
            raise error

        self.deeds += [lambda error=error: failing(error) for error in errors]  # type: ignore[misc] # mypy cannot infer it


@dataclass
class Told:
    """A service, and the delivery of its notices by hand."""

    service: Inside
    delivery: NoticeDelivery
    courier: NotingCourier

    @property
    def store(self) -> Store:
        return self.delivery._store

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # Any: what the work returns
        """Runs something in the service's loop."""
        return self.service.runner.run(work)

    def add(self, player: str, name: str = "", **changes: Any) -> Channel:  # Any: fields of the channel
        """Gives a player a channel that works and wants to tell of everything."""
        fields = {"kind": "noting", "target": name or "x", "events": EVENTS, "settings": NO_SETTINGS, "created": AT}
        channel = a_kept_channel(
            **{"id": name or f"of-{player}", "player": player, "confirmed": AT, **fields, **changes}
        )
        assert self.run(self.store.add_channel(channel))
        return channel

    def channel(self, name: str) -> Channel:
        """A channel as it is now."""
        found = self.run(self.store.channel(name))
        assert isinstance(found, Channel)
        return found

    def deliver(self, seconds: float = 0) -> list[str]:
        """Lets time pass, and sends what is due; returns the events that were given to the courier."""
        self.service.clock.pass_by(seconds)
        before = len(self.courier.events)

        async def work() -> None:
            for _ in range(4):  # one look does not take a second one to a busy channel
                await self.delivery.look()
                await self.delivery.settle()

        self.run(work())
        return self.courier.events[before:]

    def waiting(self) -> str | None:
        """When the first notice is to be sent."""
        found: str | None = self.run(self.store.next_notice(["noting"]))
        return found


NO_SETTINGS = '{"digest":[],"format":"json","quiet":null,"zone":"+00:00"}'


@contextmanager
def told(data: Path, **settings: Any) -> Iterator[Told]:  # Any: settings by name
    """A service for the duration of a block."""
    found: list[NoticeDelivery] = []

    def begin(delivery: NoticeDelivery) -> Coroutine[Any, Any, object]:
        found.append(delivery)
        return asyncio.Event().wait()

    with (
        patch("hkoji_server.app.deliver_at_intervals", begin),
        inside(data, outage_after=NEVER_OUT, **settings) as service,
    ):
        service.ask("GET", "/v1/service")
        (delivery,) = found
        courier = NotingCourier()
        delivery.couriers = {"noting": courier}
        yield Told(service, delivery, courier)
