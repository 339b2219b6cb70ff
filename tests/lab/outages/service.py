"""Processes of the service in simulated time."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server import app
from hkoji_server.service.games.keeper import keep_at_intervals
from hkoji_server.service.time.service_time import ClockAndEntropy, beat_at_intervals

from tests.lab.outages.planted import PLANTED
from tests.lab.outages.points import OrderedProcess, watch_postgres, watch_sqlite
from tests.lab.outages.simulated_time import SPEED, SimulatedTime
from tests.support.forked_service import ForkedService

OUTAGE_AFTER: Final = 180
_FOREVER: Final = 10**7
_SETTINGS: Final[dict[str, Any]] = {  # Any: settings by name
    "outage_after": OUTAGE_AFTER,
    "token_lifetime": _FOREVER,
    "challenge_lifetime": _FOREVER,
    "offer_lifetime": _FOREVER,
    "keep_alive": 3600,
    "log_level": "warning",
}


class TimedProcess(ForkedService):
    """Process `number` of the service on `data` or a PostgreSQL database, with the time in the file `shared`."""

    def __init__(self, number: int, data: Path, database: str | None, shared: Path, fault: str | None) -> None:
        self.number = number
        prepare = partial(_prepare, number, shared, fault, database is not None)
        super().__init__(data, database, data.parent / f"process{number}.log", prepare, _SETTINGS)
        self.start()


def _prepare(number: int, shared: Path, fault: str | None, on_postgres: bool) -> None:
    simulated = SimulatedTime(shared)
    process = OrderedProcess(simulated, number)
    if fault:
        PLANTED[fault].plant()
    sources = partial(ClockAndEntropy, clock=partial(simulated.clock_of, number), boot=simulated.seconds)
    patch.object(app, "ClockAndEntropy", sources).start()
    patch.object(app, "beat_at_intervals", partial(beat_at_intervals, pause=_sleep)).start()
    patch.object(app, "keep_at_intervals", partial(keep_at_intervals, pause=_sleep)).start()
    if on_postgres:
        watch_postgres(process)
    else:
        watch_sqlite(process)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / SPEED)
