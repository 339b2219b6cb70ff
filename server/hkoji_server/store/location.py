"""Where a store is: an SQLite file by its path, or a PostgreSQL database by its URL; shown without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from hkoji.errors import StorageError
from hkoji.messages.text import tell

Location = Path | URL
_DRIVER: Final = "postgresql+psycopg"


def parse_location(text: str) -> URL:
    """The URL of a PostgreSQL database. Raises `StorageError` for anything else, without repeating it: it may hold a
    password.
    """
    hint = tell(
        "give one like {driver}://name@host/database, with the password in HKOJI_DATABASE or a password file",
        driver=_DRIVER,
    )
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(tell("the database's URL is not understood"), hint=hint) from None
    if url.drivername not in (_DRIVER, "postgresql", "postgres") or not url.database:
        raise StorageError(tell("the database's URL is not one of a PostgreSQL database"), hint=hint)
    return url.set(drivername=_DRIVER)


def show_location(location: Location) -> str:
    """For people to read: never a password, wherever in the URL it stands."""
    if isinstance(location, Path):
        return str(location)
    host = location.host or location.normalized_query.get("host", ("localhost",))[0]
    port = f":{location.port}" if location.port else ""
    return tell("PostgreSQL database {name} on {place}", name=location.database, place=f"{host}{port}")
