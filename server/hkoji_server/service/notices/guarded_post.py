"""Posts to addresses that players have given, guarded against misuse. docs/spec/http.md, "Notices".

A service that posts wherever players say could be used to reach machines behind its own firewall, or to probe them. So
the name of a receiver is resolved once, every address of it must be one of the public internet, and exactly these
addresses are connected to: a name that resolves to another address later changes nothing. The certificate must be that
of the name. No redirect is followed and no proxy is used. A post takes at most `LONGEST` seconds in all, and at most
`MOST_BYTES` of the answer are read. The error is the same for every post without an answer. So it tells nobody what
is behind the firewall.

Larger HTTP clients resolve names themselves, so h11, which parses the answer, is fed here by a connection of asyncio.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import h11

from hkoji import __version__
from hkoji.errors import NotDeliveredError, WrongValueError
from hkoji.messages.text import Text, tell

LONGEST: Final = 10.0
"""Seconds for a post and its answer together, from resolving the name on."""
MOST_BYTES: Final = 4096
"""The bytes that are read of an answer, head and body together."""
LONGEST_URL: Final = 1000
_MOST_ADDRESSES: Final = 4
"""How many addresses of a name are tried."""
_LONGEST_CONNECT: Final = 3.0
"""Seconds for the connection to each of them."""
_LONGEST_CLOSE: Final = 1.0
_ASKING: Final = threading.BoundedSemaphore(256)
"""A place for each name whose addresses are asked for: more than couriers have places, so that nobody waits for one."""
_FREE_PAUSE: Final = 0.05

_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = rf"(?:{_LABEL}\.)*{_LABEL}"
_URL: Final = re.compile(
    rf"(?P<scheme>[A-Za-z]+)://(?:(?P<name>{_NAME})|\[(?P<six>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?P<target>(?:/[!$-;=@-\[\]_a-z~]*)?(?:\?[!$-;=?-\[\]_a-z~]*)?)"
)
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
"""A host whose last label is a number is an IPv4 address, in one of many spellings."""
UNREACHABLE: Final = tell(
    "no answer came: the name has no address on the public internet, the receiver cannot be reached, its certificate "
    "does not fit the name, or it takes too long"
)
"""The one reason for every post without an answer."""
_RETRY_AFTER: Final = re.compile(rb"[0-9]{1,6}")

_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# Each address of 6to4 and Teredo stands for one of IPv4, and the local network may forward to it. Of the others,
# not every Python knows that they belong to nobody, or to whatever machine is near.
_NOT_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host, given its name and the port. Raises `OSError`."""


