"""The program's root: its help, and the groups of commands put together."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji import __version__
from hkoji.cli.commands import bots, games, host, identity, play, study

app = typer.Typer(
    name="hkoji",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Hanamikoji and Geisha's Road by correspondence: signed games that anyone can check.",
    epilog="Begin with: hkoji play. With others: hkoji init NAME, then hkoji register --server URL, "
    "then hkoji new or hkoji join GAME.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hkoji {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    # Taken out of every command line before it comes here: they stand here to be seen in the help.
    _lang: Annotated[
        str | None, typer.Option("--lang", help="Language: en or it. In any command, at any place.", show_default=False)
    ] = None,
    _deck: Annotated[
        str | None,
        typer.Option("--deck", help="How cards are named: standard or everdeck. The same.", show_default=False),
    ] = None,
) -> None:
    return


for _group in (play, identity, games, study, bots, host):
    app.add_typer(_group.commands)
