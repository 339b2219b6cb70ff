"""Parses the simplest form of the most frequent commands without loading Typer.

With Typer, `hkoji show` takes longer, as the benchmark `command` measures: Typer itself and the declarations of all
commands must be loaded. So `show`, `move`, `next`, `games`, `log` and `audit` with no options but `--json` and
`--plain` are parsed here. Typer parses every other form, help and mistakes. Tests check that `FORMS` is what the Typer
commands declare, and that both parsers agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

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


def read(words: Sequence[str]) -> PlainCommand | None:
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


def run(command: PlainCommand) -> int | None:
    """Carries out a command. Returns the exit code; None is success."""
    from hkoji.cli.output import client, out

    out.json, out.plain = command.json, command.plain
    match command.name:
        case "show":
            from hkoji.cli.games.show import show

            show(client(), out, command.words[0])
        case "move":
            from hkoji.cli.games.move import move

            move(client(), out, command.words[0], command.words[1:])
        case "next":
            from hkoji.cli.games.lists import waiting

            waiting(client(), out)
        case "games":
            from hkoji.cli.games.lists import games

            games(client(), out)
        case "audit":
            from hkoji.cli.audit.command import AuditOptions
            from hkoji.cli.audit.command import run as audit

            return audit(client, out, list(command.words), AuditOptions())
        case _:
            from hkoji.cli.games.export import log

            log(client(), out, command.words[0])
    return None
