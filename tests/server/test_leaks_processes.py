"""Nothing leaks, with a service process, its log file, sockets and the command as a process: a very small sample."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.leaks_processes import compare


def test_nothing_leaks_over_sockets(tmp_path: Path) -> None:
    tally = asyncio.run(compare(1, tmp_path, "guest", every=6, commands=1, positions=2))
    assert tally.leaks == []
    assert tally.states == 2
    assert {"process, log file", "view: 200"} <= set(tally.kinds)
    assert any(kind.startswith("process, hkoji") for kind in tally.kinds)


def test_a_card_in_the_log_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "1")
    tally = asyncio.run(compare(1, tmp_path, "guest", every=6, commands=0, positions=1))
    assert {leak.place for leak in tally.leaks} == {"process, log file"}
    assert "hands" in tally.leaks[0].what
