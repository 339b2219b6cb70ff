"""The composition root: settings, store, use cases and routes become one application; and `serve` runs it."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Literal

import structlog
import uvicorn
from fastapi import FastAPI

from hkoji import __version__
from hkoji.errors import StorageError
from hkoji.log.keys import PrivateKey
from hkoji_server.routes import api, openapi, problems
from hkoji_server.routes.accesslog import AccessLog
from hkoji_server.routes.entries import EntriesRoad, make_submit
from hkoji_server.routes.limits import BodyLimit
from hkoji_server.routes.players import make_players_router
from hkoji_server.service.games import Games
from hkoji_server.service.keys import Keys
from hkoji_server.service.players import Players
from hkoji_server.service.ports import Ports
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.sqlite import SqliteStore

log = structlog.get_logger("hkoji")

Level = Literal["debug", "info", "warning", "error"]
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_DESCRIPTION = """Games of Hanamikoji by correspondence, each a signed, append-only log.

Entries authenticate themselves; private reads need a login. Errors are problem documents (RFC 9457).
"""


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


def create_app(settings: Settings, ports: Ports | None = None, *, address: str | None = None) -> FastAPI:
    """The application. `address` is where it is reached, the origin of a new store that has none set."""
    ports = ports or Ports()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = SqliteStore(settings.database)
        try:
            fallback = address or f"http://{settings.host}:{settings.port}"
            key, origin = await _identify(store, ports, settings.origin, fallback)
            players = Players(
                store,
                ports,
                origin=origin,
                token_lifetime=settings.token_lifetime,
                challenge_lifetime=settings.challenge_lifetime,
            )
            keys = Keys(store, ports, origin=origin, code_lifetime=settings.code_lifetime)
            games = Games(store, ports, key, cached=settings.cached_games)
            app.state.submit = make_submit(games)
            app.include_router(make_players_router(players, keys))
            app.include_router(
                api.make_router(players, games, ports, app.state.submit, origin=origin, key=key.public.text)
            )
            gc.collect()
            gc.freeze()
            log.debug("ready", origin=origin, database=str(settings.database), key=key.public.fingerprint)
            try:
                yield
            finally:
                games.close()
        finally:
            store.close()
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

    app.add_middleware(EntriesRoad)
    app.add_middleware(BodyLimit, limit=settings.max_body)
    if settings.log_level in ("debug", "info"):
        app.add_middleware(AccessLog)
    return app


def configure_logging(level: Level) -> None:
    """Lines of JSON on stderr. Nothing secret is ever passed to the log."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def serve(data: Path, host: str, port: int, *, log_level: Level = "warning") -> None:
    """Serves until told to stop. Raises `StorageError` if the address or the folder cannot be used.

    The socket is bound before anything else, so that port 0 (any free port) can be named in the origin.
    """
    settings = Settings(data=data, host=host, port=port, log_level=log_level)
    configure_logging(settings.log_level)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, and without delay: event loops switch Nagle's algorithm off only for what they know to be TCP, and
    # with it every answer waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StorageError(
            f"cannot listen on {host} port {port}: {error.strerror}", hint="choose another with --port"
        ) from error
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"
    SqliteStore(settings.database).close()  # says what is wrong with the database before the server starts
    app = create_app(settings, address=address)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, proxy_headers=False, timeout_graceful_shutdown=10
    )
    server = _Server(config, f"hkoji is serving on {address}, data in {data}; stop it with Ctrl-C")
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


class _Server(uvicorn.Server):
    """Says on stderr when it is ready, and takes SIGTERM for what it is: how a service is stopped, and no failure."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops when what is being answered has been. Of other signals the process dies in the end, as is usual."""
        if sig == signal.SIGTERM:
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts, then speaks."""
        await super().startup(sockets)
        if self.started:
            print(self._ready, file=sys.stderr, flush=True)
