"""`hkoji serve`: runs the service, which is the separate package `hkoji_server`.

The command line does not import that package: it finds the package's functions by their entry points.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.messages.text import tell


def serve(data: Path | None, bind: str | None, port: int | None, **settings: Any) -> None:  # Any: values of settings
    """Runs a service until it is stopped. Settings that are None come from the environment or the settings file."""
    service_function("serve")(data, bind, port, **settings)


def service_function(name: str) -> Any:  # Any: a function of the service
    """Returns what the service offers under an entry point. Raises `UsageError` if the service is not installed."""
    found = entry_points(group="hkoji.serve", name=name)
    try:
        return next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        raise UsageError(
            tell("the service is not installed"),
            hint=tell("install it with: {command}", command=install_command("server")),
        ) from error
