"""A cheap load generator: requests written beforehand, one loop over plain sockets, in a separate process.

Each connection comes from an address of this machine that no other has, as clients do, sends one request, waits for its
complete answer, and sends the next one.
"""

from __future__ import annotations

import multiprocessing
import selectors
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import NamedTuple, Protocol


class Fired(NamedTuple):
    """The total time, the time of each answer, in seconds, and the generator's own processor time."""

    seconds: float
    latencies: list[float]
    processor: float


class Fire(Protocol):
    """Sends each connection's requests to a port of this machine."""

    def __call__(self, port: int, plans: Sequence[Sequence[bytes]], status: int = 201) -> Fired:
        """The required status of every answer."""


@contextmanager
def generator() -> Iterator[Fire]:
    """The load generator's process, for the duration of a block."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:

        def fire(port: int, plans: Sequence[Sequence[bytes]], status: int = 201) -> Fired:
            return pool.submit(_fire, port, plans, status).result()

        yield fire


class _Connection:
    """One client: its remaining requests, and the bytes received of the current answer."""

    def __init__(self, number: int, port: int, plan: Sequence[bytes]) -> None:
        own = f"127.1.{number >> 8}.{number & 255}"
        self.socket = socket.create_connection(("127.0.0.1", port), source_address=(own, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = iter(plan)
        self._heard = b""
        self.sent = 0.0

    def ask(self) -> bool:
        """Sends the next request, if there is one."""
        request = next(self._rest, None)
        if request is None:
            return False
        self.sent = perf_counter()
        self.socket.sendall(request)
        return True

    def hear(self) -> bytes | None:
        """The complete answer, if it has arrived."""
        part = self.socket.recv(65536)
        assert part, "the service has closed a connection"
        self._heard += part
        head, separator, body = self._heard.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = int(head.lower().partition(b"content-length:")[2].split(maxsplit=1)[0])
        if len(body) < length:
            return None
        heard, self._heard = self._heard, b""
        return heard


def _fire(port: int, plans: Sequence[Sequence[bytes]], status: int) -> Fired:
    expected = f"HTTP/1.1 {status} ".encode()
    latencies: list[float] = []
    with selectors.DefaultSelector() as selector:
        connections = [_Connection(number, port, plan) for number, plan in enumerate(plans, 1)]
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        spent, started = process_time(), perf_counter()
        open_ones = sum(connection.ask() for connection in connections)
        while open_ones:
            for key, _ in selector.select():
                connection = key.data
                if (answer := connection.hear()) is None:
                    continue
                latencies.append(perf_counter() - connection.sent)
                assert answer.startswith(expected), answer
                if not connection.ask():
                    selector.unregister(connection.socket)
                    connection.socket.close()
                    open_ones -= 1
        return Fired(perf_counter() - started, latencies, process_time() - spent)
