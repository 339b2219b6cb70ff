"""Nothing leaks from a service process, its log file, its sockets or the command as a process: a very small sample.

The service here writes hands into its log. The test checks that this is reported. Starting a second service without the
fault would cost too much, so it removes the faulty lines and checks that nothing else differs.
"""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

from tests.lab.leaks.processes import compare


def test_nothing_leaks_over_sockets_but_what_was_planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "1")
    tally = asyncio.run(compare(1, tmp_path, "guest", every=6, commands=1, positions=2))
    assert {leak.place for leak in tally.leaks} == {"process, log file"}
    assert tally.states == 2
    assert {"process, log file", "view: 200"} <= set(tally.kinds)
    assert any(kind.startswith("process, hkoji") for kind in tally.kinds)
    logs = [ast.literal_eval(log) for log in tally.leaks[0].what.removeprefix("guest: ").split(" against ")]
    clean = [[line for line in log.splitlines() if '"hands"' not in line] for log in logs]
    assert clean[0] == clean[1]
    assert len(clean[0]) > 20
    assert len(clean[0]) < len(logs[0].splitlines())
