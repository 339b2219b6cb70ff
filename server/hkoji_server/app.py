"""The composition root: settings, store, use cases and routes become one application; and `serve` runs it."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import structlog
from fastapi import FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hkoji import __version__
from hkoji.errors import HkojiError, UsageError
from hkoji.log.private_key import PrivateKey
from hkoji.messages.text import tell
from hkoji_server.process.listening import listen, own_name, url_of
from hkoji_server.process.logs import configure_logging
from hkoji_server.process.metrics import Gathering, Metrics
from hkoji_server.process.notify import tell_systemd
from hkoji_server.process.server import run
from hkoji_server.process.workers import Workers
from hkoji_server.routes import api, openapi, problems
from hkoji_server.routes.entries import EntriesRoad, make_submit
from hkoji_server.routes.envelope import Envelope
from hkoji_server.routes.limits import BodyLimit
from hkoji_server.routes.measured import Measured
from hkoji_server.routes.players import make_players_router
from hkoji_server.routes.rates import AddressLimit
from hkoji_server.routes.reads import Reads, ReadsRoad
from hkoji_server.routes.waiting import make_waiting_router
from hkoji_server.service.games import Games
from hkoji_server.service.keys import Keys
from hkoji_server.service.limits import Limits
from hkoji_server.service.players import Players
from hkoji_server.service.ports import Ports
from hkoji_server.service.readiness import Readiness
from hkoji_server.service.waiting import Hub
from hkoji_server.settings import Settings, load, parse_address, parse_rate
from hkoji_server.store.contract import Store
from hkoji_server.store.location import show_location
from hkoji_server.store.open_store import location_of, open_rates, open_store, verify_opens
from hkoji_server.store.rates import Rate
from hkoji_server.store.timed_store import timed_store

log = structlog.get_logger("hkoji")

_DESCRIPTION = """Games of Hanamikoji by correspondence, each a signed, append-only log.

Entries authenticate themselves; private reads need a login. Errors are problem documents (RFC 9457).
"""


_GARBAGE: Final = 10_000


def _spare_the_collector() -> None:
    """What is there now stays; and what a move leaves are values without circles, for which Python's usual 700 new
    ones are looked through too often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])


async def _identify(store: Store, ports: Ports, origin: str | None, fallback: str) -> tuple[PrivateKey, str]:
    """The service's key and origin: kept ones, or fresh ones in a new store."""
    kept = await store.identity()
    if kept is None:
        fresh = PrivateKey.from_seed(ports.entropy(32)).to_openssh().decode()
        kept = await store.add_identity(fresh, origin or fallback)  # another process may have been first
    text, kept_origin = kept
    if origin and origin != kept_origin:
        await store.set_origin(origin)
    return PrivateKey.from_openssh(text.encode()), origin or kept_origin


def _limits(settings: Settings) -> Limits:
    if not (settings.limit_address or settings.limit_player):
        return Limits()
    rates = open_rates(location_of(settings))
    address, player = (
        Rate(*parse_rate(text)) if text else None for text in (settings.limit_address, settings.limit_player)
    )
    return Limits(rates, address=address, player=player)


