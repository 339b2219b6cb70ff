"""Plain connections to a service, for what no HTTP client does."""

from __future__ import annotations

import socket
import time

from tests.support.service import Service

PATIENCE = 200.0
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def connected(service: Service, source: str = "127.0.0.1") -> socket.socket:
    """A connection from an address of this machine."""
    return socket.create_connection(("127.0.0.1", service.port), PATIENCE, source_address=(source, 0))


def healthy(sock: socket.socket) -> bool:
    """Whether a request on a kept connection is answered."""
    sock.sendall(WHOLE)
    said = b""
    while b'{"status":"ok"}' not in said and (part := sock.recv(65536)):
        said += part
    return said.startswith(b"HTTP/1.1 200 ")


def served(service: Service, source: str = "127.0.0.1") -> socket.socket:
    """A connection with a place, which a connection that was closed just now may have to leave first."""
    end = time.monotonic() + PATIENCE
    while True:
        sock = connected(service, source)
        try:
            if healthy(sock):
                return sock
        except OSError:  # the service has closed it
            pass
        sock.close()
        assert time.monotonic() < end
        time.sleep(0.02)


def everything(sock: socket.socket) -> bytes:
    """The bytes from the service until it closes the connection."""
    said = b""
    while part := sock.recv(65536):
        said += part
    return said
