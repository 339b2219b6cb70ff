"""One process that serves: the socket it listens on, and uvicorn with callbacks, deadlines and a clean stop.

The socket is bound first, so that the messages can name a port chosen for port 0.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from hkoji.errors import StorageError, UsageError
from hkoji.messages.text import tell
from hkoji.service_url import parse_origin
from hkoji_server.process.connections import GuardedConnection, connection_class
from hkoji_server.process.handover import Acceptor, Taker
from hkoji_server.process.tls import Handshakes, load_tls
from hkoji_server.settings import Settings, cap_of_address

_EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 # compared with, not listened on


def bind_listener(bind: str, port: int) -> socket.socket:
    """Returns a bound TCP socket. Raises `StorageError` if the address cannot be used."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # The protocol is named and the delay switched off: event loops switch Nagle's algorithm off only for sockets that
    # they know to be TCP, and with it every answer waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((bind, port))
    except OSError as error:
        listener.close()
        raise StorageError(
            tell("cannot listen on {host} port {port}: {reason}", host=bind, port=port, reason=error.strerror),
            hint=tell("choose another with --host and --port"),
        ) from error
    return listener


def url_of(listener: socket.socket, bind: str, scheme: str = "http") -> str:
    """Returns the address of a listener as a URL."""
    shown = f"[{bind}]" if ":" in bind else bind
    return f"{scheme}://{shown}:{listener.getsockname()[1]}"


def default_origin(listener: socket.socket, bind: str, scheme: str = "http") -> str:
    """Returns the origin of a service that has none set: its address, or the machine's name if it listens everywhere.

    Otherwise all services that listen everywhere would have the same origin, and a player's client would take the
    second of them for an impostor of the first.
    """
    own = url_of(listener, bind, scheme)
    machine = f"{scheme}://{socket.gethostname()}:{listener.getsockname()[1]}"
    for url in (machine, own) if bind in _EVERYWHERE else (own,):
        with suppress(UsageError):
            return parse_origin(url)
    return own


PATIENCE: Final = 10
"""The seconds in which running requests must finish when the process stops."""
_TICKS: Final = 10  # a second
BACKLOG: Final = 2048
"""How many connections may wait to be accepted."""


class ServingProcess(uvicorn.Server):
    """Calls `ready` when it serves, `tick` once a second, `stopping` when it no longer accepts requests.

    Its connections come from `taker`: its supervisor, until that ends, or its own listener. SIGTERM is the normal way
    to stop it, and for a worker SIGINT too.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        tick: Callable[[int], None],
        stopping: Callable[[], None],
        taker: Taker | Acceptor,
        tls: Handshakes | None,
    ) -> None:
        super().__init__(config)
        self._tls = tls
        self._tick = tick
        self._ready = ready
        self._stopping = stopping
        self._taker = taker
        self._arriving: set[asyncio.Task[None]] = set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops after the running requests. Other signals then end the process, as is usual."""
        if sig == signal.SIGTERM or isinstance(self._taker, Taker):
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts, then calls `ready`."""
        await super().startup(sockets)
        if self.started:
            self._taker.start(self._take, self._end)
            self._ready()

    def _take(self, connection: socket.socket) -> None:
        if self._tls is None or self._tls.begin(connection):
            task = asyncio.get_running_loop().create_task(self._serve_connection(connection))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)
        else:
            self._drop(connection)

    async def _serve_connection(self, connection: socket.socket) -> None:
        options = {} if self._tls is None else self._tls.options
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._make_protocol, connection, **options)
        except OSError:  # the client has gone already, or does not speak TLS
            self._drop(connection)
        finally:
            if self._tls is not None:
                self._tls.end(connection)

    def _drop(self, connection: socket.socket) -> None:
        connection.close()
        self._taker.report()

    def _make_protocol(self) -> asyncio.Protocol:
        # As uvicorn makes it for the connections that it accepts itself.
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def _end(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finishes the running requests; clients that only wait for entries are answered at once."""
        self._taker.stop()
        self._stopping()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Checks deadlines; uvicorn calls it ten times a second."""
        if counter % _TICKS == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedConnection):
                    connection.expire(now)
            self._tick(len(self.server_state.connections))
        return await super().on_tick(counter)


def run(
    app: ASGIApp,
    settings: Settings,
    source: socket.socket | Taker,
    ready: Callable[[], None],
    tick: Callable[[int], None],
    stopping: Callable[[], None],
) -> None:
    """Serves until it is stopped. A worker serves until its supervisor ends.

    The connections come from `source`: a bound socket, or for a worker its supervisor. `ready` is called when it
    serves, `tick` once a second with the number of connections.
    """
    context = tls_of(settings)
    of_address = cap_of_address(settings.max_address_connections, settings.max_connections)
    taker = Acceptor(source, BACKLOG) if isinstance(source, socket.socket) else source
    most, patience = settings.max_connections, settings.request_timeout
    connection = connection_class(
        most,
        patience,
        of_address=of_address,
        proxies=settings.proxies,
        ended=taker.report,
    )
    given: dict[str, Any] = {"http": connection}
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=PATIENCE,
        **given,
    )
    tls = None
    if context is not None:
        tls = Handshakes(context, most, patience, of_address=of_address, is_proxy=connection.is_proxy)
    server = ServingProcess(config, ready, tick, stopping, taker, tls)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[]))


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """Returns the context of TLS; None for plain http. Raises `UsageError` for files that cannot be served."""
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError(
            tell("https needs a certificate and its key, and only one of them is given; nothing was changed"),
            hint=tell("give both --tls-certificate FILE and --tls-key FILE, or neither"),
        )
    return load_tls(certificate, key)


def tell_systemd(state: str) -> None:
    """Sends `state`, such as `READY=1`, if systemd has started this process (`Type=notify`, sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.connect("\0" + address[1:] if address[0] == "@" else address)
        sock.send(state.encode())
