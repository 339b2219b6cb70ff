"""The composition root: makes one application of settings, store, use cases and routes; `serve` runs it."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hkoji import __version__
from hkoji.errors import HkojiError, UsageError
from hkoji.log.sshsig import use_fastest
from hkoji.messages.text import tell
from hkoji.service_url import same_address
from hkoji_server.log import configure_logging, log
from hkoji_server.process.handover import Taker
from hkoji_server.process.metrics import Metrics, WorkersMetrics
from hkoji_server.process.server import bind_listener, default_origin, run, tell_systemd, tls_of, url_of
from hkoji_server.process.tls import check_name
from hkoji_server.process.workers import Workers
from hkoji_server.routes import openapi, problems
from hkoji_server.routes.channels import make_channels_router
from hkoji_server.routes.event_streams import make_events_router
from hkoji_server.routes.game_lists import make_finished_router
from hkoji_server.routes.games import make_games_router, make_talk_router
from hkoji_server.routes.middleware import AddressLimit, BodyLimit, RequestFrame, Turns
from hkoji_server.routes.plain import PlainRoutes
from hkoji_server.routes.players import make_players_router
from hkoji_server.routes.service import Readiness, UseCases, make_health_router
from hkoji_server.service.games.keeper import (
    HeldSeeds,
    Keeper,
    keep_at_intervals,
    send_seeds_at_intervals,
    tidy_at_intervals,
)
from hkoji_server.service.games.parts import make_game_parts
from hkoji_server.service.games.proof_worker import ProofWorker
from hkoji_server.service.games.talk import Talk
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.games.waiting_hub import WaitingHub
from hkoji_server.service.mail.mailboxes import OwnMailboxes
from hkoji_server.service.notices.channels import Channels
from hkoji_server.service.notices.delivery import NoticeDelivery, deliver_at_intervals
from hkoji_server.service.notices.guarded_post import GuardedPoster
from hkoji_server.service.notices.push import PushCourier
from hkoji_server.service.notices.webhook import WebhookCourier
from hkoji_server.service.players.limits import RateLimits, limits_of
from hkoji_server.service.players.players import Players, identify
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, beat_at_intervals
from hkoji_server.settings import Settings, cap_of_address, load, own_address, parse_bind
from hkoji_server.store.choices import PUSH_KIND
from hkoji_server.store.contract import timed_store
from hkoji_server.store.location import Location, show_location
from hkoji_server.store.open_store import location_of, open_store
from hkoji_server.web.pages import Pages, make_stop_router
from hkoji_server.web.rendering import ErrorPages

_DESCRIPTION = """Games of Hanamikoji by correspondence, each a signed, append-only log.

An entry is authenticated by its signature; private reads need a login. Errors are problem documents (RFC 9457).
"""


_GARBAGE: Final = 10_000
_PUBLIC_HTTPS: Final = re.compile(r"https://[^:]+")
"""An origin without a port."""


def _tune_garbage_collection() -> None:
    """Exempts what exists now from garbage collection, and makes the collector run less often.

    A move leaves values without cycles, which need no collector. By default Python starts it every 700 new objects
    (Python 3.13: every 2,000).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])


def _counted(metrics: Metrics | None) -> dict[str, Any]:  # Any: functions by name
    """Returns what a delivery is told to count with."""
    return {} if metrics is None else {"count": metrics.notice, "lag": metrics.overdue.set}


