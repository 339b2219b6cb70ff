"""A service with two workers that is killed again and again, and started again on the same port.

It is that of `hkoji serve --workers 2`, forked from a process with all modules imported, because starting Python takes
longer than a worker lives here. So workers are forked as well, and follow one another without a pause. Keepers look
every 0.3 s, and some decisions wait before they are written, as they do on a slow disk.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji_server.process import workers
from hkoji_server.service import decision, keeper
from hkoji_server.service.game_statements import GameStatements
from hkoji_server.service.games import Games

from tests.lab.timeouts.planted import PLANTED
from tests.support import forked_modules
from tests.support.service import UNLIMITED, Answer

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
    **UNLIMITED,
}
_PACE: Final = 0.3
_WHOLE: Final = 0.12
"""How often the whole service is killed, and not one worker."""
_AWAY: Final = 0.15
"""How often it then stays away until that is an outage."""
_KILLING: Final = 12.0
_CALM: Final = 5.0
_CONTEXT: Final = multiprocessing.get_context("forkserver")


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

__all__ = ["forked_modules"]


class KilledService:
    """The service on `data` or a PostgreSQL database. `counts` are the kills, by what was killed."""

    def __init__(
        self,
        data: Path,
        database: str | None = None,
        fault: str | None = None,
        seed: int = 1,
        waits: Waits = Waits(),  # noqa: B008 # it is a value
    ) -> None:
        self.port = _free_port()
        self.counts: Counter[str] = Counter()
        self._given = (data, database, fault, self.port, waits)
        self._rng = random.Random(seed)
        self._over = threading.Event()
        self._killer: threading.Thread | None = None
        self.failure: BaseException | None = None
        """Why it is no longer killed and started."""
        self._log = data.parent / "service.log"
        self.start()

    @property
    def log(self) -> str:
        """What the service has logged."""
        return self._log.read_text() if self._log.exists() else ""

    def ports(self) -> tuple[int, ...]:
        """The port at which it is, or will be again."""
        assert self.failure is None, self.failure
        return (self.port,)

    def start(self) -> None:
        """Starts it, and waits until it serves."""
        _CONTEXT.set_forkserver_preload([__name__])
        said = len(self.log)
        seed = self._rng.getrandbits(32)
        self._process = _CONTEXT.Process(target=_serve, args=(*self._given, self._log, seed))
        self._process.start()
        end = time.monotonic() + 120
        while not re.search(r"serving on http.*\n", self.log[said:]):
            assert self._process.is_alive(), self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.01)

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

    def begin_to_kill(self) -> None:
        """Kills a worker or the whole service every 0.3 s, in a thread, with calm times between."""
        self._killer = threading.Thread(target=self._kill_on, daemon=True)
        self._killer.start()

    def leave_alone(self) -> None:
        """Ends the killing, and waits until the service serves again."""
        self._over.set()
        if self._killer is not None:
            self._killer.join()
            self._killer = None

    def stop(self) -> None:
        """Ends it."""
        self.leave_alone()
        self._process.terminate()
        self._process.join(30)
        if self._process.is_alive():
            self._kill_all()

    def _kill_on(self) -> None:
        try:
            self._kill_until_over()
        except BaseException as error:  # for those who wait for the service
            self.failure = error
            raise

    def _kill_until_over(self) -> None:
        began = time.monotonic()
        while not self._over.wait(BETWEEN):
            if (time.monotonic() - began) % (_KILLING + _CALM) > _KILLING:
                continue
            if self._rng.random() >= _WHOLE:
                pids = _children(self._process.pid)
                if pids:
                    os.kill(self._rng.choice(pids), signal.SIGKILL)
                    self.counts["workers killed"] += 1
                continue
            self._kill_all()
            self.counts["services killed"] += 1
            if self._rng.random() < _AWAY:
                self.counts["services away for an outage"] += 1
                self._over.wait(OUTAGE_AFTER + 2)
            self.start()

    def _kill_all(self) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGSTOP)  # it starts no other worker now
        for pid in (*_children(self._process.pid), self._process.pid):
            os.kill(pid, signal.SIGKILL)
        self._process.join()


def _children(pid: int | None) -> list[int]:
    """The processes that a process has started and that live."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _serve(data: Path, database: str | None, fault: str | None, port: int, waits: Waits, log: Path, seed: int) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if fault:
        PLANTED[fault]()
    patch.object(multiprocessing, "get_context", lambda _: _fork()).start()
    patch.object(workers, "_SHORT_LIFE", 0.0).start()
    patch.object(keeper, "PACE", _PACE).start()
    _let_wait(random.Random(seed), waits)
    from hkoji_server.app import serve

    serve(None if database else data, "127.0.0.1", port, database=database, **_SETTINGS)


def _fork() -> multiprocessing.context.ForkContext:
    return multiprocessing.context.ForkContext()


def _let_wait(rng: random.Random, waits: Waits) -> None:
    """Lets decisions wait between the look at the clock and the write."""
    os.register_at_fork(after_in_child=lambda: rng.seed(os.getpid()))

    def waiting(real: Any, wait: Wait) -> Any:  # Any: a method and its arguments
        async def late(*given: Any, **named: Any) -> Any:
            if rng.random() < wait.often:
                await asyncio.sleep(rng.uniform(wait.least, wait.most))
            return await real(*given, **named)

        return late

    patch.object(keeper, "write_own", waiting(decision.write_own, waits.timeouts)).start()
    patch.object(GameStatements, "_give", waiting(GameStatements._give, waits.gifts)).start()
    patch.object(Games, "_append", waiting(Games._append, waits.entries)).start()
