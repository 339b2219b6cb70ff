"""Requests at a steady pace beside a measurement, from a thread with a connection of its own."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from tests.support.service import Service


@contextmanager
def paced(
    service: Service, rate: float, request: Callable[[http.client.HTTPConnection], object]
) -> Iterator[list[float]]:
    """Makes a request `rate` times a second for the duration of a block. Yields how long each took, in seconds."""
    took: list[float] = []
    ended = threading.Event()

    def send() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
            due = time.perf_counter()
            while not ended.wait(max(0.0, due - time.perf_counter())):
                began = time.perf_counter()
                request(connection)
                took.append(time.perf_counter() - began)
                due += 1 / rate

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield took
    finally:
        ended.set()
        thread.join()
