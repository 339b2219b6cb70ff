"""The root of the program: its own options, and the commands in the groups in which `hkoji --help` lists them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from hkoji import __version__
from hkoji.cli.commands import games, host, identity, play, study
from hkoji.cli.language import translate
from hkoji.messages.text import Text, tell

GROUPS: Final[tuple[tuple[Text, typer.Typer], ...]] = (
    (tell("Play"), play.commands),
    (tell("Your games"), games.commands),
    (tell("Identity and settings"), identity.commands),
    (tell("Check and study"), study.commands),
    (tell("Host a service"), host.commands),
)
"""The groups of commands, each with its title in the help."""


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


app = typer.Typer(
    name="hkoji",
    cls=GroupedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Hanamikoji and Geisha's Road by correspondence: signed games that anyone can check.",
    epilog="To begin: hkoji play. To play with others: hkoji init NAME, then hkoji register --server URL, "
    "then hkoji new or hkoji join GAME.",
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"hkoji {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    # `settings.split_options` removes these two from every command line before Typer sees it; the help needs them here.
    _lang: Annotated[
        str | None,
        typer.Option("--lang", help="The language: en or it. Allowed anywhere in any command.", show_default=False),
    ] = None,
    _deck: Annotated[
        str | None,
        typer.Option(
            "--deck", help="The names of the cards: standard or everdeck. Allowed anywhere.", show_default=False
        ),
    ] = None,
) -> None:
    return


for _title, _commands in GROUPS:
    for _command in _commands.registered_commands:
        _command.rich_help_panel = _title
    for _group in _commands.registered_groups:
        _group.rich_help_panel = _title
    app.add_typer(_commands)
