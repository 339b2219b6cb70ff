"""Hosting a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hkoji.cli.commands.arguments import Json
from hkoji.cli.output import out
from hkoji.messages.text import tell

commands = typer.Typer()


@commands.command(epilog="Example: hkoji serve --data ~/hkoji-data --port 8000 --workers 2")
def serve(
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the database; made if missing.", show_default=False)
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            help="A PostgreSQL database by its URL. Others on the machine see it: passwords go into HKOJI_DATABASE.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on [127.0.0.1].", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one [8000].", show_default=False),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", help="What players call it, as in https://my.example.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes on the one database [1].", show_default=False)
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy", help="A reverse proxy's address or network, believed who asks.", show_default=False
        ),
    ] = None,
    max_body: Annotated[
        int | None, typer.Option("--max-body", help="Largest request in bytes [16384].", show_default=False)
    ] = None,
    max_connections: Annotated[
        int | None, typer.Option("--max-connections", help="Connections a process takes [20000].", show_default=False)
    ] = None,
    limit_address: Annotated[
        str | None,
        typer.Option("--limit-address", help="Requests from one address, as in 600/minute.", show_default=False),
    ] = None,
    limit_player: Annotated[
        str | None,
        typer.Option("--limit-player", help="Moves and reads of one player, as in 300/minute.", show_default=False),
    ] = None,
    request_timeout: Annotated[
        float | None,
        typer.Option("--request-timeout", help="Seconds for a request to come whole [20].", show_default=False),
    ] = None,
    keep_alive: Annotated[
        int | None,
        typer.Option("--keep-alive", help="Seconds a connection is kept after an answer [30].", show_default=False),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", help="HOST:PORT where figures are shown to Prometheus.", show_default=False),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level", help="debug, info (a line a request), warning or error [warning].", show_default=False
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--log-format", help="json or text [json].", show_default=False)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="A settings file (TOML) for what is not given here.", show_default=False),
    ] = None,
) -> None:
    """Run a service: one folder, one SQLite file; or on PostgreSQL. All settings: docs/cli.md."""
    given = {name: value for name, value in locals().items() if name not in ("data", "host", "port", "config")}
    given["trusted_proxy"] = trusted_proxy or None
    _installed("serve")(data, host, port, config=config, **given)


admin = typer.Typer(help="What a host does by hand, on the service's folder.", no_args_is_help=True)
commands.add_typer(admin, name="admin")


Data = Annotated[Path | None, typer.Option("--data", help="Folder of the database.", show_default=False)]
Database = Annotated[
    str | None,
    typer.Option("--database", help="The PostgreSQL database, if HKOJI_DATABASE does not say.", show_default=False),
]


@admin.command(epilog="Example: hkoji admin revoke alice --data ~/hkoji-data")
def revoke(
    name: Annotated[str, typer.Argument(help="The player whose key is lost or stolen.", show_default=False)],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Revoke a player's key, and get the code with which they make another theirs. Be sure who is asking."""
    from hkoji.cli.player import identity

    out.json = json
    identity.release(out, _installed("admin").release(data, name, database=database), name)


@admin.command(epilog="Example: hkoji admin backup /var/backups/hkoji --data /var/lib/hkoji")
def backup(
    target: Annotated[
        Path, typer.Argument(metavar="DEST", help="A new file, or a folder for one.", show_default=False)
    ],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Copy the database while the service runs: all moves acknowledged before are in it. Replaces nothing."""
    from hkoji.cli.service import admin as hosting

    out.json = json
    hosting.backup(out, _installed("admin").backup(target, data, database))


@admin.command(epilog="Example: hkoji admin restore hkoji-20261121T030000Z.sqlite3 --data /var/lib/hkoji-new")
def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` has made.", show_default=False)],
    data: Annotated[Path, typer.Option("--data", help="A folder without a database.", show_default=False)],
    json: Json = False,
) -> None:
    """Make a service's folder from a backup; never over one that is there. Read what it says about forks."""
    from hkoji.cli.service import admin as hosting

    out.json = json
    hosting.restore(out, _installed("admin").restore(source, data))


@admin.command(epilog="Example: hkoji admin check --data /var/lib/hkoji --jobs 2")
def check(
    data: Data = None,
    database: Database = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Processes.")] = 1,
    json: Json = False,
) -> None:
    """Audit the whole database: every log, receipt, summary, seed and opening. Exit code 8 if something is wrong."""
    from hkoji.cli.service import admin as hosting

    out.json = json
    hosting.check(out, _installed("admin").check(data, database, jobs=jobs))


@admin.command(epilog="Example: hkoji admin vacuum --data /var/lib/hkoji")
def vacuum(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Forget expired logins and give unused room back. Stop the service first: moves would wait, or be refused."""
    from hkoji.cli.service import admin as hosting

    out.json = json
    hosting.vacuum(out, _installed("admin").vacuum(data, database))


@admin.command(epilog="Example: hkoji admin stats --data /var/lib/hkoji --json")
def stats(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Games by status, entries, players, size."""
    from hkoji.cli.service import admin as hosting

    out.json = json
    hosting.stats(out, _installed("admin").stats(data, database))


@commands.command(epilog="Examples: hkoji doctor; hkoji doctor --data /var/lib/hkoji --backups /var/backups/hkoji")
def doctor(
    data: Annotated[
        Path | None, typer.Option("--data", help="Look at the service in this folder.", show_default=False)
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="Or at the one on this PostgreSQL database.", show_default=False)
    ] = None,
    backups: Annotated[
        Path | None, typer.Option("--backups", help="The folder of its backups.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Look whether all is well: a player's files, key, pins, service and clock; or with --data a host's service.

    Each line is ok, warn or fail, and says what to do next. Exit code 1 if something failed. Nothing is changed.
    """
    from hkoji.cli.player import doctor as shown

    out.json = json
    if data is None and database is None and backups is None:
        from hkoji.client.doctor import examine
        from hkoji.client.home import Home

        raise typer.Exit(shown.show(out, examine(Home())))
    raise typer.Exit(shown.show(out, _installed("admin").examine(data, database, backups=backups)))


def _installed(name: str) -> Any:  # Any: a function of the service
    """What the service, which is a package of its own, gives to the command line."""
    from importlib.metadata import entry_points

    from hkoji.errors import UsageError

    found = entry_points(group="hkoji.serve", name=name)
    try:
        return next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        raise UsageError(
            tell("the service is not installed"), hint=tell("install it with: pip install 'hkoji[server]'")
        ) from error
