"""The help of the commands in the language in use.

Commands are written with their help in English: docstrings, `help=`, `epilog=`. Here they are found in the program
itself, and put into another language before it is shown; so nothing needs a mark, and the catalogues get their
messages from the same place. Typer's own words follow as far as it asks gettext for them.
"""

from __future__ import annotations

import contextlib
import gettext
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from hkoji.cli import language
from hkoji.manual.catalogues import DOMAIN, LOCALE
from hkoji.messages.language import ENGLISH
from hkoji.messages.text import Text, quoted, tell

TYPER: Final = (
    tell("Arguments"),
    tell("Options"),
    tell("Commands"),
    tell("required"),
    tell("Missing command."),
    tell("No such command {name!r}.", name=""),
    tell("default: {default}", default=""),
)
"""What Typer asks gettext for, to have it in the catalogues."""


_COMMANDS: Final = ("hkoji ", "printf ")


class HelpText(NamedTuple):
    """Some help: where it stands, and what it says."""

    holder: Any  # Any: one of Typer's records, all of which hold their words in attributes
    attribute: str
    message: Text


_found: list[HelpText] = []


def find(app: typer.Typer) -> tuple[HelpText, ...]:
    """All help of a program, found once."""
    if not _found:
        _found.extend(_find(app))
    return tuple(_found)


@contextlib.contextmanager
def spoken(app: typer.Typer) -> Iterator[None]:
    """While a program runs, its help is in the language in use."""
    if language.current() == ENGLISH:
        yield
        return
    found, before = find(app), os.environ.get("LANGUAGE")
    for words in found:
        setattr(words.holder, words.attribute, language.translate(words.message))
    gettext.bindtextdomain(DOMAIN, str(LOCALE))
    domain = gettext.textdomain()
    try:
        # Typer asks gettext without saying for which language.
        gettext.textdomain(DOMAIN)
        os.environ["LANGUAGE"] = language.current()
        yield
    finally:
        gettext.textdomain(domain)
        if before is None:
            del os.environ["LANGUAGE"]
        else:
            os.environ["LANGUAGE"] = before
        for words in found:
            setattr(words.holder, words.attribute, str(words.message))


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
    """An epilog. Commands alone are the same in every language."""
    word, _, commands = epilog.partition(": ")
    if all(command.startswith(_COMMANDS) for command in commands.split("; ")):
        if word == "Example":
            return tell("Example: {command}", command=commands)
        if word == "Examples":
            return tell("Examples: {commands}", commands=commands)
    return quoted(epilog)


def _of(info: Any, callback: Callable[..., Any] | None) -> Iterator[HelpText]:  # Any: as above
    """The help of one command or group, and of its parameters."""
    help_, epilog = getattr(info, "help", None), getattr(info, "epilog", None)
    if isinstance(help_, str) and help_:
        yield HelpText(info, "help", quoted(help_))
    elif callback is not None and callback.__doc__:
        yield HelpText(info, "help", quoted(inspect.cleandoc(callback.__doc__)))
    if isinstance(epilog, str) and epilog:
        yield HelpText(info, "epilog", _examples(epilog))
    if callback is None:
        return
    # Kept, or Typer would read the annotations again and find other records than these.
    callback.__annotations__ = hints = get_type_hints(callback, include_extras=True)
    for hint in hints.values():
        for parameter in getattr(hint, "__metadata__", ()):
            if isinstance(parameter, OptionInfo | ArgumentInfo) and parameter.help:
                yield HelpText(parameter, "help", quoted(parameter.help))
