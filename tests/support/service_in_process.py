"""The application called directly, with a clock and randomness that the test provides."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from hkoji_server.app import Application
from hkoji_server.process.metrics import Metrics
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.location import parse_location
from hkoji_server.store.open_store import open_store

from tests.support import compiled_statements
from tests.support.lent_routers import BorrowedRouters
from tests.support.new_database import copy_new_database
from tests.support.service import UNLIMITED, Answer

compiled_statements.share()

_NONE: Mapping[str, str] = MappingProxyType({})


class Clock:
    """A clock that shows `now`, which the test moves. `elapsed` is the clock that nobody sets."""

    def __init__(self, now: datetime = datetime(2026, 11, 20, 12, tzinfo=UTC)) -> None:
        self.now = now
        self._elapsed = 0.0

    def __call__(self) -> datetime:
        return self.now

    def elapsed(self) -> float:
        return self._elapsed

    def pass_by(self, seconds: float) -> None:
        """Lets time pass, for both clocks."""
        self.now += timedelta(seconds=seconds)
        self._elapsed += seconds

    def jump(self, seconds: float) -> None:
        """Sets the clock, which the other one does not notice."""
        self.now += timedelta(seconds=seconds)


class RunningClock(Clock):
    """A clock that goes by itself, for a service whose database has a clock of its own."""

    def __call__(self) -> datetime:
        return datetime.now(UTC) + (self.now - Clock().now)

    def elapsed(self) -> float:
        return time.monotonic() + super().elapsed()


def drawn(seed: str) -> Any:  # Any: a callable with a counter inside
    """Bytes that look random and are the same for the same seed."""
    numbers = itertools.count()

    def entropy(size: int) -> bytes:
        return sha256(f"{seed} {next(numbers)}".encode()).digest()[:size]

    return entropy


def http_scope(method: str, path: str, headers: Sequence[tuple[bytes, bytes]]) -> dict[str, Any]:  # Any: as ASGI has it
    """A request as the HTTP server describes it to the application."""
    address, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": address,
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }


@dataclass
class Inside:
    """A service in this process; each request runs until it is answered."""

    app: Application
    runner: asyncio.Runner
    clock: Clock
    data: Path
    database: str | None = None
    """The URL of a PostgreSQL database, if the data is there and not in `data`."""

    def store(self) -> AbstractAsyncContextManager[Store]:
        """A store of the service's data, as another process would open it."""
        location = self.data / "hkoji.sqlite3" if self.database is None else parse_location(self.database)
        return open_store(location, self.clock)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,  # Any: JSON
        token: str | None = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] = _NONE,
    ) -> Answer:
        sent = raw if raw is not None else json.dumps(body).encode() if body else b""
        return self.runner.run(self._answer(method, path, sent, token, headers))

    async def _answer(
        self, method: str, path: str, body: bytes, token: str | None, further: Mapping[str, str] = _NONE
    ) -> Answer:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in further.items()]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        given = iter([{"type": "http.request", "body": body, "more_body": False}])
        said: list[Any] = []

        async def receive() -> Any:  # Any: an ASGI message
            message = next(given, None)
            if message is None:
                await asyncio.Event().wait()
            return message

        async def send(message: Any) -> None:
            said.append(message)

        await self.app(http_scope(method, path, headers), receive, send)
        found = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
        return Answer(said[0]["status"], found, b"".join(part.get("body", b"") for part in said[1:]))


_known: dict[Hashable, Settings] = {}


def read_settings(**settings: Any) -> Settings:  # Any: settings by name
    """The settings. Reading also those of the environment takes a fifth of a start, so equal ones are read once."""
    others = [(name, each) for name, each in settings.items() if name != "data"]
    environment = [(name, each) for name, each in os.environ.items() if name.startswith("HKOJI_")]
    key = (*sorted(others), None, *sorted(environment))
    if key not in _known:
        _known[key] = Settings(**settings)
    return _known[key].model_copy(update={"data": Path(settings["data"])} if "data" in settings else {})


@contextmanager
def inside(
    data: Path,
    *,
    seed: str = "one",
    figures: Metrics | None = None,
    clock: Clock | None = None,
    **settings: Any,  # Any: settings by name
) -> Iterator[Inside]:
    """A service for the duration of a block; an address has no limits, unless `settings` has them.

    With a database the clock runs, because the database has a clock of its own.
    """
    clock = clock or (RunningClock() if "database" in settings else Clock())
    settings = settings if "database" in settings else {"data": data, **settings}
    if "database" not in settings:
        copy_new_database(Path(settings["data"]) / "hkoji.sqlite3")
    chosen = read_settings(**{"log_level": "error", **UNLIMITED, **settings})
    sources = ClockAndEntropy(clock, drawn(seed), clock.elapsed)
    app = Application(chosen, sources, address="http://inside", metrics=figures)
    routers = BorrowedRouters()
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        with routers.starting(), patch("hkoji_server.app._tune_garbage_collection"):  # tests/conftest.py has done it
            runner.run(lifespan.__aenter__())
        try:
            yield Inside(app, runner, clock, data, settings.get("database"))
        finally:
            runner.run(lifespan.__aexit__(None, None, None))
    routers.give_back()
