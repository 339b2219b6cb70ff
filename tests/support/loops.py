"""One event loop for tests that call coroutines one by one, so that what is opened in it can be used later."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_runner = asyncio.Runner()
atexit.register(_runner.close)


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: what coroutines yield
    """Runs `work` and returns its result."""
    return _runner.run(work)
