"""Opens the store that the settings of a service name, of which it loads nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.messages.text import tell
from hkoji_server.settings import Settings, load
from hkoji_server.store.location import Location, parse_location, verify_exists
from hkoji_server.store.time_contract import UTC_CLOCK, Clock

if TYPE_CHECKING:
    from hkoji_server.store.contract import Store
    from hkoji_server.store.rates import Rates

P = ParamSpec("P")
T = TypeVar("T")


def location_of(settings: Settings) -> Location:
    """Returns the location of the store. Raises `UsageError` if the settings name two, `StorageError` for a bad URL."""
    if settings.database is None:
        return settings.file
    if "data" in settings.model_fields_set:
        raise UsageError(
            tell("a service keeps its games in a folder or in a PostgreSQL database, not in both"),
            hint=tell("leave out --data, or --database and HKOJI_DATABASE"),
        )
    return parse_location(settings.database.get_secret_value())


@asynccontextmanager
async def open_store(location: Location, clock: Clock = UTC_CLOCK) -> AsyncIterator[Store]:
    """Opens the store for a block. At its end the store finishes its writes and closes. Raises `StorageError`.

    `clock` judges the age of decisions in a file; a PostgreSQL server has a clock of its own.
    """
    if isinstance(location, Path):
        from hkoji_server.store.sqlite.store import SqliteStore

        file = SqliteStore(location, clock)
        try:
            yield file
        finally:
            file.close()
        return
    try:
        from hkoji_server.store.postgres.store import open_postgres
    except ImportError as error:
        raise UsageError(
            tell("the PostgreSQL driver is not installed"),
            hint=tell("install it with: {command}", command=install_command("postgres")),
        ) from error
    store = await open_postgres(location)
    try:
        yield store
    finally:
        await store.close()


def on_store(work: Callable[Concatenate[Store, Settings, P], Coroutine[None, None, T]]) -> Callable[..., T]:
    """Makes a command of the operator of `work`, which gets the store of a service and its settings.

    In their place the command takes the folder `data`, and by name a `database` and a file of settings, `config`. The
    service may be running. Raises what `work` raises, `NotFoundError` if there is no service, `StorageError`.
    """

    @wraps(work)
    def command(
        data: Path | None, *given: Any, database: str | None = None, config: Path | None = None, **named: Any
    ) -> T:
        settings = load(config, data=data, database=database)
        location = location_of(settings)
        verify_exists(location)

        async def run() -> T:
            async with open_store(location) as store:
                return await work(store, settings, *given, **named)

        return asyncio.run(run())

    return command


def open_rates(location: Location) -> Rates:
    """Returns the rate limits that all processes on that store share."""
    if isinstance(location, Path):
        from hkoji_server.store.sqlite.rates import SqliteRates

        return SqliteRates(location.with_name("hkoji-limits.sqlite3"))
    from hkoji_server.store.postgres.rates import PostgresRates

    return PostgresRates(location)