class Application:
    """The service as one ASGI application: middleware around the plain routes and, for the rest, FastAPI.

    `address` is the origin of a new store for which none is set. The routes are made when the store has been opened.
    """

    def __init__(
        self,
        settings: Settings,
        sources: ClockAndEntropy | None = None,
        *,
        address: str | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        use_fastest()
        self._settings = settings
        self._sources = sources or ClockAndEntropy()
        self._address = address or f"http://{settings.host}:{settings.port}"
        self._metrics = metrics
        self._hub: WaitingHub | None = None
        self.api = FastAPI(
            title="hkoji",
            version=__version__,
            description=_DESCRIPTION,
            # The framework's pages load scripts from elsewhere. Its redirects lead where the request's `Host` says.
            openapi_url=None,  # `openapi.install` serves the document
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            # Nothing leaves the machine because of an environment variable.
            telemetry={"tracing": False, "metrics": False, "logs": False},
        )
        problems.install(self.api)
        openapi.install(self.api)
        self.router = Router(default=self.api, lifespan=self._lifespan, redirect_slashes=False)
        self._outermost: ASGIApp = self.router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outermost(scope, receive, send)

    def stop_waiting(self) -> None:
        """Answers all clients that wait for entries at once."""
        if self._hub is not None:
            self._hub.stop()

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        settings, sources = self._settings, self._sources
        location = location_of(settings)
        async with open_store(location, sources.clock) as opened:
            store = opened if self._metrics is None else timed_store(opened, self._metrics.call)
            limits = limits_of(settings)
            key, origin = await identify(store, sources, settings.origin, self._address)
            time = ServiceTime(
                store, sources, outage_after=settings.outage_after, unprocessed=store.oldest_unprocessed_mail
            )
            metrics = self._metrics
            proofs = ProofWorker() if metrics is None else ProofWorker(metrics.proofs, metrics.proving)
            parts = make_game_parts(store, settings, time, sources, key, origin=origin, limits=limits, proofs=proofs)
            held, games = parts.held, parts.games
            failed = _nothing if self._metrics is None else self._metrics.keeper_failures.inc
            keeper = Keeper(store, held, time, sources, key, slack=settings.slack, failed=failed)
            poster = GuardedPoster(private=settings.webhook_private)
            push = PushCourier(poster, key, sources, limits, origin=origin)
            kinds = {"webhook": WebhookCourier(poster, key, sources, limits, origin=origin), PUSH_KIND: push}
            delivery = NoticeDelivery(store, held, time, sources, kinds, origin=origin, **_counted(self._metrics))
            hub = self._hub = WaitingHub(
                store,
                most=settings.max_waiting,
                of_address=cap_of_address(settings.max_address_waiting, settings.max_waiting),
            )
            cases = UseCases(
                settings=settings,
                store=store,
                sources=sources,
                origin=origin,
                key=key,
                ready=Readiness(store, time),
                players=Players(store, sources, settings, limits, origin=origin),
                held_players=parts.held_players,
                invitations=parts.invitations,
                offers=parts.offers,
                games=games,
                statements=parts.statements,
                views=GameViews(store, held, time, sources, key, cached=settings.cached_games),
                talk=Talk(store, held, sources),
                hub=hub,
                channels=Channels(store, sources, kinds, limits),
                push=push.server,
                mailboxes=OwnMailboxes(store, sources, parts.held_players, limits, own_address(settings)),
            )
            self.plain = PlainRoutes([each(cases) for each in openapi.PLAIN_ENDPOINTS], self.router)
            for make in (
                make_health_router,
                make_players_router,
                make_games_router,
                make_channels_router,
                make_finished_router,
                make_talk_router,
                make_events_router,
                make_stop_router,
            ):
                # `include_router` would build each route a second time; there is nothing to add to them.
                self.api.router.routes.extend(make(cases).routes)
            pages = Pages(cases).routes()
            self.api.router.routes.extend(pages)
            self._outermost = self._with_middleware(limits, [each.path for each in pages])
            _tune_garbage_collection()
            log.debug(
                "ready", pid=os.getpid(), origin=origin, database=show_location(location), key=key.public.fingerprint
            )
            tasks = [
                asyncio.create_task(work)
                for work in (
                    tidy_at_intervals(
                        store, sources, settings.offer_lifetime, settings.mail_keep_days if settings.mail else None
                    ),
                    beat_at_intervals(time, settings.outage_after),
                    keep_at_intervals(keeper),
                    send_seeds_at_intervals(HeldSeeds(store, held, games, sources), parts.seed_due),
                    deliver_at_intervals(delivery),
                )
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await hub.close()
                await proofs.close()
                limits.close()
        log.debug("stopped")

    def _with_middleware(self, limits: RateLimits, pages: Iterable[str]) -> ASGIApp:
        """Returns the router wrapped in the middleware that each request passes, from the innermost on.

        `pages` are the addresses of pages, which metrics count.
        """
        settings = self._settings
        app: ASGIApp = BodyLimit(self.plain, settings.max_body)
        if settings.limit_address:
            app = AddressLimit(app, limits)
        documented = (each.path for each in self.api.routes if isinstance(each, APIRoute) and each.include_in_schema)
        app = RequestFrame(
            app,
            self._sources.at,
            opened=ErrorPages(app) if settings.web else None,
            # A browser keeps it for all ports of the host, of which others may be plain http.
            secure=_PUBLIC_HTTPS.fullmatch(settings.origin or "") is not None,
            logged=settings.log_level in ("debug", "info"),
            observe=None if self._metrics is None else self._metrics.request,
            paths=(*self.plain.paths, *pages, *documented),
        )
        app = Turns(app)
        if settings.trusted_proxy:
            app = ProxyHeadersMiddleware(app, list(settings.proxies))  # type: ignore[arg-type,assignment] # uvicorn has its own names for ASGI's types
        return app


def serve(
    data: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    *,
    config: Path | None = None,
    **given: Any,  # Any: settings by name
) -> None:
    """Serves until it is stopped.

    For an argument that is None, the environment, the settings file or the default counts.

    Raises `StorageError` if the address or the folder cannot be used, `UsageError` for wrong settings.
    """
    settings = load(config, data=data, host=host, port=port, **given)
    if "data" not in settings.model_fields_set and settings.database is None:
        raise UsageError(tell("a service needs a folder"), hint=tell("give one with --data, as in --data ~/hkoji-data"))
    location = location_of(settings)
    configure_logging(settings.log_level, settings.log_format)
    _raise_open_files()
    scheme = "http" if tls_of(settings) is None else "https"
    listener = bind_listener(settings.host, settings.port)
    address, name = url_of(listener, settings.host, scheme), default_origin(listener, settings.host, scheme)
    place = settings.data if isinstance(location, Path) else f"the {show_location(location)}"
    # Says what is wrong with the database before the server starts.
    origin = asyncio.run(_find_origin(location, settings, name))

    def ready() -> None:
        said = f"hkoji is serving on {address}, data in {place}; stop it with Ctrl-C\n"
        if not same_address(origin, address):
            said += f"players use: hkoji register --server {origin}"
            said += "\n" if settings.origin else "; if they use another address, give --origin\n"
        with suppress(OSError):  # the service also runs if stderr cannot be written
            print(said, end="", file=sys.stderr, flush=True)
        tell_systemd("READY=1")

    with ExitStack() as stack:
        if settings.workers == 1:
            metrics = Metrics() if settings.metrics else None
            if metrics and settings.metrics:
                stack.callback(metrics.serve(*parse_bind(settings.metrics)))
            app = Application(settings, address=name, metrics=metrics)
            run(app, settings, listener, ready, metrics.tick if metrics else _nothing, app.stop_waiting)
            return
        forget: Callable[[int], None] = _nothing
        if settings.metrics:
            workers_metrics = WorkersMetrics()
            stack.callback(workers_metrics.close)
            stack.callback(workers_metrics.serve(*parse_bind(settings.metrics)))
            forget = workers_metrics.forget
        if Workers(settings.workers, partial(_work, settings, name), listener, forget).run(ready) == signal.SIGINT:
            raise KeyboardInterrupt


async def _find_origin(location: Location, settings: Settings, fallback: str) -> str:
    """Returns the origin of the service in this store; in a new store it makes the service's key and origin.

    Raises `UsageError`, and makes nothing, if the certificate does not fit the origin.
    """
    async with open_store(location) as store:
        if settings.tls_certificate is not None:
            kept = await store.identity()
            check_name(settings.tls_certificate, settings.origin or (kept[1] if kept else fallback))
        return (await identify(store, ClockAndEntropy(), settings.origin, fallback))[1]


def _work(settings: Settings, address: str, channel: socket.socket) -> None:
    """Serves as one of several workers, until the supervisor stops it or ends."""
    configure_logging(settings.log_level, settings.log_format)
    metrics = Metrics() if settings.metrics else None
    app = Application(settings, address=address, metrics=metrics)
    try:
        run(
            app,
            settings,
            Taker(channel),
            lambda: None,
            metrics.tick if metrics else _nothing,
            app.stop_waiting,
        )
    except HkojiError as error:
        log.error("worker failed", reason=str(error))
        sys.exit(1)


def _nothing(*_: int) -> None:
    """The callback if there are no metrics."""


def _raise_open_files() -> None:
    """Raises the limit of open files as far as the system allows. Each connection is a file, and 1,024 are too few."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
