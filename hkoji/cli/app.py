"""The root of the program: its own options, and the commands in the groups in which `hkoji --help` lists them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from hkoji import __version__
from hkoji.cli import completion
from hkoji.cli.help import as_message, parts, translate_help, translated_words
from hkoji.cli.language import current, translate
from hkoji.errors import UsageError
from hkoji.messages.text import Text, tell

NAME: Final = "hkoji"


_GROUPS: Final = (
    (tell("Play"), ("play",)),
    (tell("Your games"), ("games", "one_game")),
    (tell("Identity and settings"), ("identity",)),
    (tell("Check and study"), ("study",)),
    (tell("Host a service"), ("host",)),
)
"""The titles of the groups in the help, each with the modules that declare its commands."""


@cache
def _group(title: Text, modules: tuple[str, ...]) -> typer.Typer:
    """Returns one group of the commands that several modules declare, in their order, with its title in the help."""
    made = typer.Typer()
    for module in modules:
        part = import_module(f"hkoji.cli.commands.{module}").commands
        made.registered_commands += part.registered_commands
        made.registered_groups += part.registered_groups
    for command in made.registered_commands:
        command.rich_help_panel = title
    for group in made.registered_groups:
        group.rich_help_panel = title
    return made


def groups() -> Iterator[tuple[Text, typer.Typer]]:
    """Yields the groups of commands, each with its title in the help. A module is loaded when its group comes."""
    return ((title, _group(title, modules)) for title, modules in _GROUPS)


class GroupedCommands(TyperGroup):
    """The root command, whose help lists the commands under the titles that they carry as their help panel.

    Typer itself shows help panels only with Rich, which this program does not load.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # Any: Typer does not export these two types
        """Writes a section for each title, with one column for the names of all commands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)  # Any: likewise
            row = (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
            sections.setdefault(translate(command.rich_help_panel), []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"hkoji {__version__}\n")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    # `settings.split_options` removes these two from every command line before Typer sees it; the help needs them here.
    _lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            help="The language: en or it. Allowed anywhere in any command.",
            autocompletion=completion.languages,
        ),
    ] = None,
    _deck: Annotated[
        str | None,
        typer.Option(
            "--deck",
            help="The names of the cards: standard or everdeck. Allowed anywhere.",
            autocompletion=completion.decks,
        ),
    ] = None,
) -> None:
    return


def _program(groups: Sequence[typer.Typer]) -> typer.Typer:
    made = typer.Typer(
        name=NAME,
        cls=GroupedCommands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Hanamikoji and Geisha's Road by correspondence: signed games that anyone can check.",
        epilog="To begin: hkoji play. To play with others: hkoji init NAME, then hkoji register --server URL, "
        "then hkoji new or hkoji join GAME.",
    )
    made.callback()(_root)
    for group in groups:
        made.add_typer(group)
    return made


@cache
def whole() -> typer.Typer:
    """Returns the whole program."""
    return _program([group for _, group in groups()])


# --- running ----------------------------------------------------------------------------------------------------------


def run(words: Sequence[str], again: Callable[[Sequence[str]], int | None]) -> int | None:
    """Runs a command line and returns its exit code. Raises `UsageError` from Typer's, and what the command raises.

    A command that runs others does so by `again`.
    """
    word = words[0] if words else ""
    with translated_words():
        root = _root_command(word, current())
        try:
            # Typer's `main` would print an empty line at Ctrl-C.
            with root.make_context(NAME, list(words), obj=again) as context:
                code: int | None = root.invoke(context)
        except typer.Exit as left:
            return left.exit_code
        except EOFError as error:
            raise KeyboardInterrupt from error
        except TyperException as error:
            message = as_message(error.format_message())
            raise UsageError(message, hint=tell("see `hkoji COMMAND --help`")) from error
    return code


def complete(words: Sequence[str]) -> None:
    """Prints what a shell asks for in the environment, for a line that begins with `words`, and exits."""
    word = words[0] if words else ""
    root = root_command(whole() if word == "help" else program_for(word))
    anywhere = [each for each in root.params if each.name in ("_lang", "_deck")]
    for command in [each for each in parts(root) if hasattr(each, "params") and each is not root]:
        command.params.extend(anywhere)
        command.short_help = command.get_short_help_str(100)  # otherwise Typer cuts it
    root.main([], prog_name=NAME)


@cache
def _root_command(word: str, _language: str) -> Any:  # Any: Typer does not export the type of commands
    return root_command(program_for(word))


@cache
def program_for(word: str) -> typer.Typer:
    """Returns the program with no command but the one that a command line begins with; the whole if it names none.

    Building the whole takes Typer 20 times as long.
    """
    for _, group in groups():
        found = typer.Typer()
        found.registered_commands = [each for each in group.registered_commands if _name(each) == word]
        found.registered_groups = [each for each in group.registered_groups if each.name == word]
        if found.registered_commands or found.registered_groups:
            return _program([found])
    return whole()


def _name(command: Any) -> str:  # Any: Typer's record of a command
    return str(command.name or command.callback.__name__)


def root_command(program: typer.Typer) -> Any:  # Any: Typer does not export the type of commands
    """Returns the command of a program, in the language in use, which converts plain values itself.

    Typer loads pydantic to convert any value, even one that is not given, and so takes three times as long to start.
    """
    root: Any = typer.main.get_command(program)  # Any: likewise
    for each in parts(root):
        if hasattr(each, "process_value"):
            each.process_value = partial(_process, each, each.process_value)
    translate_help(root)
    return root


_INTEGER: Final = re.compile("0|-?[1-9][0-9]{0,8}")
_UNKNOWN: Final = object()


def _process(parameter: Any, by_typer: Any, context: Any, value: Any) -> Any:  # Any: Typer's types, and any values
    """Returns what Typer's conversion and the parameter's callback make of a value."""
    if value is None and context.resilient_parsing:
        return None  # for completion nothing is required yet
    plain = _plain(parameter, value)
    if plain is _UNKNOWN:
        return by_typer(context, value)
    return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def _plain(parameter: Any, value: Any) -> Any:  # Any: as above
    """Returns a value that is absent, a text, a path or a small integer as its parameter declares it.

    For a value that needs more than that, such as an error, it returns `_UNKNOWN`.
    """
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    if value is None and not parameter.required:
        return () if several else None
    declared = parameter.type_descriptor.annotation
    if declared is str and isinstance(value, str):
        return value
    if declared is Path and isinstance(value, str) and "\0" not in value:
        return Path(value) if os.access(value, os.R_OK) or not os.path.lexists(value) else _UNKNOWN
    if declared == list[str] and value and isinstance(value, list | tuple):
        return list(value)
    if declared is int and type(value) in (int, str) and _INTEGER.fullmatch(str(value)):
        number, least, most = int(value), parameter.min, parameter.max
        if (least is None or least <= number) and (most is None or number <= most):
            return number
    return _UNKNOWN
