"""What the commands share: arguments and options that mean the same everywhere, and the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hkoji.client import Client

MOVES = {"ignore_unknown_options": True}  # a move may begin with a dash: -C, -BD

Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print sentences, for screen readers.")]
Game = Annotated[str, typer.Argument(metavar="GAME", help="The game's id, or its first digits.", show_default=False)]
Notation = Annotated[
    list[str], typer.Argument(metavar="NOTATION", help="A move: 3BCC, -C, 1e, gift b c c …", show_default=False)
]
Source = Annotated[
    str, typer.Argument(metavar="FILE|GAME", help="A log file, - for standard input, or a game.", show_default=False)
]


def client() -> Client:
    """The client of this process."""
    from hkoji.cli.output import client as shared

    return shared()
