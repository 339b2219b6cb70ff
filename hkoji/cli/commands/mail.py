"""Declares `hkoji mail`: answering by mail, for a player with a key of their own."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Json, client
from hkoji.cli.output import out

mail = typer.Typer(help="Answer by mail too, for example from a phone.", no_args_is_help=True)


@mail.command(epilog="Examples: hkoji mail on alice@mail.example; hkoji mail on alice@mail.example --require dkim")
def on(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Your mailbox.", show_default=False)],
    require: Annotated[
        str,
        typer.Option(
            "--require",
            help="What mails need: token, the secret address of a letter; or dkim, also your provider's signature.",
            autocompletion=completion.one_of("token", "dkim"),
        ),
    ] = "token",
    json: Json = False,
) -> None:
    """Let the service sign moves that you send by mail.

    You get a letter, and answer yes to it. Then your key allows it by itself in each game: in new ones at the
    beginning, in running ones when you look at them on your next turn.
    """
    from hkoji.cli.player import mail

    out.json = json
    mail.on(client(), out, address, require)


@mail.command()
def off(json: Json = False) -> None:
    """End orders by mail.

    The service takes none from now on. In each game your key ends it when you look at it on your next turn. Letters go
    on; to end them too, remove the channel: see hkoji notify list.
    """
    from hkoji.cli.player import mail

    out.json = json
    mail.off(client(), out)


@mail.command()
def show(json: Json = False) -> None:
    """Show your mailbox, and the games in which your mails count."""
    from hkoji.cli.player import mail

    out.json = json
    mail.show(client(), out)
