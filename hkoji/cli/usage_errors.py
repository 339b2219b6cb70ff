"""Typer's errors about a command line, in the language in use.

Typer passes few of its messages to gettext. So this module has the others as templates, and recognizes a message by
them. Its tests provoke every message that the commands can have.
"""

from __future__ import annotations

import re
import string
import sys
from functools import cache
from typing import Any, Final

from hkoji.cli.help import translated_forms
from hkoji.cli.language import _, translate
from hkoji.messages.text import Text, printable, tell

_REASONS: Final = {
    "Input should be a valid integer, unable to parse string as an integer": tell("it has to be a whole number"),
    "Input should be a valid number, unable to parse string as a number": tell("it has to be a number"),
    "Unable to parse input string as an integer, exceeded maximum size": tell("the number has too many digits"),
    "Input should be greater than or equal to {least}": tell("it has to be {least} or more", least=""),
    "Input should be less than or equal to {most}": tell("it has to be {most} or less", most=""),
}
"""Typer passes on these reasons of the library that checks values. They are said in words that a player knows."""

FORMS: Final = (
    tell("No such option: {option} (Possible options: {similar})", option="", similar=""),
    tell("No such option: {option}", option=""),
    tell("Option {option} requires an argument.", option=""),
    tell("Option {option} does not take a value.", option=""),
    tell("Missing argument {argument}.", argument=""),
    tell("Missing option {option}.", option=""),
    tell("No such command {command}. Did you mean {similar}?", command="", similar=""),
    tell("No such command {command}.", command=""),
    tell("Got unexpected extra argument(s) ({arguments})", arguments=""),
    tell("Invalid value for {parameter}: {reason}", parameter="", reason=""),
    *_REASONS.values(),
)
"""Typer's messages, each before those that would also match it, with the words of `_REASONS` for its reasons."""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Text], ...]:
    forms = (*_REASONS.items(), *((form.template, form) for form in FORMS))
    return tuple((re.compile(_pattern(template), re.DOTALL), form) for template, form in forms)


def _pattern(template: str) -> str:
    parts = string.Formatter().parse(template)
    return "".join(re.escape(literal) + (f"(?P<{name}>.+)" if name else "") for literal, name, _spec, _how in parts)


def as_message(english: str) -> str:
    """Returns a message of Typer as a `Text`; one that is not known stays as it is."""
    for pattern, form in _patterns():
        found = pattern.fullmatch(english)
        if found:
            named = found.groupdict().items()
            return Text(form.template, {name: as_message(each) if name == "reason" else each for name, each in named})
    return english


def show(error: Any) -> None:  # Any: an exception whose type Typer does not export
    """Prints an error as Typer does: usage, where help is, and what is wrong."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None:
        with translated_forms():
            usage = context.get_usage()
        if message.startswith(usage):  # a command without its arguments: the message is its help
            sys.stderr.write(f"{message}\n")
            return
        command = f"{context.command_path} {context.help_option_names[0]}"
        hint = _("Try '{command}' for help.", command=command)
        sys.stderr.write(f"{usage}\n{hint}\n\n")
    known = as_message(message)
    shown = translate(known) if isinstance(known, Text) else printable(known, "\n")
    sys.stderr.write(f"{_('Error: {message}', message=shown)}\n")
