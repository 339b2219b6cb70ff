"""Waits until something is so, for tests whose services, threads and programs take their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 300
"""How many seconds until a test fails; long, because the machine may be busy."""


def until(seen: Callable[[], bool]) -> None:
    """Waits until a condition is true."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.02)


async def until_seen(seen: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Waits until a condition is true, while the event loop runs."""
    async with asyncio.timeout(patience):
        while not seen():
            await asyncio.sleep(0.005)
