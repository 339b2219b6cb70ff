"""The location of a store: the path of an SQLite file or the URL of a PostgreSQL database, shown without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from hkoji.errors import NotFoundError, StorageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from sqlalchemy import URL

Location: TypeAlias = "Path | URL"
_DRIVER: Final = "postgresql+psycopg"


def parse_location(text: str) -> URL:
    """Returns the URL of a PostgreSQL database.

    Raises `StorageError` for anything else. The error does not repeat the text, which may contain a password.
    """
    from sqlalchemy import make_url  # a store in a file needs no URL, and may need no SQLAlchemy
    from sqlalchemy.exc import ArgumentError

    hint = tell(
        "use a URL like {driver}://name@host/database, with the password in HKOJI_DATABASE or a password file",
        driver=_DRIVER,
    )
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(tell("the URL of the database is not valid"), hint=hint) from None
    if url.drivername not in (_DRIVER, "postgresql", "postgres") or not url.database:
        raise StorageError(tell("the URL is not the URL of a PostgreSQL database"), hint=hint)
    return url.set(drivername=_DRIVER)


def verify_exists(location: Location) -> None:
    """Raises `NotFoundError` if there is no such file. Whether a PostgreSQL database exists shows when it is opened."""
    if isinstance(location, Path) and not location.is_file():
        raise NotFoundError(
            tell("service in"), str(location.parent), hint=tell("give the folder of `hkoji serve --data`")
        )


def show_location(location: Location) -> str:
    """Returns the location for people to read, without the password, which may stand anywhere in a URL."""
    if isinstance(location, Path):
        return str(location)
    host = location.host or location.normalized_query.get("host", ("localhost",))[0]
    port = f":{location.port}" if location.port else ""
    return tell("PostgreSQL database {name} on {place}", name=location.database, place=f"{host}{port}")
