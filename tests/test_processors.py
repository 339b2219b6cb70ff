"""The number of processors that a process may use."""

from __future__ import annotations

import os
import sys

import pytest

from hkoji.processors import processors


@pytest.mark.skipif(sys.platform != "linux", reason="the processors that a process may use are set on Linux only")
def test_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert processors() == len(allowed)


def test_a_system_that_does_not_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processors() >= 1
