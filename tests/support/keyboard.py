"""Somebody at a prompt, who reads the session's output and types the next line."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from hkoji.cli.main import main
from hkoji.cli.output import out
from tests.support.memory_service import LocalPlayer
from tests.support.shell import Done

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
    out.__init__()  # type: ignore[misc] # a new process has a new output
    if seat is not None:
        out.client = seat.client
        out.client.say = out.say
    with (
        patch.object(sys, "argv", ["hkoji", *words]),
        patch.object(sys, "stdin", Keyboard(screen, types)),
        redirect_stdout(screen),
        redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code
    assert isinstance(code, int)
    return Done(code, screen.getvalue(), said.getvalue())


def advised(said: str) -> str | None:
    """Asks for a hint and follows it; leaves at any other question."""
    hint = re.search(r"would play (\S+)", said)
    return hint[1] if hint else "hint" if said.endswith("Your move: ") else None


def lines(*given: str) -> Types:
    """Types these lines, then ends the input."""
    left = iter(given)
    return lambda _: next(left, None)
