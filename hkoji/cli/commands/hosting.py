"""Hosting a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    from importlib.metadata import entry_points

    from hkoji.errors import UsageError

    if log_level not in ("debug", "info", "warning", "error"):
        raise UsageError(
            tell("there is no log level {log_level!r}", log_level=log_level),
            hint=tell("one of debug, info, warning, error"),
        )
    found = entry_points(group="hkoji.serve", name="serve")
    try:
        run = next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        raise UsageError(
            tell("the service is not installed"), hint=tell("install it with: pip install 'hkoji[server]'")
        ) from error
    run(data, host, port, log_level=log_level)
