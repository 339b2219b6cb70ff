"""The receivers of notices: servers on loopback that record each id that they are sent, and now and then refuse one."""

from __future__ import annotations

import json
import random
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidTag

from tests.support import receiver
from tests.support.push_service import Browser

REFUSED: Final = 0.05
"""How often it refuses, before it records anything."""


class Arrival(NamedTuple):
    """An id, and the second of its arrival."""

    id: str
    at: float


class Receiver:
    """Records what arrives: all `arrivals`, and the `ids` among them. Each connection brings one line with one id."""

    def __init__(self, seed: int) -> None:
        self.arrivals: list[Arrival] = []
        self.ids: set[str] = set()
        rng, arrivals, ids = random.Random(seed), self.arrivals, self.ids

        class Handler(socketserver.StreamRequestHandler):
            """One connection."""

            def handle(self) -> None:
                line = self.rfile.readline().decode()
                if not line.endswith("\n"):
                    return  # the sender was killed meanwhile
                if rng.random() < REFUSED:
                    self.wfile.write(b"no\n")
                    return
                arrivals.append(Arrival(line.strip(), time.time()))
                ids.add(line.strip())
                self.wfile.write(b"ok\n")

        class Server(socketserver.ThreadingTCPServer):
            """Answers each connection in a thread, also while senders are being killed."""

            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A sender that was killed is no fault."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_REFUSALS: Final = (receiver.answers(500), receiver.answers(503), receiver.answers(429, Retry_After="1"))


class Pushes:
    """A push service for the browsers of all players: records the pushes that it takes, by the id in a header."""

    def __init__(self, seed: int, header: str) -> None:
        self.arrivals: list[Arrival] = []
        self.browsers: dict[str, Browser] = {}
        self._rng = random.Random(seed)
        self._header = header
        self._running = receiver.receiver()
        self._receiver = self._running.__enter__()
        self._receiver.behave = self._answer

    def browser(self, player: str) -> Browser:
        """A new browser of a player."""
        self.browsers[player] = Browser(self._receiver, f"/{player}")
        return self.browsers[player]

    def close(self) -> None:
        self._running.__exit__(None, None, None)

    def faults(self) -> Iterator[str]:
        """The pushes that their browser cannot open, or that tell of something else than their id."""
        for each in self._receiver.posts:
            game, _, event, channel = each.headers[self._header].split(".")
            player = channel.removeprefix("push-")
            try:
                text = json.loads(self.browsers[player].open(each.body))
            except InvalidTag:
                yield f"{each.headers[self._header]} was encrypted for another browser"
                continue
            if (text["game"], text["event"], each.target) != (game, event, f"/{player}"):
                yield f"{each.headers[self._header]} tells {text} at {each.target}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        if self._rng.random() < REFUSED:
            self._rng.choice(_REFUSALS)(handler)
            return
        # The same rules judge both channels of a player, the browser and the other one.
        self.arrivals.append(Arrival(handler.headers[self._header].replace(".push-", ".of-"), time.time()))
        receiver.answers(201)(handler)
