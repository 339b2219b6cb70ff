"""Interrupts take effect between two steps, never within one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.cli.audit import many_logs
from hkoji.cli.long_work import uninterrupted
from hkoji.cli.output import Exit
from tests.support.shell import run
from tests.support.table import new_game


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Restores interrupts, which are ignored where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_a_step() -> None:
    done = []

    def steps() -> None:
        for number in range(9):
            with uninterrupted():
                done.append(number)
                if number == 2:
                    interrupt()
                done.append(-number)

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == [0, 0, 1, -1, 2, -2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_does_not_wait() -> None:
    done = []

    def step() -> None:
        with uninterrupted():
            interrupt()
            done.append(1)
            interrupt()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_a_step_stays_that_error() -> None:
    def step() -> None:
        with uninterrupted():
            interrupt()
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        step()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_ignores_interrupts_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_in_another_thread_there_is_nothing_to_hold() -> None:
    done = []

    def step() -> None:
        with uninterrupted():
            done.append(1)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert done == [1]


@pytest.mark.parametrize("at", [0, 3])
def test_a_log_that_is_counted_is_also_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The interrupt comes when a log has been counted, and before its line is written."""
    for seed in range(6):
        (tmp_path / f"{seed}.jsonl").write_text(new_game(seed).text)
    real, counted = many_logs.ArchiveSummary.add, []

    def add(summary: many_logs.ArchiveSummary, result: object) -> None:
        real(summary, result)  # type: ignore[arg-type] # an audit, passed through
        counted.append(result)
        if len(counted) == at + 1:
            interrupt()

    monkeypatch.setattr(many_logs.ArchiveSummary, "add", add)
    done = run("audit", str(tmp_path), "--json")
    assert done.code == Exit.INTERRUPTED
    lines = done.out.splitlines()
    assert len(lines) == at + 2
    assert f'"logs":{at + 1},' in lines[-1].replace(" ", "")
