"""Somebody at a prompt, who reads the session's output and types the next line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.support.memory_service import LocalPlayer
from tests.support.shell import Done, run, run_with_streams

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
