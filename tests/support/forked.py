"""Runs `hkoji` in processes forked from one that has everything imported: a start takes a fifth of the time.

For services and commands that a test needs but is not about. Tests of starting, stopping and workers, and a complete
game in the shell, start the program itself.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_PRELOADED: Final = "tests.support.forked_modules"


class ForkedProcess:
    """Stands in for `Popen(["hkoji", *words])`, with the members that tests use."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        stderr: Path,
        env: dict[str, str],
        stdin: Path | None = None,
        stdout: Path | None = None,
        closed: Sequence[int] = (),
    ) -> None:
        """`closed` are the standard streams that a shell would close, by their numbers."""
        _CONTEXT.set_forkserver_preload([__name__, _PRELOADED])
        given = (list(words), (stdin, stdout, stderr), closed, os.getcwd(), env)
        self._process = _CONTEXT.Process(target=_run, args=given, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Returns `returncode`, like `Popen.poll`, without waiting."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, and returns the exit code."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("hkoji", timeout or 0)
        return self._process.exitcode

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Sends SIGKILL."""
        self._process.kill()


def run_forked(
    words: Sequence[str], *, env: dict[str, str], stdin: str = "", closed: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a command as `subprocess.run` would, with its output captured; the `closed` streams are closed."""
    with tempfile.TemporaryDirectory() as name:
        given, out, err = (Path(name) / each for each in ("in", "out", "err"))
        given.write_text(stdin)
        code = ForkedProcess(words, stdin=given, stdout=out, stderr=err, env=env, closed=closed).wait(300)
        return subprocess.CompletedProcess(list(words), code, out.read_text(), err.read_text())


def _run(
    words: list[str], streams: Sequence[Path | None], closed: Sequence[int], folder: str, env: dict[str, str]
) -> None:
    for number, path in enumerate(streams):
        if path is not None:
            flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY
            opened = os.open(path, flags, 0o600)
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
    from hkoji.cli.main import main

    main()
