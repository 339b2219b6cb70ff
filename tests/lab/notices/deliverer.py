"""A process that delivers notices, with short pauses, and kills itself before or after it sends some of them.

`PLANTED` has faults to plant in it; the judgement has to find each.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import structlog
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.notice_rules import SEND
from hkoji_server.service.notices import delivery
from hkoji_server.service.notices import delivery as notice_delivery
from hkoji_server.service.notices.couriers import Courier, DirectCourier, Notice
from hkoji_server.service.notices.delivery import NoticeDelivery, deliver_at_intervals
from hkoji_server.service.notices.guarded_post import GuardedPoster
from hkoji_server.service.notices.push import PushCourier
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.choices import PUSH_KIND
from hkoji_server.store.contract import Store
from hkoji_server.store.location import parse_location
from hkoji_server.store.notices import LeasedNotice
from hkoji_server.store.open_store import open_store
from hkoji_server.store.tables import Channel

from hkoji.log.private_key import PrivateKey
from tests.support.timed_games import NEVER_OUT
from tests.support.timed_laboratory import PlantedFault


def _deleted_before_sent() -> None:
    """A notice is deleted when it is leased."""
    lease = Store.lease_notice

    async def lease_and_delete(self: Any, *given: Any) -> Any:  # Any: as in the original, here and below
        leased = await lease(self, *given)
        if leased is not None:
            await self.delete_notice(leased, sent=False)
        return leased

    patch.object(Store, "lease_notice", lease_and_delete).start()


def _stale_are_sent() -> None:
    """Nobody looks whether what a notice tells is still so."""
    patch.object(delivery, "judge", lambda *_: SEND).start()


def _no_lease() -> None:
    """A lease ends at once."""

    async def lease_for_nothing(_: Any, notice: Any, until: str) -> Any:  # as in the original
        return LeasedNotice(*notice)

    patch.object(Store, "lease_notice", lease_for_nothing).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "notices are deleted before they are sent": PlantedFault(_deleted_before_sent, "kills", "was never sent"),
    "stale notices are sent": PlantedFault(_stale_are_sent, "quick replies", "is stale"),
    "leases end at once": PlantedFault(_no_lease, "two processes", "times, and processes were killed"),
}


KIND: Final = "lab"
ID_HEADER: Final = "lab-id"
_SHORT: Final = {"NOTICE_PACE": 0.2, "LEASE": 3, "SEND_SECONDS": 1, "_FIRST_PAUSE": 1}


class Kills:
    """Kills its process by SIGKILL with a probability, each time that it is asked to."""

    def __init__(self, chance: float) -> None:
        self._chance = chance
        self._rng = random.Random(os.getpid())

    def perhaps(self) -> None:
        """Kills the process, or does nothing."""
        if self._rng.random() < self._chance:
            os.kill(os.getpid(), signal.SIGKILL)


class KilledCourier(DirectCourier):
    """Sends ids to a receiver at `port`. Before and after each it kills its process with a probability."""

    lasting = False
    places = 10

    def host_of(self, target: str) -> str:
        """All are at one host."""
        return ""

    def __init__(self, port: int, kills: Kills) -> None:
        self._port = port
        self._kills = kills

    async def send(self, channel: Channel, notice: Notice) -> None:
        """Sends a notice on a connection of its own."""
        assert channel.kind == KIND
        self._kills.perhaps()
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(f"{notice.id}\n".encode())
            if await reader.readline() != b"ok\n":
                raise ConnectionError(notice.id)
        finally:
            writer.close()
        self._kills.perhaps()


class KilledPushes(PushCourier):
    """Pushes as the service does, with the id of the notice in a header, and kills its process likewise."""

    def __init__(self, sources: ClockAndEntropy, kills: Kills) -> None:
        poster = GuardedPoster(private=True, longest=_SHORT["SEND_SECONDS"])
        super().__init__(poster, PrivateKey.from_seed(b"k" * 32), sources, RateLimits(), origin="http://lab")
        self._kills = kills

    async def send(self, channel: Channel, notice: Notice) -> None:
        """Pushes a notice."""
        self._kills.perhaps()
        await super().send(channel, notice)
        self._kills.perhaps()

    def _urgency(self, channel: Channel, notice: Notice) -> dict[str, str]:
        return {**super()._urgency(channel, notice), ID_HEADER: notice.id}


def deliver(data: Path, database: str | None, port: int, kills: float, fault: str | None) -> None:
    """Delivers until it is ended."""
    if fault:
        PLANTED[fault].plant()
    for name, value in _SHORT.items():
        patch.object(notice_delivery, name, value).start()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    asyncio.run(_deliver(data, database, port, kills))


async def _deliver(data: Path, database: str | None, port: int, kills: float) -> None:
    location = parse_location(database) if database else data / "hkoji.sqlite3"
    sources = ClockAndEntropy()
    async with open_store(location, sources.clock) as store:
        time = ServiceTime(store, sources, outage_after=NEVER_OUT)
        killed = Kills(kills)
        couriers: dict[str, Courier] = {KIND: KilledCourier(port, killed), PUSH_KIND: KilledPushes(sources, killed)}
        delivery = NoticeDelivery(store, LoadedGames(store, 500), time, sources, couriers, origin="http://lab")
        work = asyncio.create_task(deliver_at_intervals(delivery))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
        with suppress(asyncio.CancelledError):
            await work
