"""The receiver of notices: a server on loopback that records each id that it is sent, and now and then refuses one."""

from __future__ import annotations

import random
import socketserver
import threading
import time
from typing import Any, Final, NamedTuple

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
