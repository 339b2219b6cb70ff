"""How old a decision is when it is written, by a clock that tests replace by their own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from hkoji_server.store.time_contract import OLDEST

Clock = Callable[[], datetime]
"""A function that returns the time in UTC."""

UTC_CLOCK: Final[Clock] = partial(datetime.now, UTC)
_OLDEST: Final = timedelta(seconds=OLDEST)


def is_old(decided: datetime, now: datetime) -> bool:
    """Returns whether a decision of the time `decided` is too old to be written. One of the future is not."""
    return now - decided > _OLDEST
