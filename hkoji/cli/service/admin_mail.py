"""`hkoji admin mail`: carries out the operator's commands about mail, and shows their results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import CommandOutput
from hkoji.cli.service.serve import service_function
from hkoji.errors import HkojiError

_TRY_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: the mail server keeps the mail, and every other failure would make it bounce."""


def run(data: Path | None, database: str | None, config: Path | None, log_level: str | None) -> None:
    """Runs the mail process until it is stopped."""
    service_function("mail").run(data, database=database, config=config, log_level=log_level)


def receive(
    out: CommandOutput,
    recipient: str,
    sender: str | None,
    data: Path | None,
    database: str | None,
    config: Path | None,
) -> int:
    """Takes one mail from standard input. Returns the exit code for the mail server."""
    try:
        code: int = service_function("mail").receive(
            recipient, sys.stdin.buffer, sender=sender, data=data, database=database, config=config
        )
        return code
    except HkojiError as error:
        reason = translate(str(error))
    except Exception as error:
        reason = type(error).__name__
    out.say(_("{reason}; the mail has to come again", reason=reason))
    return _TRY_AGAIN


def queue(out: CommandOutput, data: Path | None, database: str | None) -> None:
    """Shows what waits."""
    found: dict[str, Any] = service_function("mail").queue(data, database)  # Any: JSON

    def lines() -> str:
        mails, letters, aside = found["mails"], found["letters"], found["set_aside"]
        rows = [
            _n("{n} mail waits to be processed", "{n} mails wait to be processed", mails)
            + _since(found["mails_since"]),
            _n("{n} letter waits to be sent", "{n} letters wait to be sent", letters) + _since(found["letters_since"]),
        ]
        if aside:
            rows.append(
                _n("{n} mail is set aside", "{n} mails are set aside", aside) + _since(found["set_aside_since"])
            )
        return "\n".join(rows)

    out.result(found, lines)


def _since(oldest: str | None) -> str:
    return "" if oldest is None else _(", the oldest since {at}", at=oldest)
