"""Declares `hkoji admin mail`: the commands by which an operator lets people play by mail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Data, Database, Json
from hkoji.cli.commands.host_mailboxes import mailboxes
from hkoji.cli.output import out

mail = typer.Typer(help="Let people play by mail.", no_args_is_help=True)
mail.registered_commands += mailboxes.registered_commands

Config = Annotated[
    Path | None,
    typer.Option("--config", help="A settings file (TOML). Options given here override it.", show_default=False),
]


@mail.command(epilog="Example: hkoji admin mail run --config /etc/hkoji/service.toml")
def run(
    data: Data = None,
    database: Database = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            help="debug, info (a line per mail), warning or error [warning].",
            show_default=False,
            autocompletion=completion.one_of("debug", "info", "warning", "error"),
        ),
    ] = None,
    config: Config = None,
) -> None:
    """Take mail, process it, and send letters, beside `hkoji serve`.

    It works on the same database. Its settings, such as mail and mail_smtp, are in docs/cli.md.
    """
    from hkoji.cli.service import admin_mail

    admin_mail.run(data, database, config, log_level)


@mail.command(epilog="Example: hkoji admin mail receive --recipient play+TOKEN@hkoji.example < message")
def receive(
    recipient: Annotated[
        str, typer.Option("--recipient", metavar="ADDRESS", help="The mail's recipient.", show_default=False)
    ],
    sender: Annotated[
        str | None,
        typer.Option(
            "--sender", metavar="ADDRESS", help="The envelope's sender, empty for a bounce.", show_default=False
        ),
    ] = None,
    data: Data = None,
    database: Database = None,
    config: Config = None,
) -> None:
    """Take one mail from standard input, for a mail server's pipe.

    Exit code 0 when it is kept or needs no answer, 75 to try again, 67 if the recipient is not of this service.
    """
    from hkoji.cli.service import admin_mail

    raise typer.Exit(admin_mail.receive(out, recipient, sender, data, database, config))


@mail.command(epilog="Example: hkoji admin mail queue --data /var/lib/hkoji --json")
def queue(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Show what waits: mails to be processed, letters to be sent."""
    from hkoji.cli.service import admin_mail

    out.json = json
    admin_mail.queue(out, data, database)
