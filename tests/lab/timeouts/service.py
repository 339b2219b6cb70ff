"""A service with two workers that is killed again and again, and started again on the same port.

Workers are forked as the service is, because starting Python takes longer than a worker lives here, and follow one
another without a pause. Keepers look every 0.3 s, and some decisions wait before they are written, as they do on a
slow disk.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji_server.process import workers
from hkoji_server.service.games import keeper, loaded_games
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.statements import GameStatements

from tests.lab.timeouts.planted import PLANTED
from tests.support.forked_service import ForkedService

SLACK: Final = 1
OUTAGE_AFTER: Final = 5
BETWEEN: Final = 0.3
"""The seconds between two kills."""
_SETTINGS: Final[dict[str, Any]] = {  # Any: settings by name
    "shortest_clock": 1,
    "slack": SLACK,
    "outage_after": OUTAGE_AFTER,
    "workers": 2,
    "keep_alive": 3600,
    "log_level": "error",
}
_PACE: Final = 0.3
_WHOLE: Final = 0.12
"""How often the whole service is killed, and not one worker."""
_AWAY: Final = 0.15
"""How often it then stays away until that is an outage."""
_KILLING: Final = 7.0
_CALM: Final = 3.0


class Wait(NamedTuple):
    """How often a decision waits before it is written, and for how many seconds: at least and at most."""

    often: float
    least: float
    most: float


class Waits(NamedTuple):
    """The waits of timeouts, gifts and entries of players."""

    timeouts: Wait = Wait(0.6, 0, 1.2)
    gifts: Wait = Wait(0.6, 0, 3)
    entries: Wait = Wait(0.1, 0, 3)


NARROW: Final = Waits(timeouts=Wait(1, 1, 1.5), gifts=Wait(1, 2, 2.8), entries=Wait(0, 0, 0))
"""With these a gift that came in time is often written between the decision on a timeout and its writing."""


class KilledService(ForkedService):
    """The service on `data` or a PostgreSQL database. `counts` are the kills, by what was killed."""

    def __init__(
        self,
        data: Path,
        database: str | None = None,
        fault: str | None = None,
        seed: int = 1,
        waits: Waits = Waits(),  # noqa: B008 # it is a value
    ) -> None:
        prepare = partial(_prepare, fault, waits)
        super().__init__(data, database, data.parent / "service.log", prepare, _SETTINGS, _lasting_port())
        self.counts: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._over = threading.Event()
        self._killer: threading.Thread | None = None
        self.failure: BaseException | None = None
        """Why it is no longer killed and started."""
        self.start()
        self.wait_until_ready()

    def ports(self) -> tuple[int, ...]:
        """The port at which it is, or will be again."""
        assert self.failure is None, self.failure
        return (self.port,)

    def begin_to_kill(self, most: int | None) -> None:
        """Kills a worker or the whole service every 0.3 s, in a thread, with calm times between, `most` times."""
        self._killer = threading.Thread(target=self._kill_on, args=(most,), daemon=True)
        self._killer.start()

    def leave_alone(self) -> None:
        """Ends the killing, and waits until the service serves again."""
        self._over.set()
        if self._killer is not None:
            self._killer.join()
            self._killer = None

    def stop(self) -> int:
        """Ends it. Returns the exit code."""
        self.leave_alone()
        return super().stop()

    def _kill_on(self, most: int | None) -> None:
        try:
            self._kill_until_over(most)
        except BaseException as error:  # for those who wait for the service
            self.failure = error
            raise

    def _kill_until_over(self, most: int | None) -> None:
        began = time.monotonic()
        while not self._over.wait(BETWEEN) and (most is None or self.counts.total() < most):
            if (time.monotonic() - began) % (_KILLING + _CALM) > _KILLING:
                continue
            if self._rng.random() >= _WHOLE:
                pids = self.workers
                if pids:
                    with suppress(ProcessLookupError):  # it has ended just now
                        os.kill(self._rng.choice(pids), signal.SIGKILL)
                        self.counts["workers killed"] += 1
                continue
            self.kill()
            self.counts["services killed"] += 1
            if self._rng.random() < _AWAY:
                self.counts["services away for an outage"] += 1
                self._over.wait(OUTAGE_AFTER + 2)
            self.start()
            self.wait_until_ready()


def _lasting_port() -> int:
    """A free port from which no client connects, so that it is still free when the service has been away."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, max(lowest, 20_000))
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


def _prepare(fault: str | None, waits: Waits) -> None:
    if fault:
        PLANTED[fault].plant()
    patch.object(workers, "_context", lambda _: _fork()).start()
    patch.object(workers, "_SHORT_LIFE", 0.0).start()
    patch.object(keeper, "KEEPER_PACE", _PACE).start()
    _let_wait(waits)


def _fork() -> multiprocessing.context.ForkContext:
    return multiprocessing.context.ForkContext()


def _let_wait(waits: Waits) -> None:
    """Lets decisions wait between the look at the clock and the write."""
    rng = random.Random(os.getpid())
    os.register_at_fork(after_in_child=lambda: rng.seed(os.getpid()))

    def waiting(real: Any, wait: Wait) -> Any:  # Any: a method and its arguments
        async def late(*given: Any, **named: Any) -> Any:
            if rng.random() < wait.often:
                await asyncio.sleep(rng.uniform(wait.least, wait.most))
            return await real(*given, **named)

        return late

    patch.object(keeper, "write_own", waiting(loaded_games.write_own, waits.timeouts)).start()
    patch.object(GameStatements, "_give", waiting(GameStatements._give, waits.gifts)).start()
    patch.object(Games, "_append", waiting(Games._append, waits.entries)).start()
