"""Runs `hkoji` with another wait before the letter about a turn: python -m tests.lab.mail.quick SECONDS WORDS...

A real letter about a turn waits for a minute, so that a quick reply makes none, and letters are looked for every five
seconds. A whole game would take an hour.
"""

from __future__ import annotations

import sys

from hkoji_server.service import notice_delivery, notice_rules

from hkoji.__main__ import main

if __name__ == "__main__":
    notice_rules.TURN_WAIT = int(sys.argv.pop(1))  # type: ignore[misc] # it is final everywhere else
    notice_delivery.NOTICE_PACE = 0.1  # type: ignore[misc] # as above
    main()