def create_app(
    settings: Settings, ports: Ports | None = None, *, address: str | None = None, metrics: Metrics | None = None
) -> FastAPI:
    """The application. `address` is what it is called, the origin of a new store that has none set."""
    ports = ports or Ports()
    location = location_of(settings)
    ready = Readiness()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_store(location) as opened:
            store = opened if metrics is None else timed_store(opened, metrics.call)
            ready.store = store
            limits = app.state.limits = _limits(settings)
            fallback = address or f"http://{settings.host}:{settings.port}"
            key, origin = await _identify(store, ports, settings.origin, fallback)
            players = Players(
                store,
                ports,
                origin=origin,
                token_lifetime=settings.token_lifetime,
                challenge_lifetime=settings.challenge_lifetime,
                limits=limits,
            )
            keys = Keys(store, ports, origin=origin, code_lifetime=settings.code_lifetime)
            games = Games(store, ports, key, cached=settings.cached_games, limits=limits)
            hub = Hub(store, most=settings.max_waiting)
            app.state.stopping = hub.stop
            app.state.submit, app.state.reads = make_submit(games), Reads(players, games)
            app.include_router(make_players_router(players, keys))
            app.include_router(
                api.make_router(
                    players, games, app.state.reads, hub, ports, app.state.submit, origin=origin, key=key.public.text
                )
            )
            app.include_router(make_waiting_router(players, hub, store, ports))
            _spare_the_collector()
            log.debug(
                "ready", pid=os.getpid(), origin=origin, database=show_location(location), key=key.public.fingerprint
            )
            try:
                yield
            finally:
                await hub.close()
                limits.close()
        log.debug("stopped")

    app = FastAPI(
        title="hkoji",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # nothing leaves the machine by an env variable
    )
    problems.install(app)
    openapi.install(app)

    @app.get("/healthz", tags=["service"])
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["service"], response_model=dict[str, str])
    async def readyz() -> dict[str, str]:
        """Whether it takes moves: the database is there, of the right schema, and a write gets to the disk."""
        await ready.verify()
        return {"status": "ok"}

    for path, check in (("/healthz", healthz), ("/readyz", readyz)):  # as load balancers and watchdogs may ask
        app.add_api_route(path, check, methods=["HEAD"], include_in_schema=False)

    app.add_middleware(ReadsRoad)
    app.add_middleware(EntriesRoad)
    app.add_middleware(BodyLimit, limit=settings.max_body)
    if settings.limit_address:
        app.add_middleware(AddressLimit)
    if metrics is not None:
        app.add_middleware(Measured, observe=metrics.request)
    logged = settings.log_level in ("debug", "info")
    app.add_middleware(Envelope, secure=(settings.origin or "").startswith("https:"), logged=logged)
    if settings.trusted_proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxy))
    return app


def serve(
    data: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    *,
    config: Path | None = None,
    **given: Any,  # Any: settings by name
) -> None:
    """Serves until told to stop. What is None is as environment, settings file or default say.

    Raises `StorageError` if the address or the folder cannot be used, `UsageError` for settings that are not right.
    """
    settings = load(config, data=data, host=host, port=port, **given)
    if "data" not in settings.model_fields_set and settings.database is None:
        raise UsageError(tell("a service needs a folder"), hint=tell("give one with --data, as in --data ~/hkoji-data"))
    location = location_of(settings)
    configure_logging(settings.log_level, settings.log_format)
    _raise_open_files()
    listener = listen(settings.host, settings.port)
    address, name = url_of(listener, settings.host), own_name(listener, settings.host)
    place = settings.data if isinstance(location, Path) else f"the {show_location(location)}"
    verify_opens(location)  # says what is wrong with the database before the server starts

    def ready() -> None:
        with suppress(OSError):  # it serves also where its log cannot be written
            print(f"hkoji is serving on {address}, data in {place}; stop it with Ctrl-C", file=sys.stderr, flush=True)
        tell_systemd("READY=1")

    with ExitStack() as stack:
        if settings.workers == 1:
            metrics = Metrics() if settings.metrics else None
            if metrics and settings.metrics:
                stack.callback(metrics.show(*parse_address(settings.metrics)))
            app = create_app(settings, address=name, metrics=metrics)
            run(app, settings, listener, ready, metrics.tick if metrics else _nothing)
            return
        gone: Callable[[int], None] = _nothing
        if settings.metrics:
            gathering = Gathering()
            stack.callback(gathering.close)
            stack.callback(gathering.show(*parse_address(settings.metrics)))
            gone = gathering.forget
        if Workers(settings.workers, partial(_work, settings, name), listener, gone).run(ready) == signal.SIGINT:
            raise KeyboardInterrupt


def _work(settings: Settings, address: str, listener: socket.socket, told: Connection, parent: Connection) -> None:
    """A worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at a terminal it goes to all processes; the supervisor's word counts
    configure_logging(settings.log_level, settings.log_format)
    metrics = Metrics() if settings.metrics else None
    app = create_app(settings, address=address, metrics=metrics)
    try:
        run(
            app,
            settings,
            listener,
            lambda: told.send_bytes(b"."),
            metrics.tick if metrics else _nothing,
            parent=parent,
        )
    except HkojiError as error:
        log.error("worker failed", reason=str(error))
        sys.exit(1)


def _nothing(_: int) -> None:
    """What is done with figures that nobody wants."""


def _raise_open_files() -> None:
    """Each connection is an open file; the usual limit for a process is 1,024, and it may be raised up to another."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
