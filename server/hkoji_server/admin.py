"""What the host of a service does by hand, on the database, beside the running service or without it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hkoji.errors import NotFoundError
from hkoji.text import tell
from hkoji_server.service.keys import Keys
from hkoji_server.service.ports import Ports
from hkoji_server.settings import Settings
from hkoji_server.store.sqlite import SqliteStore


def release(data: Path, name: str) -> str:
    """Makes the key of a player count nowhere. A code, with which they get another one.

    Raises `NotFoundError` if there is no such player, or no service in the folder `data`; `StorageError`.
    """
    settings = Settings(data=data)
    if not settings.database.is_file():
        raise NotFoundError(
            tell("service in"), str(data), hint=tell("give the folder that `hkoji serve --data` was given")
        )
    store = SqliteStore(settings.database)
    try:
        keys = Keys(store, Ports(), origin="", code_lifetime=settings.code_lifetime)
        return asyncio.run(keys.release(name))
    finally:
        store.close()
