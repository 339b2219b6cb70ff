"""A program at a terminal of its own, and a player at a prompt who reads the output and types the next line."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

from tests.support.memory_service import LocalPlayer
from tests.support.shell import Done, run, run_with_streams

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


PROMPT: Final = "Your move: "
MORE: Final = "Another game? [y/N] "
Types = Callable[[str], str | None]
"""Takes the output since the last line and returns the next one; None ends the input."""


class Keyboard(io.TextIOBase):
    """Standard input that is typed as it is read."""

    def __init__(self, screen: io.StringIO, types: Types) -> None:
        self.screen, self.types, self.seen = screen, types, 0

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override] # as a text file does
        said = self.screen.getvalue()[self.seen :]
        self.seen += len(said)
        line = self.types(said)
        return "" if line is None else f"{line}\n"


def session(*words: str, types: Types, seat: LocalPlayer | None = None) -> Done:
    """A command in this process with somebody at its prompt."""
    screen, said = io.StringIO(), io.StringIO()
    code = run_with_streams(words, Keyboard(screen, types), screen, said, seat)
    return Done(code, screen.getvalue(), said.getvalue())


def advised(said: str) -> str | None:
    """Asks for a hint and follows it; leaves at any other question."""
    hint = re.search(r"would play (\S+)", said)
    return hint[1] if hint else "hint" if said.endswith(PROMPT) else None


def lines(*given: str) -> Types:
    """Types these lines, then ends the input."""
    left = iter(given)
    return lambda _: next(left, None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for games against bots, in test files that import it."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HKOJI_HOME", str(folder))
    monkeypatch.setenv("NO_COLOR", "1")
    return folder


def games() -> list[dict[str, object]]:
    """The games against bots in this home."""
    return list(run("play", "--list", "--json").json)
