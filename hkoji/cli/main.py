"""The `hkoji` program: reads the command line, runs the command, and exits with one of `Exit`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hkoji.cli import plain_forms, settings
from hkoji.cli.exits import Exit, exit_code
from hkoji.cli.language import _
from hkoji.cli.output import out
from hkoji.cli.terminal import ReaderGoneError, screens
from hkoji.errors import HkojiError, OutputError, UsageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from typer.exceptions import TyperException


def main() -> None:
    """Runs the program."""
    with screens():
        out.json = "--json" in sys.argv[1:]
        code = _guarded(_command)
    sys.exit(code)


def _command() -> int | None:
    words, chosen = settings.split_options(sys.argv[1:])
    settings.apply(chosen)
    call = plain_forms.read(words)
    if call is None:
        return _typer(words)
    plain_forms.run(call)
    return None


def _typer(words: list[str]) -> int | None:
    import typer
    from typer.exceptions import TyperException

    from hkoji.cli.app import app
    from hkoji.cli.help import translated_help

    with translated_help(app):
        try:
            code: int | None = app(words, standalone_mode=False)
        except typer.Abort as error:
            raise KeyboardInterrupt from error
        except TyperException as error:
            return _usage(error)
    return code


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
        sys.stderr.write(f"\nhkoji: {_('interrupted; acknowledged moves are kept')}\n")
        code = Exit.INTERRUPTED
    except ReaderGoneError:
        code = Exit.OK
    return int(code)


def _usage(error: TyperException) -> int:
    """Shows a usage error the way Typer does, or as JSON."""
    from hkoji.cli import usage_errors

    if out.json:
        message = usage_errors.as_message(error.format_message())
        out.error(UsageError(message, hint=tell("see `hkoji COMMAND --help`")))
    else:
        usage_errors.show(error)
    return Exit.USAGE
