"""One process that serves: the socket it listens on, and uvicorn with callbacks, deadlines and a clean stop.

The socket is bound first, so that the messages can name a port chosen for port 0.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from hkoji.errors import StorageError
from hkoji.log.canonical import is_origin
from hkoji.messages.text import tell
from hkoji_server.process.connections import GuardedConnection, connection_class
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


def url_of(listener: socket.socket, bind: str) -> str:
    """Returns the address of a listener as a URL."""
    shown = f"[{bind}]" if ":" in bind else bind
    return f"http://{shown}:{listener.getsockname()[1]}"


def default_origin(listener: socket.socket, bind: str) -> str:
    """Returns the origin of a service that has none set: its address, or the machine's name if it listens everywhere.

    Otherwise all services that listen everywhere would have the same origin, and a player's client would take the
    second of them for an impostor of the first.
    """
    machine = f"http://{socket.gethostname()}:{listener.getsockname()[1]}"
    return machine if bind in _EVERYWHERE and is_origin(machine) else url_of(listener, bind)


PATIENCE: Final = 10
"""The seconds in which running requests must finish when the process stops."""
_TICKS: Final = 10  # a second


class ServingProcess(uvicorn.Server):
    """Calls `ready` when it serves, `tick` once a second, `stopping` when it no longer accepts requests.

    SIGTERM is the normal way to stop it, and so is SIGINT if `supervised`.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        tick: Callable[[int], None],
        stopping: Callable[[], None],
        *,
        supervised: bool,
    ) -> None:
        super().__init__(config)
        self._tick = tick
        self._ready = ready
        self._stopping = stopping
        self._supervised = supervised

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops after the running requests. Other signals then end the process, as is usual."""
        if sig == signal.SIGTERM or self._supervised:
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts, then calls `ready`."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finishes the running requests; clients that only wait for entries are answered at once."""
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
    listener: socket.socket,
    ready: Callable[[], None],
    tick: Callable[[int], None],
    stopping: Callable[[], None],
    *,
    parent: Connection | None = None,
) -> None:
    """Serves until it is stopped or, if there is a `parent`, until that process ends.

    `ready` is called when it serves, `tick` once a second with the number of connections.
    """
    connection = connection_class(
        settings.max_connections,
        settings.request_timeout,
        of_address=cap_of_address(settings.max_address_connections, settings.max_connections),
        proxies=settings.proxies,
    )
    given: dict[str, Any] = {"http": connection}
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        backlog=2048,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=PATIENCE,
        **given,
    )

    server = ServingProcess(config, ready, tick, stopping, supervised=parent is not None)
    if parent is not None:
        threading.Thread(target=_watch, args=(parent, server), name="hkoji-parent", daemon=True).start()
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


def _watch(parent: Connection, server: uvicorn.Server) -> None:
    """Stops a worker when its supervisor has died: no other process would stop it."""
    try:
        parent.recv()
    except (EOFError, OSError):
        server.should_exit = True


def tell_systemd(state: str) -> None:
    """Sends `state`, such as `READY=1`, if systemd has started this process (`Type=notify`, sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.connect("\0" + address[1:] if address[0] == "@" else address)
        sock.send(state.encode())
