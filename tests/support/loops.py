"""One event loop for tests that call coroutines one by one, so that what is opened in it can be used later."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_runner = asyncio.Runner()
atexit.register(_runner.close)


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: what coroutines yield
    """Runs `work` and returns its result."""
    with set_aside():
        return _runner.run(work)


@contextmanager
def set_aside() -> Iterator[None]:
    """Lets a loop of this thread stand still, so that another may run: Playwright's waits between two calls of it."""
    standing = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(standing)
