"""The socket that a service listens on. It is bound first, so that the messages can name a port chosen for port 0."""

from __future__ import annotations

import socket
from typing import Final

from hkoji.errors import StorageError
from hkoji.log.canonical import is_origin
from hkoji.messages.text import tell

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
