"""A service that is changed before it serves, and that may be stopped and killed, for laboratories.

It is that of `hkoji serve`, forked from a process with all modules imported, because starting Python takes long.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, Final

from hkoji_server import app

from tests.support.forked import ForkedCall
from tests.support.service import UNLIMITED, Answer, ask

_PATIENCE: Final = 120.0
_STANDING: Final = "TZX"
"""The states of a process that stands still, or has ended, as Linux calls them."""


class ForkedService:
    """The service on `data`, or on a PostgreSQL `database`, with settings by name. It logs to the file `log_path`.

    Its process calls `prepare` before it serves; that must be importable, and so must its arguments. Without a `port`
    each start has another one.
    """

    def __init__(
        self,
        data: Path,
        database: str | None,
        log_path: Path,
        prepare: Callable[[], None],
        settings: Mapping[str, Any],  # Any: settings by name
        port: int = 0,
    ) -> None:
        self.port = port
        self._log = log_path
        self._given = (data, database, log_path, prepare, {**UNLIMITED, **settings}, port)

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    @property
    def alive(self) -> bool:
        """Whether it has not ended; it may have stopped."""
        return self._process.poll() is None

    def start(self) -> None:
        self._said = len(self.log)
        self._process = ForkedCall(_serve, *self._given, daemon=False)

    def wait_until_ready(self) -> None:
        """Waits until it serves; then its port is known."""
        end = time.monotonic() + _PATIENCE
        while not (found := re.search(r"serving on http://[^:]+:(\d+),.*\n", self.log[self._said :])):
            assert self.alive, self.log[-3000:]
            assert time.monotonic() < end, self.log[-3000:]
            time.sleep(0.01)
        self.port = int(found[1])

    def stand_still(self) -> None:
        """Lets its process stand still."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets it go on if it stands still."""
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        if self.alive:
            _send(self._process.pid, which)

    def kill(self) -> int:
        """Kills it, and the workers that it has started. Returns the exit code."""
        if self.alive:
            self.stand_still()  # so it starts no other worker, and keeps those that have ended
            while _state(self._process.pid) not in _STANDING:  # it may be starting one
                time.sleep(0.001)
            for pid in self.workers:
                _send(pid, signal.SIGKILL)
                _wait_for_end(pid)  # until then it holds the port
            self._process.kill()
        return self._process.wait()

    @property
    def workers(self) -> list[int]:
        """The process ids of its workers that live."""
        pid = self._process.pid
        try:
            return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except FileNotFoundError:
            return []

    def stop(self) -> int:
        """Asks it to stop, and kills it if it does not. Returns the exit code."""
        self._process.terminate()
        try:
            return self._process.wait(30)
        except subprocess.TimeoutExpired:
            return self.kill()

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request on a connection of its own."""
        return ask(self.port, method, path, body, token, raw)


def _send(pid: int, which: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has ended just now
        os.kill(pid, which)


def _state(pid: int) -> str:
    """The letter by which Linux shows what a process does."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def _wait_for_end(pid: int) -> None:
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        wait_for([process])
        os.close(process)


def _serve(
    data: Path,
    database: str | None,
    log: Path,
    prepare: Callable[[], None],
    settings: Mapping[str, Any],  # Any: settings by name
    port: int,
) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    prepare()
    app.serve(None if database else data, "127.0.0.1", port, database=database, **settings)
