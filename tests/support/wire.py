"""A wire between browsers and a service: what goes over it, whatever page, worker or cache asks for it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

_REQUEST: Final = re.compile(rb"(?:GET|POST|PUT|DELETE) (/\S*) HTTP/1\.1\r\n")
"""The body before a request ends with no newline."""
_LENGTH: Final = re.compile(rb"^content-length: (\d+)\r\n", re.MULTILINE | re.IGNORECASE)


class PageLoad(NamedTuple):
    """Requests of a browser from one page on to the next: their paths, and the bytes of all bodies as they are sent.

    A stream of events says no length, and counts as nothing.
    """

    paths: tuple[str, ...]
    size: int


class Wire:
    """Passes bytes on to `port` of this machine."""

    def __init__(self) -> None:
        self.port = 0
        self._heard: list[bytes] = []
        """The paths of requests and the lengths of answers, in the order in which they came."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listening]
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def loads(self) -> list[PageLoad]:
        """All loads, page by page."""
        found: list[PageLoad] = []
        for each in self._heard:
            path = each.decode()
            if path.startswith(("/g/", "/i/")):
                found.append(PageLoad((path,), 0))
            elif found and path.startswith("/"):
                found[-1] = found[-1]._replace(paths=(*found[-1].paths, path))
            elif found:
                found[-1] = found[-1]._replace(size=found[-1].size + int(path))
        return found

    def serve(self) -> None:
        """Takes connections until the wire is closed."""
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.port))
            self._open += near, far
            for way in ((near, far, _REQUEST), (far, near, _LENGTH)):
                self._threads.append(threading.Thread(target=self._pass_on, args=way, daemon=True))
                self._threads[-1].start()

    def close(self) -> None:
        """Closes all connections, which ends all threads."""
        for each in self._open:
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()

    def _pass_on(self, source: socket.socket, target: socket.socket, pattern: re.Pattern[bytes]) -> None:
        whole, known = b"", 0
        with suppress(OSError):  # either side has closed its connection
            while part := source.recv(65536):
                whole += part
                found = pattern.findall(whole)
                self._heard += found[known:]
                known = len(found)
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def wire() -> Iterator[Wire]:
    """A wire whose `port` is to be set before anybody connects."""
    made = Wire()
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    yield made
    made.close()
    thread.join()
