"""A receiver of webhooks on loopback, plain or with TLS: a real HTTP server that keeps every post."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.certificates import certify


class Received(NamedTuple):
    """A post as it arrived. The names of headers are in lower case."""

    target: str
    headers: Mapping[str, str]
    body: bytes


Behaviour = Callable[[BaseHTTPRequestHandler], None]
"""Answers a post that has been read."""


def answers(status: int, **headers: str) -> Behaviour:
    """Answers with a status and no body."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return act


class Receiver:
    """The posts that came, and how the next ones are answered: `turns` one by one, then `behave`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.posts: list[Received] = []
        self.connections = 0
        self.turns: list[Behaviour] = []
        self.behave: Behaviour = answers(204)
        self.released = threading.Event()
        """Set when the test is over, for behaviours that wait."""
        self._came = threading.Condition()

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        """Keeps a post and answers it."""
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self._came:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            self.posts.append(Received(handler.path, headers, body))
            behave = self.turns.pop(0) if self.turns else self.behave
            self._came.notify_all()
        behave(handler)

    def wait_for(self, count: int, seconds: float = 60) -> list[Received]:
        """Returns the posts as soon as there are `count`, or after `seconds`."""
        with self._came:
            self._came.wait_for(lambda: len(self.posts) >= count, seconds)
            return list(self.posts)


@contextmanager
def receiver(context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Receiver]:
    """Runs a receiver on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server calls
            kept.take(self)

        do_GET = do_POST  # noqa: N815

        def setup(self) -> None:
            kept.connections += 1
            super().setup()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            return  # clients that go away in the middle of an answer are what is tested

    with Server((host, 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        kept = Receiver(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield kept
        finally:
            kept.released.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def hook() -> Iterator[Receiver]:
    """A receiver without TLS."""
    with receiver() as running:
        yield running


def certified(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Makes a certificate for host names or addresses, which nobody else signs.

    Returns the context of a server that has it, and of those who trust it.
    """
    file, key = certify(folder, *names)
    shown = file.read_text()
    file.write_text(shown + key.read_text())
    key.unlink()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(file)
    return served, ssl.create_default_context(cadata=shown)
