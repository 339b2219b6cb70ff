"""Declares the commands of the group "Host a service": running and maintaining one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Data, Database, Json
from hkoji.cli.commands.host_mail import mail
from hkoji.cli.output import out
from hkoji.errors import UsageError
from hkoji.messages.text import tell

commands = typer.Typer()
admin = typer.Typer(help="Maintain a service: invite, revoke, back up, check.", no_args_is_help=True)


@commands.command(epilog="Example: hkoji serve --data ~/hkoji-data --port 8000 --workers auto")
def serve(
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder of the database; created if missing.", show_default=False)
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            help="A PostgreSQL database by its URL. Other users see it: put passwords into HKOJI_DATABASE.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on [127.0.0.1].", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="The port; 0 for any free one [8000].", show_default=False),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", help="Its address for players, as in https://my.example.", show_default=False),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option("--workers", help="Number of processes [1], or auto: one for each processor.", show_default=False),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            help="A proxy (address or network) trusted to report clients' addresses.",
            show_default=False,
        ),
    ] = None,
    registration: Annotated[
        str | None,
        typer.Option("--registration", help="Who may register: open, code or closed [open].", show_default=False),
    ] = None,
    max_body: Annotated[
        int | None, typer.Option("--max-body", help="The largest request in bytes [16384].", show_default=False)
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option("--max-connections", help="Most connections of a process [20000].", show_default=False),
    ] = None,
    limit_address: Annotated[
        str | None,
        typer.Option("--limit-address", help="The limit for one address [6000/minute], or off.", show_default=False),
    ] = None,
    limit_player: Annotated[
        str | None,
        typer.Option("--limit-player", help="The limit for one player [3000/minute], or off.", show_default=False),
    ] = None,
    request_timeout: Annotated[
        float | None,
        typer.Option("--request-timeout", help="Seconds to wait for a complete request [20].", show_default=False),
    ] = None,
    keep_alive: Annotated[
        int | None,
        typer.Option("--keep-alive", help="Seconds to keep a connection after an answer [30].", show_default=False),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", help="HOST:PORT for Prometheus metrics.", show_default=False),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            help="debug, info (a line per request), warning or error [warning].",
            show_default=False,
            autocompletion=completion.one_of("debug", "info", "warning", "error"),
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            "--log-format",
            help="json or text [json].",
            show_default=False,
            autocompletion=completion.one_of("json", "text"),
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="A settings file (TOML). Options given here override it.", show_default=False),
    ] = None,
) -> None:
    """Run a service, on SQLite or PostgreSQL.

    With SQLite it needs one folder. All settings are in docs/cli.md.
    """
    given = {name: value for name, value in locals().items() if name not in ("data", "host", "port")}
    given["trusted_proxy"] = trusted_proxy or None
    from hkoji.cli.service.serve import serve

    serve(data, host, port, **given)


commands.add_typer(admin, name="admin")
admin.add_typer(mail, name="mail")


@admin.command(epilog="Example: hkoji admin revoke alice --data ~/hkoji-data")
def revoke(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The player whose key is lost or stolen.", show_default=False)
    ],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Revoke all keys of a player and print the code for a new one.

    First make sure that the request comes from the player.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.revoke(out, name, data, database)


@admin.command(epilog="Example: hkoji admin invite --uses 12 --days 3 --data /var/lib/hkoji")
def invite(
    uses: Annotated[
        int | None,
        typer.Option("--uses", min=1, max=10_000, help="How many players may register [1].", show_default=False),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", min=1, max=3650, help="For how long [7, or code_lifetime].", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Make none: list the valid codes by their digests.")] = False,
    withdraw: Annotated[
        str | None,
        typer.Option(
            "--withdraw",
            metavar="DIGEST",
            help="Make none: withdraw the code whose digest in the list begins so.",
            show_default=False,
        ),
    ] = None,
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a code with which new players may register.

    A service with `registration = "code"` asks for one.
    """
    from hkoji.cli.service import admin

    out.json = json
    if listed + (withdraw is not None) + (uses is not None or days is not None) > 1:
        raise UsageError(
            tell("--list and --withdraw make no code; nothing was changed"),
            hint=tell("give one of them alone, or --uses and --days"),
        )
    if withdraw is not None:
        admin.withdraw(out, withdraw, data, database)
    elif listed:
        admin.invitations(out, data, database)
    else:
        admin.invite(out, 1 if uses is None else uses, days, data, database)


@admin.command(epilog="Example: hkoji admin backup /var/backups/hkoji --data /var/lib/hkoji")
def backup(
    target: Annotated[
        Path, typer.Argument(metavar="DEST", help="A new file with a suffix, or a folder for one.", show_default=False)
    ],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Copy the database while the service runs.

    The copy has every move acknowledged before it was begun. No file is overwritten.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.backup(out, target, data, database)


@admin.command(epilog="Example: hkoji admin restore hkoji-20261121T030000Z.sqlite3 --data /var/lib/hkoji-new")
def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file made by `backup`.", show_default=False)],
    data: Annotated[Path, typer.Option("--data", help="A folder without a database.", show_default=False)],
    json: Json = False,
) -> None:
    """Make a service's folder from a backup.

    An existing database is never replaced. Read the command's warning about forks.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.restore(out, source, data)


@admin.command(epilog="Example: hkoji admin check --data /var/lib/hkoji --jobs 2")
def check(
    data: Data = None,
    database: Database = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Number of processes.")] = 1,
    json: Json = False,
) -> None:
    """Audit the complete database.

    That is every log, receipt, summary, seed and opening. Exit code 8 if something is wrong.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.check(out, data, database, jobs)


@admin.command(epilog="Example: hkoji admin tidy --data /var/lib/hkoji")
def tidy(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Remove unopened offers, old codes and logins, void statements.

    A running service does this by itself, several times an hour.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.tidy(out, data, database)


@admin.command(epilog="Example: hkoji admin outage 2026-11-20T12:00:00Z 2026-11-20T13:30:00Z --data /var/lib/hkoji")
def outage(
    begin: Annotated[str, typer.Argument(metavar="FROM", help="Its first second, in UTC.", show_default=False)],
    until: Annotated[str, typer.Argument(metavar="UNTIL", help="The second after its last.", show_default=False)],
    way: Annotated[str, typer.Option("--way", metavar="http|mail", help="How players could not reach it.")] = "http",
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Record that players could not reach the service.

    The time counts for no player whom it concerns: with `http` those with a key of their own, with `mail` those whose
    key the service holds. The service itself records when it did not run. Nothing can have come that way then.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.outage(out, begin, until, data, database, way=way)


@admin.command(epilog="Example: hkoji admin vacuum --data /var/lib/hkoji")
def vacuum(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Delete expired logins and free unused disk space.

    Stop the service first: otherwise moves wait, or are refused.
    """
    from hkoji.cli.service import admin

    out.json = json
    admin.vacuum(out, data, database)


@admin.command(epilog="Example: hkoji admin stats --data /var/lib/hkoji --json")
def stats(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Print the numbers of games, entries and players, and the size."""
    from hkoji.cli.service import admin

    out.json = json
    admin.stats(out, data, database)
