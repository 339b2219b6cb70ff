"""The `hkoji` program: reads the command line, runs the command, and exits with one of `Exit`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from hkoji.cli import plain_forms, settings
from hkoji.cli.exits import Exit, exit_code
from hkoji.cli.output import out
from hkoji.errors import HkojiError, InterruptionError, UsageError

COMPLETE: Final = "_HKOJI_COMPLETE"
"""Set by a shell's function that asks for completions."""


def main() -> None:
    """Runs the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal whose encoding has no arrows still shows the board
    if COMPLETE in os.environ:
        from hkoji.cli import app, completion

        completion.answer(app.complete)
    out.json = "--json" in takewhile("--".__ne__, sys.argv[1:])  # what follows -- is another program's
    code = _guarded(_command)
    try:
        sys.stderr.flush()
    except OSError:
        # What could not be written stays in the buffer. At exit Python would try once more, and replace the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(code)


def _command() -> int | None:
    words, chosen = settings.split_options(sys.argv[1:])
    settings.apply(chosen)
    call = plain_forms.read(words)
    if call is None:
        return _typer(words)
    return plain_forms.run(call)


def _typer(words: list[str]) -> int | None:
    from hkoji.cli.app import run

    try:
        return run(words)
    except UsageError as error:
        show = getattr(error.__cause__, "show", None)
        if out.json or show is None:
            raise
        show()  # Typer's own error: its text has the usage
        return Exit.USAGE


def _guarded(command: Callable[[], int | None]) -> int:
    """Runs a command and returns its exit code; an error is printed on stderr."""
    try:
        code = command() or Exit.OK
        sys.stdout.flush()
    except HkojiError as error:
        code = exit_code(error)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()
        out.error(error)
    except KeyboardInterrupt:
        if not out.json:
            sys.stderr.write("\n")  # below the ^C that a terminal shows
        out.error(InterruptionError())
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        _silence()
        code = Exit.OK
    return int(code)


def _silence() -> None:
    """Discards further output: the reader has closed the pipe (`| head`), and closing stdout must not fail either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
