"""Persistent connections of a load generator: requests written by hand, pipelined.

A client library costs more than the service's own work on a request, so it would be what is measured.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple, cast


class Reply(NamedTuple):
    """An answer of the service."""

    status: int
    body: bytes


class Pipe(asyncio.Protocol):
    """One connection. Answers come in the order of the requests; those cut off raise `ConnectionError`."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport does not inherit from asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the service has gone away"))

    def ask(self, request: bytes) -> asyncio.Future[Reply]:
        """Sends bytes at once. Returns a future of the answer."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._transport is None:
            future.set_exception(ConnectionResetError("the service has gone away"))
            return future
        self._waiting.append(future)
        self._transport.write(request)
        return future

    def data_received(self, data: bytes) -> None:
        self._data += data
        while self._waiting and (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            place = head.find(b"\r\ncontent-length:")
            assert place >= 0, head
            length = int(head[place + 17 :].split(b"\r\n", 1)[0])
            if len(self._data) < end + 4 + length:
                return
            body = self._data[end + 4 : end + 4 + length]
            self._data = self._data[end + 4 + length :]
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(Reply(int(head[9:12]), body))

    def close(self) -> None:
        """Closes the connection."""
        if self._transport is not None:
            self._transport.close()


async def connect(port: int) -> Pipe:
    """A connection to a loopback port."""
    _, pipe = await asyncio.get_running_loop().create_connection(Pipe, "127.0.0.1", port)
    return pipe


def posted(path: str, body: bytes, token: str = "") -> bytes:
    """A POST request with JSON."""
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{login}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def got(path: str, token: str = "") -> bytes:
    """A GET request."""
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{login}\r\n".encode()
