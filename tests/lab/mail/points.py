"""How a mail process is killed from within, at a point that is watched from outside.

Points are before each statement that may write, after each commit, and before and after a letter is sent. They are
watched at the driver of the database, and at the standard library's SMTP client. A process that is killed before a
statement that only reads leaves the same behind as one before the next that writes.
"""

from __future__ import annotations

import os
import signal
import smtplib
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.mail.resolver import TxtResolver

from tests.lab.crashes.killed import psycopg_watched
from tests.lab.mail.mail_world import be_quick
from tests.support.driver_calls import driver_watched

FATAL_KEY: Final = "fatal"
"""The selector of a DKIM key. A process that asks DNS for it ends. A mail is taken without that."""
LEASE: Final = 2
"""How many seconds the letters wait that a killed process had in hand."""
_ABANDONED: Final = 3
"""After how many seconds a mail is given up that was tried often enough, by a process that may have ended."""
_READS: Final = ("SELECT", "PRAGMA", "SET ", "SHOW", "LISTEN", "ROLLBACK", "ANALYZE", ";", "Composed")
"""How statements begin that write nothing; the last two are those of psycopg and of its pool for a new connection."""
_SHOWN: Final = 60
_WATCHED: Final = ExitStack()
"""Until the process ends."""


class Points:
    """Counts points from the signal SIGUSR1 on, and kills this process at the point of that number, from 1.

    Each point is noted in the file `trace` as a line, when it is reached.
    """

    def __init__(self, kill_at: int | None, trace: Path) -> None:
        self._kill_at = kill_at
        self._trace = os.open(trace, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._lock = threading.Lock()
        self._reached = 0
        self._armed = False
        signal.signal(signal.SIGUSR1, self._arm)

    def _arm(self, *_: object) -> None:
        self._armed = True

    def reach(self, point: str) -> None:
        """Notes that a point is reached."""
        if not self._armed:
            return
        with self._lock:
            self._reached += 1
            os.write(self._trace, f"{point}\n".encode())
            if self._reached == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def before_call(self, what: str, sql: str) -> None:
        if what == "execute" and sql != "BEGIN" and not sql.lstrip().startswith(_READS):
            self.reach(f"before {' '.join(sql.split())[:_SHOWN]}")

    def after_call(self, what: str, sql: str) -> None:
        if what == "execute" and sql == "COMMIT":
            self.reach("after COMMIT")


def watch_points(kill_at: int | None, trace: Path) -> None:
    """Prepares a mail process that is going to start in this process."""
    be_quick(0, LEASE)
    points, submit = Points(kill_at, trace), smtplib.SMTP.data

    def watched(self: Any, letter: Any) -> Any:  # Any: as the library has it
        points.reach("before a letter")
        said = submit(self, letter)
        points.reach("after a letter")
        return said

    patch.object(smtplib.SMTP, "data", watched).start()
    for each in (driver_watched(points), psycopg_watched(points)):
        _WATCHED.enter_context(each)


def end_at_fatal_key() -> None:
    """Prepares a mail process that is going to start in this process, and ends when it processes a fatal mail."""
    be_quick(0, LEASE)
    look_up = TxtResolver.look_up

    async def watched(self: TxtResolver, names: Any) -> Any:  # Any: as the resolver has it
        if any(FATAL_KEY in name for name in names):
            os.kill(os.getpid(), signal.SIGKILL)
        return await look_up(self, names)

    patch.object(TxtResolver, "look_up", watched).start()
    patch("hkoji_server.mail.worker._ABANDONED", _ABANDONED, create=True).start()
