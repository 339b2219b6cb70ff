"""Since when a seat has been owing its entry: the one thing about clocks that a log can show.

docs/spec/log.md, "Kinds" (`timeout`). How long a seat may take is not in the log and not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.errors import IllegalError
from hkoji.game.entry_kinds import Timeout
from hkoji.log.line import Line
from hkoji.messages.text import tell


def verify_since(timeout: Timeout, lines: Sequence[Line]) -> None:
    """Checks that a timeout counts from the receipt of the last of the `lines` before it that discharged something: a
    new key does not stop the clock. Raises `IllegalError`.

    Without receipts there is nothing to compare with.
    """
    before = next(line for line in reversed(lines) if line.entry.kind not in ("rekey", "revoke"))
    if before.receipt is not None and before.receipt.receipt.at != timeout.since:
        raise IllegalError(
            tell(
                "the timeout counts from {since}, and the clock has been running since {at}",
                since=timeout.since,
                at=before.receipt.receipt.at,
            )
        )
