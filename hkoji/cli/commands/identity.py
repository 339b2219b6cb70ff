"""Declares the commands of the group "Identity and settings"."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Json, KeyFile, Origin, Server, Yes, client
from hkoji.cli.output import out

commands = typer.Typer()


@commands.command(epilog="Example: hkoji init alice --key ~/.ssh/id_ed25519")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name as a player.", show_default=False)],
    key: KeyFile = None,
    json: Json = False,
) -> None:
    """Create your identity: a name and a key, kept in HKOJI_HOME."""
    from hkoji.cli.player import identity

    out.json = json
    identity.init(out, name, key)


@commands.command(epilog="Example: hkoji register --server https://hanamikoji.example")
def register(
    server: Server,
    origin: Origin = None,
    code: Annotated[
        str | None,
        typer.Option(
            "--code", help="The code from the operator, if one is needed; - to ask for it.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Register at a service, which becomes your default.

    If the service states another origin than the address you give, you must confirm it: a terminal asks you, and
    elsewhere you give --origin. Ask the operator first.
    """
    from hkoji.cli.player import identity

    out.json = json
    identity.register(client(), out, server, origin, code)


@commands.command()
def whoami(json: Json = False) -> None:
    """Print your name, key and service."""
    from hkoji.cli.player import identity

    out.json = json
    identity.whoami(client(), out)


@commands.command(epilog="Examples: hkoji key > alice.pub; hkoji audit 2714 --key alice=alice.pub")
def key(json: Json = False) -> None:
    """Print your public key, to give to others."""
    from hkoji.cli.player import keys

    out.json = json
    keys.key(client(), out)


@commands.command(epilog="Examples: hkoji rekey; hkoji rekey --key ~/.ssh/id_ed25519")
def rekey(key: KeyFile = None, json: Json = False) -> None:
    """Replace your key; the old key signs the change.

    Games in progress follow, each on your turn. If the command was interrupted, run it again. --key also takes up a
    key that you have changed or recovered on another machine.
    """
    from hkoji.cli.player import keys

    out.json = json
    keys.rekey(client(), out, key)


@commands.command(
    epilog="Examples: hkoji revoke; hkoji revoke --prepare > revocation.json; hkoji revoke revocation.json"
)
def revoke(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A revocation prepared earlier; - for standard input.", show_default=False),
    ] = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="Print the revocation and send nothing.")] = False,
    fingerprint: Annotated[
        str | None,
        typer.Option("--fingerprint", help="An earlier key of yours, as in hkoji whoami.", show_default=False),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Revoke your key, for example because it was stolen.

    Only the operator of your service can then give you another: see hkoji recover. A revocation made with --prepare
    and kept elsewhere can be sent from any machine, without the key.
    """
    from hkoji.cli.player import keys

    out.json = json
    keys.revoke(client(), out, keys.RevokeOptions(file, prepare, fingerprint, yes))


@commands.command(epilog="Example: hkoji recover alice --server https://hanamikoji.example --yes < code.txt")
def recover(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name as a player.", show_default=False)],
    server: Server,
    origin: Origin = None,
    key: KeyFile = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Get your name back with a new key, after a revocation.

    The operator of the service gives you a code, which is read from standard input.
    """
    from hkoji.cli.player import keys

    out.json = json
    keys.recover(client(), out, name, keys.RecoverOptions(server, origin, key, yes))


@commands.command(epilog="Example: hkoji trust alice SHA256:…")
def trust(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The player.", show_default=False, autocompletion=completion.players)
    ],
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A fingerprint, a key as text, or a .pub file.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Accept a key as the current key of a player.

    First compare it with the player, by another channel than the service.
    """
    from hkoji.cli.player import keys

    out.json = json
    keys.trust(client(), out, name, key)


@commands.command(epilog="Examples: hkoji config; hkoji config lang it; hkoji config deck --unset")
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="SETTING",
            help="lang or deck; default: show all.",
            show_default=False,
            autocompletion=completion.setting_names,
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE", help="The value to keep.", show_default=False, autocompletion=completion.setting_values
        ),
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the setting.")] = False,
    json: Json = False,
) -> None:
    """Show the settings, or change one."""
    from hkoji.cli.player import config

    out.json = json
    config.run(out, key, value, unset=unset)


@commands.command(epilog="Examples: hkoji doctor; hkoji doctor --data /var/lib/hkoji --backups /var/backups/hkoji")
def doctor(
    data: Annotated[
        Path | None, typer.Option("--data", help="Check the service in this folder.", show_default=False)
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", help="Check the service on this database.", show_default=False),
    ] = None,
    backups: Annotated[
        Path | None, typer.Option("--backups", help="The folder of its backups.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Check your files, key, pins, service and clock.

    With --data or --database, check a service that you operate. Each line is ok, warn or fail, and names the next
    step. Exit code 1 if a check failed. Nothing is changed.
    """
    from hkoji.cli.player import doctor

    out.json = json
    raise typer.Exit(doctor.run(out, data, database, backups))


@commands.command("help", epilog="Examples: hkoji help move; hkoji help bot run")
def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="A command; default: list all.", autocompletion=completion.commands),
    ] = None,
) -> None:
    """Explain a command, as COMMAND --help does."""
    raise typer.Exit(context.obj([*(command or ()), "--help"]))
