"""A program between a player and a real service that passes requests on and changes the answers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class RawAnswer(NamedTuple):
    """An answer as it goes over the wire; `line` is its status line without the end."""

    line: bytes
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def bytes(self) -> bytes:
        """The whole answer."""
        head = b"".join(f"{name}: {value}\r\n".encode() for name, value in self.headers)
        return self.line + b"\r\n" + head + f"Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body


class Request(NamedTuple):
    """A request that has come."""

    method: str
    path: str
    body: bytes


_KEPT = ("content-type", "hkoji-time", "location")

Change = Callable[[RawAnswer], bytes]
"""Returns what is sent in place of an honest answer."""


class LyingProxy:
    """The proxy; `change`, and the `port` of the service, can be exchanged at any time. It keeps the requests.

    Where no change looks at the honest answer, requests need not be passed on.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[Request] = []
        self.change: Change = RawAnswer.bytes
        self.passes_on = True
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                proxy.requests.append(Request(self.command, self.path, body or b""))
                if not proxy.passes_on:
                    self.wfile.write(proxy.change(RawAnswer(b"", (), b"")))
                    self.close_connection = True
                    return
                connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                told = answer.read()
                connection.close()
                line = f"HTTP/1.1 {answer.status} {answer.reason}".encode()
                kept = tuple(pair for pair in answer.getheaders() if pair[0].lower() in _KEPT)
                self.wfile.write(proxy.change(RawAnswer(line, kept, told)))
                self.close_connection = True

            do_POST = do_GET  # noqa: N815 # the library's name

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the library's name
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def lying_proxy(port: int) -> Iterator[LyingProxy]:
    """A proxy before the service at `port`, for the duration of a block."""
    proxy = LyingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


def leaves(value: Any) -> int:  # Any: JSON
    """How many texts a JSON value has, names of fields included."""
    if isinstance(value, dict):
        return sum(1 + leaves(each) for each in value.values())
    if isinstance(value, list):
        return sum(map(leaves, value))
    return 1


def replaced(value: Any, number: int, by: object) -> Any:  # Any: JSON
    """The value with its leaf or field of that number replaced."""
    left = [number]

    def walk(each: Any) -> Any:  # Any: JSON
        if isinstance(each, dict):
            made = {}
            for name, inner in each.items():
                left[0] -= 1
                made[str(by) if left[0] == -1 else name] = walk(inner)
            return made
        if isinstance(each, list):
            return [walk(inner) for inner in each]
        left[0] -= 1
        return by if left[0] == -1 else each

    return walk(value)


def problem(status: int, **fields: object) -> Change:
    """A change into a problem document."""
    body = json.dumps(fields).encode()
    kind = (("Content-Type", "application/problem+json"),)
    return lambda _: RawAnswer(f"HTTP/1.1 {status} No".encode(), kind, body).bytes()
