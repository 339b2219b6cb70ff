"""The `hkoji` command in this process, with a service in memory: all but the sockets, as fast as a call."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TextIO
from unittest.mock import patch

from hkoji.cli.main import main
from hkoji.cli.output import out
from hkoji.client import Client
from tests.support.memory_service import LocalPlayer


class Player(Protocol):
    """A player with a new client for each command."""

    @property
    def client(self) -> Client: ...


class Done(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # Any: JSON
        return json.loads(self.out)

    @property
    def error(self) -> Any:  # Any: JSON
        (line,) = self.err.splitlines()
        return json.loads(line)["error"]


@dataclass
class Shell:
    """A player at a shell. Each command has its own client, as a process would."""

    seat: LocalPlayer

    def __call__(self, *words: str, stdin: str = "", terminal: bool = False) -> Done:
        return run(*words, seat=self.seat, stdin=stdin, terminal=terminal)


class _Input(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*words: str, seat: Player | None = None, stdin: str = "", terminal: bool = False) -> Done:
    """Runs `hkoji` with these arguments, for a player or without one."""
    screen, keyboard = (_Screen, _Input) if terminal else (io.StringIO, io.TextIOWrapper)
    printed, said = screen(), screen()
    code = run_with_streams(words, keyboard(io.BytesIO(stdin.encode())), printed, said, seat)
    return Done(code, printed.getvalue(), said.getvalue())


_running: list[Sequence[str]] = []


def run_with_streams(
    words: Sequence[str], stdin: io.TextIOBase, stdout: TextIO | None, stderr: TextIO | None, seat: Player | None = None
) -> int:
    """Runs `hkoji` with these arguments and streams, of which None is closed. Returns its exit code."""
    outer = dict(vars(out)) if _running else {}  # of a command that waits while this one runs
    _running.append(words)
    out.__init__()  # type: ignore[misc] # a new process has a new output
    if seat is not None:
        out.client = seat.client
        out.client.say = out.say
    with (
        patch.object(sys, "argv", ["hkoji", *words]),
        patch.object(sys, "stdin", stdin),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code
        finally:
            _running.pop()
            vars(out).update(outer)
    assert isinstance(code, int)
    return code
