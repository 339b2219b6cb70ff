"""Keys: another one, none any more, one again; and whose key is whose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli.commands.arguments import Json, client
from hkoji.cli.output import out

commands = typer.Typer()

Key = Annotated[
    Path | None,
    typer.Option("--key", help="An Ed25519 SSH key (a .pub file for one in ssh-agent); default: a new one."),
]


@commands.command(
    epilog="Examples: hkoji rekey; hkoji rekey --key ~/.ssh/id_ed25519; hkoji rekey again, if it broke off"
)
def rekey(key: Key = None, json: Json = False) -> None:
    """Play with another key from now on; the one you have signs for it. Running games follow, each on your turn."""
    from hkoji.cli.player import keys

    out.json = json
    keys.rekey(client(), out, key)


@commands.command(
    epilog="Examples: hkoji revoke; hkoji revoke --prepare > revocation.json, to be kept elsewhere; "
    "hkoji revoke revocation.json, from any machine"
)
def revoke(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A revocation made earlier; - for standard input.", show_default=False),
    ] = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="Print the revocation and send nothing.")] = False,
    fingerprint: Annotated[
        str | None,
        typer.Option("--fingerprint", help="An earlier key of yours, as in hkoji whoami.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first. Without a terminal nothing is asked.")] = False,
    json: Json = False,
) -> None:
    """Make a stolen key worthless at your service. Only its host can then give you another: hkoji recover."""
    from hkoji.cli.player import keys

    out.json = json
    keys.revoke(client(), out, keys.KeyOptions(file, prepare, fingerprint, yes))


@commands.command(epilog="Example: hkoji recover alice --server https://hanamikoji.example < code.txt")
def recover(
    name: Annotated[str, typer.Argument(help="Your name as a player.", show_default=False)],
    server: Annotated[str, typer.Option("--server", help="The service's address.", show_default=False)],
    key: Key = None,
    json: Json = False,
) -> None:
    """Get your name back with a new key: the host of the service has given you a code, read from standard input."""
    from hkoji.cli.player import keys

    out.json = json
    keys.recover(client(), out, name, server, key)


@commands.command(epilog="Example: hkoji trust alice SHA256:…, when alice has told you so herself")
def trust(
    name: Annotated[str, typer.Argument(help="The player.", show_default=False)],
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A fingerprint, a key as text, or a .pub file.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Believe that a player has this key now. Compare it with them first, by another way than the service."""
    from hkoji.cli.player import keys

    out.json = json
    keys.trust(client(), out, name, key)
