"""Finds the functions of the service, which is the separate package `hkoji_server`.

The command line does not import that package: it finds the package's functions by their entry points.
"""

from __future__ import annotations

from typing import Any

from hkoji.errors import UsageError
from hkoji.messages.text import tell


def service_function(name: str) -> Any:  # Any: a function of the service
    """Returns what the service offers under an entry point. Raises `UsageError` if the service is not installed."""
    from importlib.metadata import entry_points

    found = entry_points(group="hkoji.serve", name=name)
    try:
        return next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        from hkoji.extras import install_command

        raise UsageError(
            tell("the service is not installed"),
            hint=tell("install it with: {command}", command=install_command("server")),
        ) from error
