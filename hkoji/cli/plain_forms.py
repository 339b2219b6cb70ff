"""The plain forms of the commands that scripts give most, read without Typer.

Typer takes longer to start than everything else such a command does (it loads pydantic to convert any parameter), so
`hkoji show GAME`, `move`, `next`, `games` and `log` with nothing but `--json` and `--plain` are read here. Every other
form, help and mistakes are Typer's. That both read the same is tested over all forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_FLAGS: Final = ("--json", "--plain")
# Of Typer's own options only -h could be meant by a word that looks like an answer; it holds an h, and no card does
# but the suits of a deck, which are spelled out or drawn.
_ANSWER: Final = re.compile(r"-(?:[a-g0-9]*|(?!help)[a-z]{4,}[0-9]?|[^\x00-\x7f].*)", re.IGNORECASE)


class _Form(NamedTuple):
    least: int
    most: int
    flags: tuple[str, ...]


_FORMS: Final = {
    "show": _Form(1, 1, _FLAGS),
    "move": _Form(2, 40, _FLAGS),
    "next": _Form(0, 0, ("--json",)),
    "games": _Form(0, 0, ("--json",)),
    "log": _Form(1, 1, ("--json",)),
}


class PlainCommand(NamedTuple):
    """A command in plain form: its words without the flags."""

    name: str
    words: tuple[str, ...]
    json: bool
    plain: bool


def read(words: Sequence[str]) -> PlainCommand | None:
    """A command line in plain form; None if Typer is to read it."""
    form = _FORMS.get(words[0]) if words else None
    if form is None:
        return None
    flags = [word for word in words[1:] if word in form.flags]
    rest = tuple(word for word in words[1:] if word not in form.flags)
    if not form.least <= len(rest) <= form.most:
        return None
    for number, word in enumerate(rest):
        if word.startswith("-") and (words[0] != "move" or number == 0 or not _ANSWER.fullmatch(word)):
            return None
    return PlainCommand(words[0], rest, "--json" in flags, "--plain" in flags)


def run(call: PlainCommand) -> None:
    """Does what the command of that name does."""
    from hkoji.cli.games import actions
    from hkoji.cli.output import client, out

    out.json, out.plain = call.json, call.plain
    match call.name:
        case "show":
            actions.show(client(), out, call.words[0])
        case "move":
            actions.move(client(), out, call.words[0], call.words[1:])
        case "next":
            actions.waiting(client(), out)
        case "games":
            actions.games(client(), out)
        case _:
            actions.log(client(), out, call.words[0])
