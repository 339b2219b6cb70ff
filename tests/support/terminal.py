"""A program at a terminal of its own: types keys and waits for what appears."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()=>][0-9A-B]?|\x1b\][^\x07]*\x07|[\x00-\x08\x0e-\x1f]")


class Terminal:
    """A program that runs at a terminal until the end of a `with` block."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], folder: str) -> None:
        self._child, self._file = pty.fork()
        if self._child == 0:  # pragma: no cover # the other process
            os.chdir(folder)
            os.execvpe(words[0], list(words), dict(environment))
        self.seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self._file)

    def type(self, keys: str) -> None:
        """Types keys, and forgets what was seen before."""
        self.seen = ""
        os.write(self._file, keys.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Waits until a text has appeared; returns all that was seen since the last keys."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self._file], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError(f"{text!r} did not appear: {self.seen!r}")
            with suppress(UnicodeDecodeError):
                self.seen += _CONTROL.sub("", os.read(self._file, 65536).decode(errors="ignore"))
        return self.seen
