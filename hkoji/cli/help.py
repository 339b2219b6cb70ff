"""Puts what Typer writes, the help of the commands and its errors, into the language in use.

The help is written in English where a command is declared: docstrings, `help=`, `epilog=`. This module finds it in the
Typer program and translates it before it is shown. `scripts/build/catalogues.py` finds the messages of the help with
this module, so they need no marks. Typer passes some of its own texts to gettext; a formatter of ours translates the
others. For its errors this module has templates, and recognizes a message by them. Tests provoke every error that the
commands can have.
"""

from __future__ import annotations

import contextlib
import gettext
import inspect
import os
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo, OptionInfo

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

_ARGUMENTS: Final = (tell("[OPTIONS]"), tell("COMMAND [ARGS]..."))
"""Typer's words for the arguments of a command."""
_OPTIONS: Final = (
    tell("Show this message and exit."),
    tell("Install completion for the current shell."),
    tell("Show completion for the current shell, to copy it or customize the installation."),
)
"""Typer's words about its own options."""


_COMMANDS: Final = ("hkoji ", "printf ")


class HelpText(NamedTuple):
    """A text of the help, with the record and attribute that hold it."""

    holder: Any  # Any: one of Typer's records, all of which hold their words in attributes
    attribute: str
    message: Text


_known: Final[dict[tuple[int, str], HelpText]] = {}


@cache
def find(app: typer.Typer) -> tuple[HelpText, ...]:
    """Returns all texts of a program's help. They are searched once.

    Programs share records. One that is being translated already is known from then, when it was in English.
    """
    return tuple(_known.setdefault((id(each.holder), each.attribute), each) for each in _find(app))


@contextlib.contextmanager
def translated_help(app: typer.Typer) -> Iterator[None]:
    """Puts a program's help into the language in use for the time of the block."""
    if current() == ENGLISH:
        yield
        return
    found, before = find(app), os.environ.get("LANGUAGE")
    for words in found:
        setattr(words.holder, words.attribute, translate(words.message))
    gettext.bindtextdomain(DOMAIN, str(LOCALE))
    domain = gettext.textdomain()
    try:
        # Typer asks gettext without naming a language; gettext then reads it from LANGUAGE.
        gettext.textdomain(DOMAIN)
        os.environ["LANGUAGE"] = current()
        with translated_forms():
            yield
    finally:
        gettext.textdomain(domain)
        if before is None:
            del os.environ["LANGUAGE"]
        else:
            os.environ["LANGUAGE"] = before
        for words in found:
            setattr(words.holder, words.attribute, str(words.message))


@contextlib.contextmanager
def translated_forms() -> Iterator[None]:
    """Lets Typer write usage and help with a formatter that translates what Typer does not pass to gettext."""
    context = TyperCommand.context_class
    usual = context.formatter_class
    own: Final = {str(each): translate(each) for each in _OPTIONS}

    class TranslatedFormatter(usual):  # type: ignore[misc, valid-type] # a class that Typer does not export
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            for each in _ARGUMENTS:
                args = args.replace(each, translate(each))
            super().write_usage(prog, args, f"{translate(tell('Usage'))}: " if prefix is None else prefix)

        def write_dl(self, rows: Sequence[tuple[str, str]], *widths: int, **named: int) -> None:
            shown = [(first, own.get(text, text)) for first, text in rows]
            super().write_dl(shown, *widths, **named)

    context.formatter_class = TranslatedFormatter
    try:
        yield
    finally:
        context.formatter_class = usual


def _find(app: typer.Typer) -> Iterator[HelpText]:
    yield from _of(app.info, None)
    if app.registered_callback is not None:
        yield from _of(app.registered_callback, app.registered_callback.callback)
    for command in app.registered_commands:
        yield from _of(command, command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _find(group.typer_instance)


def _examples(epilog: str) -> Text:
    """Returns an epilog as a message. If it consists of commands, they are a value, which is not translated."""
    word, _colon, commands = epilog.partition(": ")
    if all(command.startswith(_COMMANDS) for command in commands.split("; ")):
        if word == "Example":
            return tell("Example: {command}", command=commands)
        if word == "Examples":
            return tell("Examples: {commands}", commands=commands)
    return quoted(epilog)


def _of(info: Any, callback: Callable[..., Any] | None) -> Iterator[HelpText]:  # Any: as above
    """Yields the help of one command or group, and of its parameters."""
    help_, epilog = getattr(info, "help", None), getattr(info, "epilog", None)
    if isinstance(help_, str) and help_:
        yield HelpText(info, "help", quoted(help_))
    elif callback is not None and callback.__doc__:
        yield HelpText(info, "help", quoted(inspect.cleandoc(callback.__doc__)))
    if isinstance(epilog, str) and epilog:
        yield HelpText(info, "epilog", _examples(epilog))
    if callback is None:
        return
    # Stored, so that Typer uses these very records instead of evaluating the annotations again.
    callback.__annotations__ = hints = get_type_hints(callback, include_extras=True)
    for hint in hints.values():
        for parameter in getattr(hint, "__metadata__", ()):
            if isinstance(parameter, OptionInfo | ArgumentInfo):
                for attribute in ("help", "metavar"):
                    if written := getattr(parameter, attribute):
                        yield HelpText(parameter, attribute, quoted(written))


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
