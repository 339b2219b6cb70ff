"""What the host of a service does by hand, on the database, beside the running service or without it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hkoji.errors import NotFoundError
from hkoji.text import tell
from hkoji_server.service.keys import Keys
from hkoji_server.service.ports import Ports
from hkoji_server.settings import load
from hkoji_server.store.opening import location_of, open_store


def release(data: Path | None, name: str, *, database: str | None = None) -> str:
    """Makes the key of a player count nowhere. A code, with which they get another one.

    Raises `NotFoundError` if there is no such player, or no service in the folder `data`; `StorageError`.
    """
    settings = load(data=data, database=database)
    location = location_of(settings)
    if isinstance(location, Path) and not location.is_file():
        raise NotFoundError(
            tell("service in"), str(settings.data), hint=tell("give the folder that `hkoji serve --data` was given")
        )

    async def work() -> str:
        async with open_store(location) as store:
            keys = Keys(store, Ports(), origin="", code_lifetime=settings.code_lifetime)
            return await keys.release(name)

    return asyncio.run(work())
