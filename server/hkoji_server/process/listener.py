"""The address that a service listens on, bound before anything else, so that port 0 (any free port) can be named."""

from __future__ import annotations

import socket
from typing import Final

from hkoji.errors import StorageError
from hkoji.log.text_form import is_origin
from hkoji.messages.text import tell

_EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 # compared with, not listened on


def bind_listener(host: str, port: int) -> socket.socket:
    """A bound TCP socket. Raises `StorageError` if the address cannot be used."""
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
            tell("cannot listen on {host} port {port}: {reason}", host=host, port=port, reason=error.strerror),
            hint=tell("choose another with --host and --port"),
        ) from error
    return listener


def url_of(listener: socket.socket, host: str) -> str:
    """The address of a listener as a URL."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def own_name(listener: socket.socket, host: str) -> str:
    """What a service is called that nobody has given a name: its address; or the machine, if it listens everywhere.

    Else all services that listen everywhere had one name, and a player of one would take the next for its impostor.
    """
    machine = f"http://{socket.gethostname()}:{listener.getsockname()[1]}"
    return machine if host in _EVERYWHERE and is_origin(machine) else url_of(listener, host)
