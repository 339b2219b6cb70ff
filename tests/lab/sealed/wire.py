"""A proxy before a service that keeps every byte in both directions with its time, and the messages of HTTP in them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

_CHUNK: Final = 65_536


class Message(NamedTuple):
    """A request or an answer. `parts` are the head, and the body or its chunks, each with the time of its first byte.

    `name` tells requests and answers apart, and is another one for each.
    """

    name: str
    start: str
    parts: tuple[tuple[float, bytes], ...]

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(part for _, part in self.parts[1:])

    @property
    def json(self) -> Any:  # Any: JSON
        """The decoded body; None if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass
class Stream:
    """One direction of a connection: its bytes, and from which place on they came at which time."""

    data: bytearray = field(default_factory=bytearray)
    places: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def add(self, chunk: bytes) -> None:
        """Keeps bytes that have come now."""
        self.places.append(len(self.data))
        self.times.append(time.monotonic())
        self.data += chunk

    def time_of(self, place: int) -> float:
        """The time of the byte there."""
        return self.times[bisect_right(self.places, place) - 1]

    def messages(self, name: str, *, answers: bool) -> Iterator[Message]:
        """All messages, the last one perhaps not whole."""
        data, at, number = bytes(self.data), 0, 0
        while (end := data.find(b"\r\n\r\n", at)) >= 0:
            end += 4
            start, *fields = data[at:end].decode("latin-1").split("\r\n")
            headers = {key.lower(): value.strip() for key, _, value in (each.partition(":") for each in fields)}
            parts, then = [(self.time_of(at), data[at:end])], end
            if headers.get("transfer-encoding") == "chunked":
                while (line := data.find(b"\r\n", then)) >= 0:
                    size, then = int(data[then:line], 16), line + 2
                    parts.append((self.time_of(min(then, len(data) - 1)), data[then : then + size]))
                    then += size + 2
                    if not size:
                        break
                else:
                    then = len(data)
            elif "content-length" in headers or not answers or start.split()[1] in ("204", "304"):
                then = end + int(headers.get("content-length", 0))
                parts.append((self.time_of(end - 1), data[end:then]))
            else:
                then = len(data)
                parts.append((self.time_of(end - 1), data[end:]))
            yield Message(f"{name}.{number} {start}", start, tuple(parts))
            at, number = then, number + 1


class Proxy:
    """Listens on a port of its own, and passes everything on to `target`, which is set before the first connection."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: Final[int] = self._socket.getsockname()[1]
        self.url: Final = f"http://127.0.0.1:{self.port}"
        self.target = 0
        self.planted = b""
        """A header that is added to the answers, to see whether a search finds it."""
        self.connections: Final[list[tuple[Stream, Stream]]] = []

    def exchanges(self) -> Iterator[tuple[Message, Message]]:
        """All requests with their answers."""
        for number, (sent, got) in enumerate(list(self.connections)):
            requests = sent.messages(f"request {number}", answers=False)
            yield from zip(requests, got.messages(f"answer {number}", answers=True), strict=False)

    def messages(self) -> Iterator[Message]:
        """All requests and answers."""
        for number, (sent, got) in enumerate(list(self.connections)):
            yield from sent.messages(f"request {number}", answers=False)
            yield from got.messages(f"answer {number}", answers=True)

    async def serve(self, stopped: asyncio.Event) -> None:
        """Serves until it is stopped."""
        async with await asyncio.start_server(self._connected, sock=self._socket):
            await stopped.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent, got = Stream(), Stream()
        self.connections.append((sent, got))
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self._pump(reader, back, sent), self._pump(there, writer, got, answers=True))

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: Stream, *, answers: bool = False
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                if answers and self.planted and chunk.startswith(b"HTTP/1.1 "):
                    first, _, rest = chunk.partition(b"\r\n")
                    chunk = first + b"\r\n" + self.planted + b"\r\n" + rest
                kept.add(chunk)
                writer.write(chunk)
                await writer.drain()
        with suppress(OSError):
            writer.close()


@contextmanager
def recording() -> Iterator[Proxy]:
    """A proxy for the duration of a block, in a thread of its own."""
    proxy, loop, stopped = Proxy(), asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        loop.run_until_complete(proxy.serve(stopped))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, name="proxy")
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
