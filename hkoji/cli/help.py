"""Puts what Typer writes, the help of the commands and its errors, into the language in use.

The help is written in English where a command is declared: docstrings, `help=`, `epilog=`. This module translates it in
the commands that Typer makes of that. `scripts/build/catalogues.py` finds the messages of the help with this module, so
they need no marks. Typer passes some of its own texts to gettext. For its errors this module has templates, and
recognizes a message by them. Tests provoke every error that the commands can have.
"""

from __future__ import annotations

import contextlib
import gettext
import os
import re
import string
import sys
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Final, NamedTuple

import typer

from hkoji.cli.language import _, current, translate
from hkoji.manual.catalogues import DOMAIN, LOCALE
from hkoji.messages.text import ENGLISH, Text, printable, quoted, tell

TYPER: Final = (
    tell("Arguments"),
    tell("Options"),
    tell("Commands"),
    tell("required"),
    tell("default: {default}", default=""),
)
"""The texts of the help that Typer passes to gettext, listed here to be in the catalogues."""

_ATTRIBUTES: Final = ("help", "epilog", "metavar", "options_metavar", "subcommand_metavar")
"""The attributes of commands and parameters that hold words of the help."""

_COMMANDS: Final = ("hkoji ", "printf ")


class HelpText(NamedTuple):
    """A text of the help, with the command or parameter and the attribute that hold it."""

    holder: Any  # Any: Typer does not export these types
    attribute: str
    message: Text


def parts(command: Any, parent: typer.Context | None = None) -> Iterator[Any]:  # Any: likewise
    """Yields a command with its parameters, and likewise those below it."""
    context = typer.Context(command, parent=parent, **command.context_settings)  # without it `--help` is left out
    yield command
    yield from command.get_params(context)
    for each in getattr(command, "commands", {}).values():
        yield from parts(each, context)


def find(root: Any) -> Iterator[HelpText]:  # Any: likewise
    """Yields all texts of a program's help, which have to be in English."""
    for holder in parts(root):
        for attribute in _ATTRIBUTES:
            if written := getattr(holder, attribute, None):
                yield HelpText(holder, attribute, _examples(written) if attribute == "epilog" else quoted(written))


def _examples(epilog: str) -> Text:
    """Returns an epilog as a message. If it consists of commands, they are a value, which is not translated."""
    word, _colon, commands = epilog.partition(": ")
    if all(command.startswith(_COMMANDS) for command in commands.split("; ")):
        if word == "Example":
            return tell("Example: {command}", command=commands)
        if word == "Examples":
            return tell("Examples: {commands}", commands=commands)
    return quoted(epilog)


def translate_help(root: Any) -> None:  # Any: as above
    """Puts a program's help into the language in use."""
    if current() == ENGLISH:
        return
    for words in find(root):
        setattr(words.holder, words.attribute, translate(words.message))
    for each in parts(root):
        if hasattr(each, "format_usage"):
            each.format_usage = partial(_format_usage, each)


def _format_usage(command: Any, context: typer.Context, formatter: Any) -> None:  # Any: as above
    """Writes the usage of a command. Typer has its title in English only."""
    usage = " ".join(command.collect_usage_pieces(context))
    formatter.write_usage(context.command_path, usage, f"{translate(tell('Usage'))}: ")


@contextlib.contextmanager
def translated_words() -> Iterator[None]:
    """Lets gettext give Typer its words in the language in use for the time of the block."""
    if current() == ENGLISH:
        yield
        return
    before = os.environ.get("LANGUAGE")
    gettext.bindtextdomain(DOMAIN, str(LOCALE))
    domain = gettext.textdomain()
    try:
        # Typer asks gettext without naming a language; gettext then reads it from LANGUAGE.
        gettext.textdomain(DOMAIN)
        os.environ["LANGUAGE"] = current()
        yield
    finally:
        gettext.textdomain(domain)
        if before is None:
            del os.environ["LANGUAGE"]
        else:
            os.environ["LANGUAGE"] = before


# --- errors -----------------------------------------------------------------------------------------------------------


_REASONS: Final = {
    "Input should be a valid integer, unable to parse string as an integer": tell("it has to be a whole number"),
    "Input should be a valid number, unable to parse string as a number": tell("it has to be a number"),
    "Unable to parse input string as an integer, exceeded maximum size": tell("the number has too many digits"),
    "Input should be greater than or equal to {least}": tell("it has to be {least} or more", least=""),
    "Input should be less than or equal to {most}": tell("it has to be {most} or less", most=""),
}
"""Typer passes on these reasons of the library that checks values. They are said in words that a player knows."""

ERRORS: Final = (
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
    forms = (*_REASONS.items(), *((form.template, form) for form in ERRORS))
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


def show_usage_error(error: Any) -> None:  # Any: an exception whose type Typer does not export
    """Prints an error as Typer does: usage, where help is, and what is wrong."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None:
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
