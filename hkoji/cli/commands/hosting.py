"""Hosting a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hkoji.cli.commands.arguments import Json
from hkoji.cli.output import out
from hkoji.text import tell

commands = typer.Typer()


@commands.command(epilog="Example: hkoji serve --data ~/hkoji-data --port 8000")
def serve(
    data: Annotated[Path, typer.Option("--data", help="Folder of the database; made if missing.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    log_level: Annotated[
        str, typer.Option("--log-level", help="debug, info (a line a request), warning or error.")
    ] = "warning",
) -> None:
    """Run a service: one folder, one SQLite file."""
    from hkoji.errors import UsageError

    if log_level not in ("debug", "info", "warning", "error"):
        raise UsageError(
            tell("there is no log level {log_level!r}", log_level=log_level),
            hint=tell("one of debug, info, warning, error"),
        )
    run = _installed("serve")
    run(data, host, port, log_level=log_level)


admin = typer.Typer(help="What a host does by hand, on the service's folder.", no_args_is_help=True)
commands.add_typer(admin, name="admin")


@admin.command(epilog="Example: hkoji admin revoke alice --data ~/hkoji-data")
def revoke(
    name: Annotated[str, typer.Argument(help="The player whose key is lost or stolen.", show_default=False)],
    data: Annotated[Path, typer.Option("--data", help="Folder of the database.", show_default=False)],
    json: Json = False,
) -> None:
    """Revoke a player's key, and get the code with which they make another theirs. Be sure who is asking."""
    from hkoji.cli import player

    out.json = json
    player.release(out, _installed("release")(data, name), name)


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
