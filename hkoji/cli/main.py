"""The `hkoji` program: reads the command line, runs the command, and exits with one of `Exit`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from hkoji.cli import plain_forms, settings
from hkoji.cli.output import Exit, exit_code, out
from hkoji.cli.terminal import ReaderGoneError, screens
from hkoji.errors import HkojiError, InterruptionError, OutputError, UsageError

COMPLETE: Final = "_HKOJI_COMPLETE"
"""Set by a shell's function that asks for completions."""


def main() -> None:
    """Runs the program."""
    with screens():
        if COMPLETE in os.environ:
            from hkoji.cli import app, completion

            completion.answer(app.complete)
        out.json = "--json" in takewhile("--".__ne__, sys.argv[1:])  # what follows -- is another program's
        code = _guarded(_command)
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
        if out.json or not hasattr(error.__cause__, "show"):
            raise
        from hkoji.cli import usage_errors

        usage_errors.show(error.__cause__)  # Typer's own error: its text has the usage
        return Exit.USAGE


def _guarded(command: Callable[[], int | None]) -> int:
    """Runs a command and returns its exit code; an error is printed on stderr."""
    try:
        code = command() or Exit.OK
        sys.stdout.flush()
    except HkojiError as error:
        code = exit_code(error)
        # What was printed before the error comes first; if it cannot be written, the error is told all the same.
        with contextlib.suppress(OutputError, ReaderGoneError):
            sys.stdout.flush()
        out.error(error)
    except KeyboardInterrupt:
        if not out.json:
            sys.stderr.write("\n")  # below the ^C that a terminal shows
        out.error(InterruptionError())
        code = Exit.INTERRUPTED
    except ReaderGoneError:
        code = Exit.OK
    return int(code)
