"""A service that plays by mail: `hkoji serve` and `hkoji admin mail run` as processes on one folder of data."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from hkoji_server.mail import imap
from hkoji_server.service.games import notice_rules
from hkoji_server.service.notices import delivery
from hkoji_server.service.notices.delivery import LEASE, SEND_SECONDS

from tests.support.forked import ForkedProcess, run_forked
from tests.support.service import UNLIMITED_ENVIRONMENT, Service, start

ADDRESS: Final = "play@hkoji.example"
_PATIENCE: Final = 60
UNHURRIED: Final = {"mail_per_day": "100000", "mail_per_hour": "1000000"}
"""Settings for players who play a game in a minute: they get as many letters in a day as others in weeks."""
_READY: Final = "hkoji takes mail for"
_NONE: Mapping[str, str] = MappingProxyType({})


class MailWorld:
    """The service, its mail process, and the homes of players below `folder`.

    `door` is where the mail process takes mail, if that is not a mailbox, and `smtp` where it hands letters over.
    `settings` are further ones of the service, by name. A letter about a turn waits for `wait` seconds.
    A mail process has `lease` seconds for the letters that it has in hand; nobody else sends them meanwhile.
    """

    def __init__(
        self,
        folder: Path,
        door: tuple[str, int] | None,
        smtp: tuple[str, int],
        settings: Mapping[str, str] = _NONE,
        wait: int = 1,
        lease: int = LEASE,
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._door = door
        given = {
            "workers": "1",
            "mail": ADDRESS,
            **({} if door is None else {"mail_lmtp": f"{door[0]}:{door[1]}"}),
            "mail_smtp": f"smtp://{smtp[0]}:{smtp[1]}",
            **settings,
        }
        self._settings = {f"HKOJI_SERVER_{name.upper()}": value for name, value in given.items()}
        self._quick = partial(be_quick, wait, lease)
        self.service: Service = start(self.data, settings=given, forked=True, prepare=self._quick)
        self._log = folder / "mail.log"
        self.mail: ForkedProcess | None = None

    @property
    def log(self) -> str:
        """The log of the mail process."""
        return self._log.read_text() if self._log.exists() else ""

    def start_mail(self) -> None:
        """Starts the mail process, and waits until it takes mail."""
        logged = len(self.log)
        words = ["admin", "mail", "run", "--data", str(self.data)]
        environment = {**os.environ, **UNLIMITED_ENVIRONMENT, **self._settings, "PYTHONUNBUFFERED": "1"}
        self.mail = ForkedProcess(words, stdout=self._log, stderr=self._log, env=environment, prepare=self._quick)
        end = time.monotonic() + _PATIENCE
        while not (_READY in self.log[logged:] if self._door is None else _listens(self._door)):
            assert self.mail.poll() is None, self.log[-3000:]
            assert time.monotonic() < end, self.log[-3000:]
            time.sleep(0.02)

    def kill_mail(self) -> None:
        """Kills the mail process."""
        if self.mail is not None:
            self.mail.kill()
            self.mail.wait()

    def stop_mail(self) -> None:
        """Asks the mail process to end."""
        if self.mail is not None and self.mail.poll() is None:
            self.mail.terminate()
            self.mail.wait(_PATIENCE)

    def piped(self, recipient: str, mail: Path) -> int:
        """Gives a file to `hkoji admin mail receive`, and returns its exit code."""
        words = ["admin", "mail", "receive", "--recipient", recipient, "--data", str(self.data)]
        process = ForkedProcess(
            words, stdin=mail, stderr=self.folder / "pipe.log", env={**os.environ, **self._settings}
        )
        return process.wait(_PATIENCE)

    def stop(self) -> None:
        """Ends both processes."""
        self.stop_mail()
        if self.service.process.poll() is None:
            self.service.stop()

    def hkoji(self, *words: object, home: str = "operator", stdin: str = "", lang: str = "en") -> str:
        """Runs a command, which must succeed. Returns its output."""
        done = self.tried(*words, home=home, stdin=stdin, lang=lang)
        assert done.returncode == 0, f"hkoji {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def tried(
        self, *words: object, home: str = "operator", stdin: str = "", lang: str = "en"
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command, for the player or operator with this home."""
        environment = {
            **os.environ,
            **self._settings,
            "HKOJI_HOME": str(self.folder / home),
            "HKOJI_CONFIG": os.devnull,
            "HKOJI_LANG": lang,
        }
        return run_forked([str(each) for each in words], env=environment, stdin=stdin)

    def audited(self, log: Path, *keys: str) -> tuple[int, str]:
        """Runs `hkoji audit` and `audit.sh` on a log. Returns the worse exit code, and what both have printed."""
        options = [word for key in keys for word in ("--key", key)]
        first = self.tried("audit", log, *options)
        script = Path(__file__).parents[3] / "docs" / "spec" / "audit.sh"
        second = subprocess.run([str(script), str(log), *keys], capture_output=True, text=True, check=False)
        said = f"$ hkoji audit\n{first.stdout}{first.stderr}$ audit.sh\n{second.stdout}{second.stderr}"
        return max(first.returncode, second.returncode), said


def be_quick(seconds: int, lease: int) -> None:
    """Changes the waits in this process, because a whole game would take an hour.

    A real letter about a turn waits for a minute, so that a quick reply makes none, and letters are looked for every
    five seconds. A mailbox is polled every thirty. A process that is killed with letters in hand holds their lease to
    its end, which is after two minutes; half of a `lease` is for handing over one letter.
    """
    notice_rules.TURN_WAIT = seconds  # type: ignore[misc] # it is final everywhere else
    delivery.LEASE = lease  # type: ignore[misc] # as above
    delivery.SEND_SECONDS = min(SEND_SECONDS, lease // 2)  # type: ignore[misc] # as above
    delivery.NOTICE_PACE = 0.1  # type: ignore[misc] # as above
    imap.LONGEST_PACE = 0.1  # type: ignore[misc] # as above


def _listens(door: tuple[str, int]) -> bool:
    with socket.socket() as sock:
        sock.settimeout(5)
        return sock.connect_ex(door) == 0
