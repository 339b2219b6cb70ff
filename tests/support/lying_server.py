"""The service of `tests.support.adversary`, which can lie, at an address for the client of pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hkoji.client.transport import HttpAnswer
from hkoji.rules.events import Seat
from tests.support.adversary import HostileService
from tests.support.memory_service import AT
from tests.support.service import Answer


class LyingServer:
    """The service at `url`. `headers` are added to each answer; `change` returns what is sent in place of one."""

    def __init__(self, service: HostileService) -> None:
        self.service = service
        self.headers = {"Hkoji-Time": AT}
        self.change: Callable[[str, HttpAnswer], HttpAnswer] = lambda _path, answer: answer
        self.redirect: str | None = None
        self.asked: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
                answer = server.answer(self.command, self.path, body, token)
                self.send_response(307 if server.redirect else answer.status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                if server.redirect:
                    self.send_header("Location", server.redirect + self.path)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_POST = do_GET  # noqa: N815 # the library's name

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the library's name
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, method: str, path: str, body: bytes, token: str | None) -> HttpAnswer:
        """The answer, with the origin of this address, and in a view the decisions that are legal."""
        with self._lock:
            self.asked.append((method, path))
            before, self.service.origin = self.service.origin, self.url
            try:
                answer = self.service.answer(method, path, body, token)
            finally:
                self.service.origin = before
            parts = path.partition("?")[0].split("/")
            if parts[-1] == "view" and answer.status == 200:
                value = json.loads(answer.body)
                value["legal"] = self.legal(parts[3], value["seat"])
                if value["actor"] == 1 - value["seat"]:
                    head = self.service.answer("GET", f"/v1/games/{parts[3]}/head", None, None)
                    value["signed_head"] = json.loads(head.body)
                answer = answer._replace(body=json.dumps(value).encode())
            return self.change(path.partition("?")[0], answer)

    def legal(self, game: str, seat: Seat) -> list[str]:
        """The decisions that a seat may make now."""
        course = self.service.games[game].refereed.course
        return list(course.state.legal_actions()) if course.actor == seat and course.state else []

    def ask(
        self, method: str, path: str, body: object = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:
        """A request of a player without a page: `tests.support.service.Asked`."""
        sent = raw if raw is not None else json.dumps(body).encode() if body else b""
        answer = self.answer(method, path, sent, token)
        return Answer(answer.status, {}, answer.body)

    @property
    def posts(self) -> int:
        """How often anything was sent to the service."""
        return sum(method == "POST" for method, _ in self.asked)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def lying_server(service: HostileService) -> Iterator[LyingServer]:
    """The service at an address, for the duration of a block."""
    server = LyingServer(service)
    try:
        yield server
    finally:
        server.close()
