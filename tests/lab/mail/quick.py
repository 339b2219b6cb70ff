"""Runs `hkoji` with another wait before the letter about a turn: python -m tests.lab.mail.quick SECONDS WORDS...

A real letter about a turn waits for a minute, so that a quick reply makes none, and letters are looked for every five
seconds. A mailbox is polled every thirty. A whole game would take an hour.

A process that is killed with letters in hand holds their lease to its end, which is after two minutes. Where that
happens each second, players would do nothing but wait for it. So the lease can be shorter too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hkoji_server.mail import imap
from hkoji_server.service.games import notice_rules
from hkoji_server.service.notices import delivery
from hkoji_server.service.notices.delivery import LEASE, SEND_SECONDS

from hkoji.__main__ import main


def be_quick(seconds: int, lease: int = LEASE) -> None:
    """Changes the waits in this process. Half of a `lease` is for handing over one letter."""
    notice_rules.TURN_WAIT = seconds  # type: ignore[misc] # it is final everywhere else
    delivery.LEASE = lease  # type: ignore[misc] # as above
    delivery.SEND_SECONDS = min(SEND_SECONDS, lease // 2)  # type: ignore[misc] # as above
    delivery.NOTICE_PACE = 0.1  # type: ignore[misc] # as above
    imap.LONGEST_PACE = 0.1  # type: ignore[misc] # as above


def run_quick(seconds: int, lease: int, words: list[str], log: Path, environment: dict[str, str]) -> None:
    """Does the same in a process that was forked for it. Its output is appended to the file `log`."""
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["hkoji", *words]
    be_quick(seconds, lease)
    main()


if __name__ == "__main__":
    be_quick(int(sys.argv.pop(1)))
    main()
