"""Work of a service and clients with time that they do by themselves, done by hand.

A service notes the time at intervals, and ends games whose time is over; a client reads the clock of its machine.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hkoji_server import app
from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, now

from hkoji.client.service import utc_now


@dataclass
class TimeByHand:
    """The parts of one service that act by themselves; there are none before it has started."""

    started_time: ServiceTime | None = None
    started_keeper: Keeper | None = None

    @property
    def time(self) -> ServiceTime:
        """The time by which the service decides."""
        assert self.started_time is not None
        return self.started_time

    @property
    def keeper(self) -> Keeper:
        """The keeper that ends games whose time is over."""
        assert self.started_keeper is not None
        return self.started_keeper


@contextmanager
def time_by_hand() -> Iterator[TimeByHand]:
    """A service that starts during the block never notes the time, and ends no game, by itself."""
    found = TimeByHand()

    def beat(time: ServiceTime, *_: Any) -> Coroutine[Any, Any, object]:  # Any: as the service calls it
        found.started_time = time
        return asyncio.Event().wait()

    def keep(keeper: Keeper) -> Coroutine[Any, Any, object]:
        found.started_keeper = keeper
        return asyncio.Event().wait()

    with patch("hkoji_server.app.beat_at_intervals", beat), patch("hkoji_server.app.keep_at_intervals", keep):
        yield found


@contextmanager
def client_time(now: Callable[[], str]) -> Iterator[None]:
    """Clients in this process read the time from `now` during the block."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("hkoji.") and getattr(module, "utc_now", None) is utc_now:
                stack.enter_context(patch.object(module, "utc_now", now))
        yield


@dataclass(frozen=True)
class ServedClock:
    """The clock of a service in another process, as many seconds ahead as `file` says; it looks each `pace` s."""

    file: Path
    pace: float = 0.2

    def __call__(self) -> datetime:
        return now() + timedelta(seconds=float(self.file.read_text()) if self.file.exists() else 0)

    def prepare(self) -> None:
        """Gives this clock to the service that this process is going to start."""
        patch.object(app, "ClockAndEntropy", lambda: ClockAndEntropy(self)).start()
        patch("hkoji_server.service.games.keeper.KEEPER_PACE", self.pace).start()

    def pass_by(self, seconds: float) -> None:
        """Lets time pass. A service whose `outage_after` is less takes that for an outage."""
        later = self.file.with_suffix(".new")
        later.write_text(str((self() - now()).total_seconds() + seconds))
        later.replace(self.file)
