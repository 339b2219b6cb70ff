"""Declares the commands of `hkoji admin mail` that are about one mailbox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli.commands.arguments import Data, Database, Json, Yes
from hkoji.cli.output import out

mailboxes = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the player.", show_default=False)]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="The settings file of the service (TOML).", show_default=False),
]


@mailboxes.command(epilog="Example: hkoji admin mail add bob bob@example.org --config /etc/hkoji/service.toml")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to play under.", show_default=False)],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The mailbox.", show_default=False)],
    data: Data = None,
    database: Database = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Invite somebody to play by mail, by a letter in the language of this command.

    The name is reserved for 30 days. Works for every kind of registration.
    """
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.add(out, name, address, data, database, config)


@mailboxes.command(epilog="Example: hkoji admin mail move bob bob@example.net --config /etc/hkoji/service.toml")
def move(
    name: Name,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The new mailbox.", show_default=False)],
    data: Data = None,
    database: Database = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Change the mailbox of a player, once the answer yes comes from the new one.

    The old one gets one more letter, which says so. In running games mails from the new one are known by their secret
    address only, whatever the provider signs, since the log names the old one there.
    """
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.move(out, name, address, data, database, config)


@mailboxes.command(epilog="Example: hkoji admin mail show bob --data /var/lib/hkoji")
def show(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Show the mailbox of a player: address, state, language."""
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.show(out, name, data, database)


@mailboxes.command(epilog="Example: hkoji admin mail lock bob --data /var/lib/hkoji")
def lock(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Lock a mailbox: its letters end, and its mails order nothing. The clocks of its games go on."""
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.lock(out, name, data, database)


@mailboxes.command(epilog="Example: hkoji admin mail unlock bob --data /var/lib/hkoji")
def unlock(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Unlock a mailbox that you or its owner has locked."""
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.unlock(out, name, data, database)


@mailboxes.command(epilog="Example: hkoji admin mail erase bob --data /var/lib/hkoji")
def erase(name: Name, data: Data = None, database: Database = None, yes: Yes = False, json: Json = False) -> None:
    """Erase a mailbox: the address, all mails, and what they prove.

    The name and the logs stay. The player gets no more letters, so decide first what becomes of running games.
    """
    from hkoji.cli.service import mailboxes

    out.json = json
    mailboxes.erase(out, name, data, database, yes=yes)


@mailboxes.command(epilog="Example: hkoji admin mail evidence ID bob --data /var/lib/hkoji > bob.mails")
def evidence(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The id of the game.", show_default=False)],
    name: Name,
    data: Data = None,
    database: Database = None,
) -> None:
    """Print the mails of a player in a game, with all that proves them, for `hkoji audit --mails`.

    They are personal data, and show cards: give them to that player only. After the mailbox was erased there are none.
    """
    from hkoji.cli.service import mailboxes

    mailboxes.evidence(out, game, name, data, database)
