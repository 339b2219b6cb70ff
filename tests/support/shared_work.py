"""Lets several processes share the tests: `pytest -p tests.support.shared_work --processes 3`.

The tests are collected once, and then the processes are forked, because to import and to collect all of them takes as
long as hundreds of tests do. Each process takes the next file whenever it has run one, and runs its tests in order. It
sends its reports to the first process, which runs no tests. It ends as a run of its own would, with its own fixtures
and its own folder for temporary files.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

import pytest

_NUMBER: Final = 4
"""Bytes of a file's number in the pipe from which processes take files."""
_ENDED: Final = b"ended"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.addoption("--processes", type=int, default=1, help="how many processes share the tests, by files")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Shares the tests. Leaves them to pytest if one process is enough, or if something could not be collected."""
    count = session.config.getoption("processes")
    if count < 2 or session.testsfailed or session.config.option.collectonly:
        return None
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    todo, give = os.pipe()  # it holds thousands of numbers
    os.write(give, b"".join(number.to_bytes(_NUMBER) for number in range(len(files))))
    os.close(give)
    folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # pytest's own
    workers: dict[Connection, int] = {}
    for number in range(count):
        reports, tell = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            _become_worker(session.config, folder / f"process-{number}", tell)
            _run(session, _taken(files, todo))
            return True
        tell.close()
        workers[reports] = pid
    _pass_on(session, workers, todo)
    return True


# --- a process that runs tests ----------------------------------------------------------------------------------------


class _Reporter:
    """Sends the reports to the first process, and at the end that it ends."""

    def __init__(self, config: pytest.Config, tell: Connection) -> None:
        self._config = config
        self._tell = tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._tell.send_bytes(pickle.dumps(data))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.INTERNAL_ERROR:
            self._tell.send_bytes(_ENDED)


def _become_worker(config: Any, folder: Path, tell: Connection) -> None:  # Any: pytest's own parts of its configuration
    folder.mkdir(mode=0o700)
    config._tmp_path_factory._basetemp = folder
    config.workerinput = {}  # so pytest leaves to the first process what is done once
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of all processes
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Reporter(config, tell))


def _taken(files: Sequence[list[pytest.Item]], todo: int) -> Iterator[pytest.Item | None]:
    """The tests of this process, and None at the end. It takes a file before the last test of the one before runs."""
    while number := os.read(todo, _NUMBER):
        yield from files[int.from_bytes(number)]
    yield None


def _run(session: pytest.Session, items: Iterator[pytest.Item | None]) -> None:
    for item, following in pairwise(items):
        assert item is not None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        _stop_if_told(session)


# --- the first process ------------------------------------------------------------------------------------------------


def _pass_on(session: pytest.Session, workers: dict[Connection, int], todo: int) -> None:
    """Passes the reports on until all processes have ended. Fails if one of them has not said that it ends."""
    hook, config = session.config.hook, session.config
    running, last = set(workers), dict.fromkeys(workers, "")
    died: list[str] = []
    while running:
        for reports in wait(running):
            assert isinstance(reports, Connection)
            try:
                data = reports.recv_bytes()
            except EOFError:
                died.append(f"a process that ran tests died after {last[reports] or 'it was forked'}")
                data = _ENDED
            if data == _ENDED:
                running.remove(reports)
            else:
                report = hook.pytest_report_from_serializable(config=config, data=pickle.loads(data))
                hook.pytest_runtest_logreport(report=report)
                last[reports] = f"{report.when} of {report.nodeid}"
        if session.shouldfail or session.shouldstop:
            while os.read(todo, _NUMBER):  # so that the others end after the files that they have
                pass
    for reports, pid in workers.items():
        os.waitpid(pid, 0)
        reports.close()
    os.close(todo)
    if died:
        pytest.exit("; ".join(died), pytest.ExitCode.INTERNAL_ERROR)
    _stop_if_told(session)


def _stop_if_told(session: pytest.Session) -> None:
    """Ends the run as pytest's own loop does, after a failure with -x."""
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
