"""Declares the commands of the group "Identity and settings"."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import EVENTS, Channel, Json, KeyFile, Origin, Server, Yes, client
from hkoji.cli.commands.mail import mail
from hkoji.cli.output import out

commands = typer.Typer()
notify = typer.Typer(help="Be told of your games elsewhere: by a webhook, or by mail.", no_args_is_help=True)


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
    move_games: Annotated[
        bool, typer.Option("--move-games", help="Move the games that you have at an earlier address of the service.")
    ] = False,
    json: Json = False,
) -> None:
    """Register at a service, which becomes your default.

    If the service states another origin than the address you give, you must confirm it: a terminal asks you, and
    elsewhere you give --origin. Ask the operator first.

    A game is bound to the address at which you opened or joined it. If the service has moved, register at its new
    address: a terminal asks whether to move your games there, and elsewhere you give --move-games. They are moved only
    if the service proves that it has the same key as before.
    """
    from hkoji.cli.player import identity

    out.json = json
    identity.register(client(), out, server, identity.RegisterOptions(origin, code, move_games))


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


@commands.command("keys", epilog="Example: hkoji keys --json")
def keys_(json: Json = False) -> None:
    """List the keys of others that you know, and how.

    A key is confirmed by you (hkoji trust), introduced by link, signed by an earlier key, or only seen first: then you
    rely on the service until you compare it.
    """
    from hkoji.cli.player import keys

    out.json = json
    keys.known(client(), out)


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


@commands.command(epilog="Example: hkoji recover alice --server https://hanamikoji.example < code.txt")
def recover(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name as a player.", show_default=False)],
    server: Server,
    origin: Origin = None,
    key: KeyFile = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Needed in a batch; elsewhere the code is confirmation enough.")
    ] = False,
    json: Json = False,
) -> None:
    """Get your name back with a new key, by a code.

    The code is read from standard input. After a revocation the operator of the service gives you one. If you play by
    mail, a letter brings one when you write own key, and this command revokes the key that the service holds for you.
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


commands.add_typer(mail, name="mail")
commands.add_typer(notify, name="notify")


@notify.command(
    epilog="Examples: hkoji notify add webhook https://example.org/hook --events turn,over; "
    "hkoji notify add webhook https://hooks.slack.com/services/… --format slack --quiet 22:00-07:00"
)
def add(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="How: webhook, or mail.",
            show_default=False,
            autocompletion=completion.one_of("webhook", "mail"),
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Where to: https, or a mailbox.", show_default=False)
    ],
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            help=f"What to be told of, with commas between: {', '.join(EVENTS)}; default: all.",
            show_default=False,
            autocompletion=completion.one_of(*EVENTS),
        ),
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option("--quiet", metavar="SPAN", help="Send nothing in these hours: 22:00-07:00.", show_default=False),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="TIMES", help="Send only at these times: 08:00,18:00.", show_default=False),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="The time zone of these times: +01:00; default: that of this machine, now.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What is posted: json (the default), or the text alone for slack or discord.",
            show_default=False,
            autocompletion=completion.one_of("json", "slack", "discord"),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add a channel: an address to which the service posts.

    The service sends a first notice there, with a code. It sends no other before you have typed the code with notify
    confirm; in a mailbox, before you have answered yes. To change a channel, remove it and add it again. To answer by
    mail too: hkoji mail on.
    """
    from hkoji.cli.player import notify

    out.json = json
    notify.add(client(), out, kind, target, notify.ChannelOptions(events, quiet, digest, zone, format_))


@notify.command(epilog="Example: hkoji notify confirm 5f0c9a1e k7wq2m9xpd")
def confirm(
    channel: Channel,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code of the first notice.", show_default=False)],
    json: Json = False,
) -> None:
    """Confirm a channel by the code of its first notice."""
    from hkoji.cli.player import notify

    out.json = json
    notify.confirm(client(), out, channel, code)


@notify.command("test", epilog="Example: hkoji notify test 5f0c9a1e")
def send_test(channel: Channel, json: Json = False) -> None:
    """Let the service send a test notice.

    A channel that the service has turned off, because notices could not be delivered, is on again if it arrives.
    """
    from hkoji.cli.player import notify

    out.json = json
    notify.test(client(), out, channel)


@notify.command(epilog="Example: hkoji notify remove 5f0c9a1e")
def remove(channel: Channel, json: Json = False) -> None:
    """Remove a channel."""
    from hkoji.cli.player import notify

    out.json = json
    notify.remove(client(), out, channel)


@notify.command("list")
def list_channels(json: Json = False) -> None:
    """List your channels."""
    from hkoji.cli.player import notify

    out.json = json
    notify.list_channels(client(), out)


@commands.command(epilog="Examples: hkoji config lang it; hkoji config always only; hkoji config invites known")
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="SETTING",
            help="lang, deck, always or invites; default: show all that are kept here.",
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
    """Show the settings, or change one.

    lang, deck and always are kept here. Your service keeps invites, which says whose invitations you accept: those of
    everyone, of known players (past opponents, and players whose keys you trust) or of nobody.
    """
    from hkoji.cli.player import config

    out.json = json
    if key == config.INVITES:
        config.invites(client(), out, value, unset=unset)
    else:
        config.run(out, key, value, unset=unset)


@commands.command(epilog="Examples: hkoji block mallory; hkoji block mallory --remove; hkoji block --list")
def block(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The player.", show_default=False, autocompletion=completion.players),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the block.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the players whom you have blocked.")] = False,
    json: Json = False,
) -> None:
    """Block a player: no invitations, joins or messages.

    Open invitations of this player are declined. Games in progress go on.
    """
    from hkoji.cli.player import block

    out.json = json
    block.run(client(), out, name, remove=remove, list_=list_)


@commands.command(epilog="Examples: hkoji doctor; hkoji doctor --mail --config /etc/hkoji/service.toml")
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
    mail: Annotated[
        bool, typer.Option("--mail", help="Check also how it plays by mail, by two mails to itself.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="Its settings file (TOML).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Check your files, key, pins, service and clock.

    With --data, --database or --config, check a service that you operate. Each line is ok, warn or fail, and names the
    next step. Exit code 1 if a check failed. Nothing is changed.
    """
    from hkoji.cli.player import doctor

    out.json = json
    raise typer.Exit(doctor.run(out, data, database, backups, config, mail=mail))


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
