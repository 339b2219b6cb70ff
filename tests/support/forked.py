"""Runs `hkoji` in processes forked from one that has everything imported: a start takes a fifth of the time.

For services and commands that a test needs but is not about. Tests of starting, stopping and workers, and a complete
game in the shell, start the program itself.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait as wait_for
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, Final

_CONTEXT: Final = multiprocessing.get_context("forkserver")
PRELOADED: Final = ["tests.support.forked_modules"]
"""The modules that the fork server imports before the first process is forked."""

_LOCK: Final = threading.Lock()
"""A start also looks which others have ended. Of two threads that look at one, only the first learns its exit code."""


class ForkedCall:
    """A process that calls `target` and ends. It has the members of `Popen` that tests use.

    A `daemon` is ended with this process, and starts no others.
    """

    def __init__(self, target: Callable[..., None], *given: object, daemon: bool = True) -> None:
        _CONTEXT.set_forkserver_preload([__name__, *PRELOADED])
        self._process = _CONTEXT.Process(target=target, args=given, daemon=daemon)
        with _LOCK:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        with _LOCK:
            return self._process.exitcode

    def poll(self) -> int | None:
        """Returns `returncode`, like `Popen.poll`, without waiting."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, and returns the exit code."""
        wait_for([self._process.sentinel], timeout)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired("hkoji", timeout or 0)
        return code

    def terminate(self) -> None:
        with _LOCK:
            self._process.terminate()

    def kill(self) -> None:
        with _LOCK:
            self._process.kill()


class _Lent:
    """A descriptor that a process gets as a number of its own."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[object]]:  # Any: multiprocessing does not name its type
        return _taken, (DupFd(self._number),)


def _taken(lent: Any) -> int:
    return int(lent.detach())


class ForkedProcess(ForkedCall):
    """Stands in for `Popen(["hkoji", *words])`. A stream is a file, or an open descriptor, which the caller closes."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: dict[str, str],
        stdin: Path | int | None = None,
        stdout: Path | int | None = None,
        stderr: Path | int | None = None,
        closed: Sequence[int] = (),
        daemon: bool = True,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        """`closed` are the standard streams that a shell would close, by their numbers.

        The process calls `prepare` first; that must be importable, and so must its arguments.
        """
        streams = [_Lent(each) if isinstance(each, int) else each for each in (stdin, stdout, stderr)]
        super().__init__(_run, list(words), streams, closed, os.getcwd(), env, prepare, daemon=daemon)


class ForkedTerminal(ForkedCall):
    """Runs a command in a terminal of its own, `slave`, which the caller closes."""

    def __init__(self, words: Sequence[str], slave: int, *, env: dict[str, str]) -> None:
        super().__init__(_run_in_terminal, list(words), _Lent(slave), os.getcwd(), env)


def run_forked(
    words: Sequence[str], *, env: dict[str, str], stdin: str = "", closed: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a command as `subprocess.run` would, with its output captured; the `closed` streams are closed."""
    with tempfile.TemporaryDirectory() as name:
        given, out, err = (Path(name) / each for each in ("in", "out", "err"))
        given.write_text(stdin)
        code = ForkedProcess(words, stdin=given, stdout=out, stderr=err, env=env, closed=closed).wait(300)
        return subprocess.CompletedProcess(list(words), code, out.read_text(), err.read_text())


def _run_in_terminal(words: list[str], slave: int, folder: str, env: dict[str, str]) -> None:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(slave, number)
        setattr(sys, name, os.fdopen(number, "w", closefd=False))  # by lines, as it is a terminal
    _run(words, (slave, None, None), (), folder, env, None)


def _run(
    words: list[str],
    streams: Sequence[Path | int | None],
    closed: Sequence[int],
    folder: str,
    env: dict[str, str],
    prepare: Callable[[], object] | None,
) -> None:
    for number, stream in enumerate(streams):
        if stream is not None:
            flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY
            opened = stream if isinstance(stream, int) else os.open(stream, flags, 0o600)
            os.dup2(opened, number)
            os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing gives its processes no input
    for number in closed:
        os.close(number)
        name = ("stdin", "stdout", "stderr")[number]
        setattr(sys, name, None)
        setattr(sys, f"__{name}__", None)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["hkoji", *words]
    if prepare is not None:
        prepare()
    from hkoji.cli.main import main

    main()
