"""The `hkoji` program: reads the command line, runs the command, and exits with one of `Exit`.

The simplest form of the most frequent commands is read here, without Typer. With Typer, `hkoji show` takes longer, as
the benchmark `command` measures: Typer itself and the declarations of a group of commands must be loaded. So `show`,
`move`, `next`, `games`, `log` and `audit` with no options but `--json` and `--plain` are parsed here. Typer parses the
other forms, help and mistakes. Tests check that `FORMS` is what the Typer commands declare, and that both ways agree.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from hkoji.cli import settings
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
    return _run(words)


def _run(words: Sequence[str]) -> int | None:
    """Runs a command line without the options that every command has. Returns the exit code; None is success."""
    call = read_plain(words)
    return _typer(words) if call is None else run_plain(call)


def _typer(words: Sequence[str]) -> int | None:
    from hkoji.cli.app import run

    try:
        return run(words, _run)
    except UsageError as error:
        if out.json or out.keep or not hasattr(error.__cause__, "show"):
            raise
        from hkoji.cli.help import show_usage_error

        show_usage_error(error.__cause__)  # Typer's own error: its text has the usage
        return Exit.USAGE


def _guarded(command: Callable[[], int | None]) -> int:
    """Runs a command and returns its exit code; an error is printed on stderr."""
    try:
        code = command() or Exit.OK
        sys.stdout.flush()
    except HkojiError as error:
        code = exit_code(error)
        # The output from before the error comes first; if it cannot be written, the error is told all the same.
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


# --- the simplest forms -----------------------------------------------------------------------------------------------

# Matches a move that begins with a dash, but not Typer's option `-h`: the letters of cards are a to g, and the other
# words for cards are the names of suits, which have at least four letters or are symbols.
_DASHED_MOVE: Final = re.compile(r"-(?:[a-g0-9]*|(?!help)[a-z]{4,}[0-9]?|[^\x00-\x7f].*)", re.IGNORECASE)


class PlainForm(NamedTuple):
    """The simplest form of a command: how many words it takes, and its flags."""

    least: int
    most: int | None
    flags: tuple[str, ...]
    dashes: bool = False
    """Whether words after the first may begin with a dash."""


FORMS: Final = {
    "show": PlainForm(1, 1, ("--json", "--plain")),
    "move": PlainForm(2, None, ("--json", "--plain"), dashes=True),
    "next": PlainForm(0, 0, ("--json",)),
    "games": PlainForm(0, 0, ("--json",)),
    "log": PlainForm(1, 1, ("--json",)),
    "audit": PlainForm(1, None, ("--json", "--plain")),
}


class PlainCommand(NamedTuple):
    """A command in its simplest form: its name, its words without the flags, and the flags."""

    name: str
    words: tuple[str, ...]
    json: bool
    plain: bool


def read_plain(words: Sequence[str]) -> PlainCommand | None:
    """Parses a command line; returns None for one that is left to Typer."""
    form = FORMS.get(words[0]) if words else None
    if form is None:
        return None
    flags = [word for word in words[1:] if word in form.flags]
    rest = tuple(word for word in words[1:] if word not in form.flags)
    if len(rest) < form.least or (form.most is not None and len(rest) > form.most):
        return None
    for number, word in enumerate(rest):
        if word.startswith("-") and not (form.dashes and number and _DASHED_MOVE.fullmatch(word)):
            return None
    return PlainCommand(words[0], rest, "--json" in flags, "--plain" in flags)


def run_plain(command: PlainCommand) -> int | None:
    """Carries out a command. Returns the exit code; None is success."""
    out.json, out.plain = command.json, command.plain
    match command.name:
        case "show":
            from hkoji.cli.games.show import show

            show(command.words[0])
        case "move":
            from hkoji.cli.games.move import move

            move(command.words[0], command.words[1:])
        case "next":
            from hkoji.cli.games.lists import waiting

            waiting()
        case "games":
            from hkoji.cli.games.lists import games

            games()
        case "audit":
            from hkoji.cli.audit import AuditOptions
            from hkoji.cli.audit.command import run as audit

            return audit(list(command.words), AuditOptions())
        case _:
            from hkoji.cli.games.export import log

            log(command.words[0])
    return None
