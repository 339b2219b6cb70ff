"""How many processors this process may use."""

from __future__ import annotations

import os
import sys


def processors() -> int:
    """Returns how many processors this process may use."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