class WebhookUrl(NamedTuple):
    """An address to post to. `target` is what follows the host: a path, perhaps with a query."""

    secure: bool
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, and the port if it is not the usual one."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _PORTS[self.scheme] else f"{shown}:{self.port}"

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return "https" if self.secure else "http"

    @property
    def text(self) -> str:
        """The whole address. It may hold a secret: some receivers know a sender by the path alone."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def shown(self) -> str:
        """The address without what may be secret."""
        return f"{self.scheme}://{self.authority}/..."


class PostAnswer(NamedTuple):
    """The status of an answer, and the seconds that it asks to wait."""

    status: int
    retry_after: int | None = None


def parse_webhook_url(text: str, *, private: bool = False) -> WebhookUrl:
    """Reads the address of a webhook. Raises `MalformedError`.

    With `private` it may have any port, and name a private address, also by http.
    """
    found = _URL.fullmatch(text) if len(text) <= LONGEST_URL else None
    if len(text) > LONGEST_URL:
        raise _malformed(tell("the webhook address must be {limit} characters long at most", limit=LONGEST_URL))
    if found is None or found["scheme"].lower() not in _PORTS:
        raise _malformed(tell("the webhook address must look like https://host/path"))
    secure = found["scheme"].lower() == "https"
    if not (secure or private):
        raise _malformed(tell("the webhook address must begin with https"))
    port = int(found["port"] or _PORTS["https" if secure else "http"])
    if not 0 < port < 65536 or not (private or port == _PORTS["https"]):
        raise _malformed(tell("the webhook address must use port 443"))
    host = (found["six"] or found["name"]).lower()
    literal = found["six"] is not None or _NUMERIC.fullmatch(host) is not None
    if literal:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            raise _malformed(tell("the webhook address must have the name or the IP address of a host")) from None
        if not (private or is_public(host)):
            raise _malformed(tell("the webhook address must be on the public internet"))
        host = str(address)
    elif len(host) > 253:
        raise _malformed(tell("the webhook address must have the name or the IP address of a host"))
    target = found["target"]
    return WebhookUrl(secure, host, port, target if target.startswith("/") else f"/{target}")


def is_public(text: str) -> bool:
    """Returns whether an IP address is one of a single machine on the public internet."""
    address = ipaddress.ip_address(text)
    if address.version == 6:
        inner = address.ipv4_mapped
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(str(inner))
        if address not in _UNICAST:
            return False
    return (
        address.is_global
        and not address.is_multicast
        and not any(address.version == each.version and address in each for each in _NOT_PUBLIC)
    )


async def resolve(host: str, port: int) -> Sequence[str]:
    """Returns the IP addresses that the system has for a host. Raises `OSError`."""
    # A name server may let a question wait, and a thread that asks cannot be ended. Those of the event loop are few,
    # and the store needs them; and a process that ends would wait for those of a pool.
    while not _ASKING.acquire(blocking=False):
        await asyncio.sleep(_FREE_PAUSE)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Sequence[str]] = loop.create_future()

    def settle(found: Sequence[str] | Exception) -> None:
        if answered.done():  # it was not waited for
            return
        if isinstance(found, Exception):
            answered.set_exception(found)
        else:
            answered.set_result(found)

    def ask() -> None:
        found: Sequence[str] | Exception
        try:
            told = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = [str(address[0]) for *_, address in told]
        except Exception as error:  # raised where the answer is awaited
            found = error
        _ASKING.release()
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=ask, name="hkoji-resolves", daemon=True).start()
    return await answered


class GuardedPoster:
    """Posts to addresses that players have given. With `private` these may be in the operator's own network.

    `context` returns the certificates that are trusted; by default they are those of the system.
    """

    def __init__(
        self,
        *,
        private: bool = False,
        resolve: Resolve = resolve,
        context: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        longest: float = LONGEST,
    ) -> None:
        self.private: Final = private
        self._resolve = resolve
        self._make_context = context
        self._longest = longest

    @cached_property
    def _context(self) -> ssl.SSLContext:
        # It takes tens of milliseconds to make, and a service without webhooks needs none.
        return self._make_context()

    async def post(self, url: WebhookUrl, body: bytes, headers: Mapping[str, str]) -> PostAnswer:
        """Posts `body` and returns the answer, whatever its status. Raises `NotDeliveredError` if there is none."""
        try:
            async with asyncio.timeout(self._longest):
                return await self._post(url, body, headers)
        except (OSError, ValueError, h11.ProtocolError) as error:  # `TimeoutError` and those of TLS are `OSError`
            raise NotDeliveredError(UNREACHABLE) from error

    async def _post(self, url: WebhookUrl, body: bytes, headers: Mapping[str, str]) -> PostAnswer:
        addresses = list(dict.fromkeys(await self._resolve(url.host, url.port)))
        self._verify(url, addresses)
        reader, writer = await self._connect(url, addresses[:_MOST_ADDRESSES])
        try:
            return await _exchange(url, reader, writer, body, headers)
        finally:
            writer.transport.abort()  # what else comes is of no interest, and must not be waited for

    def _verify(self, url: WebhookUrl, addresses: Sequence[str]) -> None:
        """Raises `ValueError` if the service must not connect to these addresses."""
        public = [is_public(each) for each in addresses]
        if not public:
            raise ValueError("the host has no address")
        if not (all(public) or self.private):
            raise ValueError("an address of the host is not one of the public internet")
        if not url.secure and any(public):
            raise ValueError("http is only for private addresses")

    async def _connect(
        self, url: WebhookUrl, addresses: Sequence[str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Returns a connection to the first of the addresses that takes one. Raises `OSError`."""
        secure: dict[str, Any] = {  # Any: arguments by name
            "ssl": self._context if url.secure else None,
            "server_hostname": url.host if url.secure else None,
            "ssl_handshake_timeout": self._longest if url.secure else None,
            "ssl_shutdown_timeout": _LONGEST_CLOSE if url.secure else None,
        }
        failure: OSError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(_LONGEST_CONNECT):
                    # The host is an IP address, which asyncio does not resolve again.
                    return await asyncio.open_connection(address, url.port, limit=MOST_BYTES, **secure)
            except OSError as error:
                failure = error
        assert failure is not None
        raise failure


async def _exchange(
    url: WebhookUrl,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    body: bytes,
    headers: Mapping[str, str],
) -> PostAnswer:
    """Sends a request and returns the head of the answer. Raises `OSError` and `h11.ProtocolError`."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_BYTES)
    fields = {
        "Host": url.authority,
        "User-Agent": f"hkoji/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **headers,
    }
    request = h11.Request(method="POST", target=url.target, headers=list(fields.items()))
    for part in (request, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
    left = MOST_BYTES
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            return PostAnswer(event.status_code, _retry_after(event))
        if event is h11.NEED_DATA:
            if not left:
                raise h11.RemoteProtocolError("the answer is too long")
            data = await reader.read(left)
            left -= len(data)
            connection.receive_data(data)
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionError("the receiver has closed the connection")


def _retry_after(response: h11.Response) -> int | None:
    for name, value in response.headers:
        if name == b"retry-after":
            return int(value) if _RETRY_AFTER.fullmatch(value) else None
    return None


def _malformed(reason: Text) -> WrongValueError:
    return WrongValueError(
        tell("webhook address"),
        reason,
        hint=tell("nothing was changed; an address looks like https://example.org/path"),
    )
