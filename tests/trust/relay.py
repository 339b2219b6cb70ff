"""Servers between players and a service: a relay, and an address behind which the service can be exchanged.

The relay passes everything on, and writes down what it has seen. One of the kind `redirect` answers each request by the
address of the service. Another kind is an origin, which the relay states in place of the service's, or `own` for its
own address. Then it acknowledges every registration by itself. So one address can look like one service with two
histories.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class RelayedRequest(NamedTuple):
    """A request that the relay has seen, and the answer that it has given."""

    method: str
    path: str
    token: str | None
    body: str
    status: int
    answer: str


class Relay(NamedTuple):
    """A running relay."""

    url: str
    record: Path

    @property
    def seen(self) -> list[RelayedRequest]:
        """All requests so far."""
        return [RelayedRequest(**json.loads(line)) for line in self.record.read_text().splitlines()]

    @property
    def paths(self) -> list[str]:
        """The methods and paths of all requests so far."""
        return [f"{each.method} {each.path}" for each in self.seen]

    @property
    def tokens(self) -> list[str]:
        """The logins that the relay holds: sent by the player, or given to the player through it."""
        given = [
            json.loads(each.answer)["token"] for each in self.seen if each.path == "/v1/login" if each.status == 200
        ]
        return [*given, *(each.token for each in self.seen if each.token)]


class _Handler(BaseHTTPRequestHandler):
    """Passes a request on."""

    protocol_version = "HTTP/1.1"
    service: str
    record: Path
    kind: str
    own: str

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, data = (307, b"") if self.kind == "redirect" else self._pass_on(body)
        if self.kind not in ("", "redirect"):
            if self.path == "/v1/service":
                origin = self.own if self.kind == "own" else self.kind
                data = json.dumps({**json.loads(data), "origin": origin}).encode()
            elif self.path == "/v1/players":
                status, data = 201, b"{}"
        seen = RelayedRequest(
            self.command, self.path, self.headers.get("Authorization"), body.decode(), status, data.decode()
        )
        with self.record.open("a") as record:
            record.write(json.dumps(seen._asdict()) + "\n")
        self.send_response(status)
        if status == 307:
            self.send_header("Location", self.service + self.path)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _answer  # noqa: N815 # names of the library

    def _pass_on(self, body: bytes) -> tuple[int, bytes]:
        headers = {name: value for name in ("Authorization", "Content-Type") if (value := self.headers.get(name))}
        connection = http.client.HTTPConnection(urlsplit(self.service).netloc, timeout=60)
        try:
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def log_message(self, *_: Any) -> None:  # Any: not used
        """Says nothing."""


@contextmanager
def relaying(service: str, record: Path, kind: str = "") -> Iterator[Relay]:
    """A relay in front of the service at an address, for the duration of a block."""
    record.write_text("")

    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        own = f"http://127.0.0.1:{server.server_port}"
        Handler.service, Handler.record, Handler.kind, Handler.own = service, record, kind, own
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Relay(own, record)
        finally:
            server.shutdown()


class Front:
    """Forwards each new connection to the current value of the port `to`."""

    def __init__(self, listener: socket.socket) -> None:
        self.to = 0
        self._listener = listener

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Serves until the listener is shut down and all forwarded connections have ended."""
        passing: list[threading.Thread] = []
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            passing.append(threading.Thread(target=self._connect, args=(connection, self.to), daemon=True))
            passing[-1].start()
        for thread in passing:
            thread.join(300)

    def _connect(self, connection: socket.socket, port: int) -> None:
        with connection, socket.create_connection(("127.0.0.1", port)) as service:
            back = threading.Thread(target=_pass, args=(service, connection), daemon=True)
            back.start()
            _pass(connection, service)
            back.join(300)


def _pass(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one of the two has closed


@contextmanager
def front() -> Iterator[Front]:
    """An address for the duration of a block."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        made = Front(listener)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(300)
