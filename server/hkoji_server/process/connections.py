"""Connections with deadlines and limits, so that slow or too many clients do not hold up the others.

uvicorn closes a connection that is idle after an answer. But it waits for ever for the rest of a request and for a
client that does not read, and it keeps any number of headers. Here a request must be complete some seconds after its
beginning, its address and headers have a maximal size, the client must read its answer, and a process has a maximal
number of connections, of which one address has only a share. Refusals are problem documents too, and end the
connection. A trusted proxy is not limited by its address: it has the connections of all its clients.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hkoji_server.log import REFUSED
from hkoji_server.service.players.limits import PlacesOfAddresses, counted_name

MOST_HEAD: Final = 32_768
"""The most bytes of a request outside its body. The largest stream cursor has about 10,300."""

_KINDS: Final = {
    400: ("invalid", "it is not an HTTP request"),
    408: ("too-slow", "the request was not complete in time; nothing was changed"),
    429: ("too-many-requests", "too many connections from this address; nothing was changed"),
    431: ("too-large", f"address and headers of the request are larger than {MOST_HEAD} bytes; nothing was changed"),
    503: ("too-busy", "the service has reached its limit of connections; nothing was changed"),
}
_END_OF_HEAD: Final = b"\r\n\r\n"
_MOST_AHEAD: Final = 128
"""The most requests that may be sent ahead on a connection, before the first of them is answered."""
_RETRY_AFTER: Final = (429, 503)
"""The refusals after which a client may try again a little later."""


class _TooMuchError(Exception):
    """Ends the parsing of a request that is already too large, or of one too many."""


class JoinedWrites:
    """A transport that sends the head of an answer together with its body.

    uvicorn writes them one after the other: that is two system calls, and the client wakes up twice. A head waits for
    what is written next, at most until the other callbacks of this turn of the loop have run. Nothing is written to a
    connection that the client has reset: uvloop raises an error for it until uvicorn learns of the end.
    """

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:  # Any: all else is the transport's
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Returns whether the connection is being closed."""
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Sends bytes, with a head that waits."""
        head = self._head
        if self._transport.is_closing():
            return
        if head:
            self._head = b""
            self._transport.write(head + data)
        elif data.endswith(_END_OF_HEAD):
            self._head = data
            self._loop.call_soon(self._send_head)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Sends a head that waits, and closes the connection."""
        self._send_head()
        self._transport.close()

    def _send_head(self) -> None:
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)


class GuardedConnection(HttpToolsProtocol):
    """A connection. `connection_class` makes subclasses with the limits of a process."""

    most: int = 10_000
    patience: float = 20.0
    places: PlacesOfAddresses = PlacesOfAddresses(0)

    _place: str | None = None
    """The address for which this connection is counted; None if it is not counted."""

    _since: float | None = None
    """When the unfinished request began; for a new connection, when the connection was made."""
    _stuck: float | None = None
    """Since when the client has not read its answer."""
    _head: int = 0
    """The size of the request's address and of its complete headers."""
    _outside: int = 0
    """The bytes received after the piece in which the request began, without its body. Unfinished headers count too."""
    _begun: bool = False
    """Whether a request began in the current piece."""
    _payload: int = 0
    """How many bytes of the current piece are body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own signature
        """Accepts the connection, or refuses it."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type] # as far as uvicorn uses it
        self._since = self.loop.time()
        if len(self.connections) > self.most:
            self._refuse(503)
        elif not self._take_place():
            self._refuse(429)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        place, self._place = self._place, None
        if place is not None:
            self.places.leave(place)
        self.ended()

    @staticmethod
    def ended() -> None:
        """Called when a connection has ended; subclasses have their own."""

    @staticmethod
    def is_proxy(address: str) -> bool:  # noqa: ARG004 # subclasses know their proxies
        """Returns whether an address is a trusted proxy's."""
        return False

    def _take_place(self) -> bool:
        address = self.client[0] if self.client else ""
        if self.is_proxy(address):
            return True
        name = counted_name(address)
        if not self.places.take(name):
            return False
        self._place = name
        return True

    def data_received(self, data: bytes) -> None:
        self._begun, self._payload = False, 0
        super().data_received(data)
        if not self._begun:
            self._outside += len(data) - self._payload
        if self._outside > MOST_HEAD and self._since is not None and not self.transport.is_closing():
            self._refuse(431)

    def on_message_begin(self) -> None:
        self._since = self.loop.time()
        self._head, self._outside, self._begun = 0, 0, True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handles a header, or a trailer after a chunked body."""
        self._count(len(name) + len(value) + len(b": \r\n"))
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Handles a part of the body. The application limits its size."""
        self._payload += len(body)
        super().on_body(body)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > MOST_HEAD:
            raise _TooMuchError

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_AHEAD:
            raise _TooMuchError
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Handles the end of an answer. More is read when all requests that were sent ahead have been begun."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        self._since = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Notes that the client does not read."""
        self._stuck = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Notes that the client reads again."""
        self._stuck = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 # the message may quote the request
        """Refuses a request that is not HTTP, or whose headers are too large."""
        self._refuse(431 if self._head > MOST_HEAD else 400)

    def expire(self, now: float) -> None:
        """Closes the connection if its time is up. The server calls it once a second."""
        if self.transport.is_closing():
            return
        if self._stuck is not None and now - self._stuck > self.patience:
            self.transport.abort()
        elif self._since is not None and now - self._since > self.patience:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        code, detail = _KINDS[status]
        title = HTTPStatus(status).phrase
        value: dict[str, Any] = {"type": f"/problems/{code}", "title": title, "status": status}
        body = json.dumps({**value, "detail": detail, "code": code}).encode()
        lines = [f"HTTP/1.1 {status} {title}", "content-type: application/problem+json", "cache-control: no-store"]
        lines += [
            f"content-length: {len(body)}",
            "connection: close",
            *(("retry-after: 5",) if status in _RETRY_AFTER else ()),
        ]
        cycle = self.cycle
        # The refusal must not be written into the answer to an earlier request, which may not be complete yet.
        if not self.pipeline and (
            cycle is None or cycle.response_complete or (cycle.more_body and not cycle.response_started)
        ):
            self.transport.write("".join(f"{line}\r\n" for line in (*lines, "")).encode() + body)
            if cycle is not None and not cycle.response_complete:
                cycle.scope["state"][REFUSED] = status
        self.transport.close()


def connection_class(
    most: int, patience: float, *, of_address: int, proxies: Collection[str], ended: Callable[[], None]
) -> type[GuardedConnection]:
    """Returns the class of connections of a process: at most `most`, and `of_address` of one address (0: any number).

    `proxies` are the addresses and networks of trusted proxies, which may have any number. `ended` is called when a
    connection has ended.
    """
    members = {
        "most": most,
        "patience": patience,
        "places": PlacesOfAddresses(of_address),
        "is_proxy": staticmethod(_within(proxies)),
        "ended": staticmethod(ended),
    }
    return type("GuardedConnection", (GuardedConnection,), members)


def _within(networks: Collection[str]) -> Callable[[str], bool]:
    """Returns a function that says whether an address is in one of the networks."""
    parsed = [ipaddress.ip_network(each) for each in networks]

    def is_within(address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return any(found in network for network in parsed)

    return is_within if parsed else lambda _: False
