"""Processes of the service in simulated time, forked from one that has all modules imported."""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import re
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server import app
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.keeper import keep_at_intervals
from hkoji_server.service.service_time import beat_at_intervals

from tests.lab.outages.planted import PLANTED
from tests.lab.outages.points import OrderedProcess, watch_postgres, watch_sqlite
from tests.lab.outages.simulated_time import SPEED, SimulatedTime
from tests.support import forked_modules
from tests.support.service import UNLIMITED, Answer

OUTAGE_AFTER: Final = 180
_FOREVER: Final = 10**7
_SETTINGS: Final[dict[str, Any]] = {  # Any: settings by name
    "outage_after": OUTAGE_AFTER,
    "token_lifetime": _FOREVER,
    "challenge_lifetime": _FOREVER,
    "offer_lifetime": _FOREVER,
    "keep_alive": 3600,
    "log_level": "warning",
    **UNLIMITED,
}
_CONTEXT: Final = multiprocessing.get_context("forkserver")

__all__ = ["forked_modules"]


class TimedProcess:
    """Process `number` of the service on `data` or a PostgreSQL database."""

    def __init__(
        self, number: int, data: Path, database: str | None, shared: Path, simulated: SimulatedTime, fault: str | None
    ) -> None:
        self.number = number
        self.port = 0
        self._simulated = simulated
        self._log = data.parent / f"process{number}.log"
        self._given = (number, data, database, shared, fault, self._log)
        self.start()
        self.wait_until_ready()

    @property
    def log(self) -> str:
        """What the process has logged."""
        return self._log.read_text() if self._log.exists() else ""

    @property
    def alive(self) -> bool:
        """Whether it has not ended; it may have stopped."""
        return self._process.is_alive()

    def start(self) -> None:
        """Starts it. Its port is known when it is ready."""
        _CONTEXT.set_forkserver_preload([__name__])
        self._said = len(self.log)
        self._process = _CONTEXT.Process(target=_serve, args=self._given)
        self._process.start()

    def wait_until_ready(self) -> None:
        """Waits until it serves."""
        end = time.monotonic() + 120
        while not (found := re.search(r"serving on http://[^:]+:(\d+),.*\n", self.log[self._said :])):
            assert self.alive, self.log[-3000:]
            assert time.monotonic() < end, self.log[-3000:]
            time.sleep(0.01)
        self.port = int(found[1])

    def kill(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        """Lets it stand still."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets it go on if it stands still."""
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        if self.alive:
            assert self._process.pid is not None
            os.kill(self._process.pid, which)

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            connection.request(method, path, raw if raw is not None else json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


def _serve(number: int, data: Path, database: str | None, shared: Path, fault: str | None, log: Path) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    simulated = SimulatedTime(shared)
    process = OrderedProcess(simulated, number)
    if fault:
        PLANTED[fault]()
    sources = partial(ClockAndEntropy, clock=partial(simulated.clock_of, number), boot=simulated.seconds)
    patch.object(app, "ClockAndEntropy", sources).start()
    patch.object(app, "beat_at_intervals", partial(beat_at_intervals, pause=_sleep)).start()
    patch.object(app, "keep_at_intervals", partial(keep_at_intervals, pause=_sleep)).start()
    if database is None:
        watch_sqlite(process)
    else:
        watch_postgres(process)
    app.serve(None if database else data, "127.0.0.1", 0, database=database, **_SETTINGS)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / SPEED)
