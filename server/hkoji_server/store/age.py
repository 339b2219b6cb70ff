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


def latest(at: str) -> datetime:
    """Returns the last moment at which a decision of the time `at` may be written."""
    return datetime.fromisoformat(at) + _OLDEST
