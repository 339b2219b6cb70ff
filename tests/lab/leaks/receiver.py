"""The receiver of all webhooks and pushes of a world, and what is compared of its notices: posts, rows, log lines.

Nothing of this may depend on hidden cards, whoever owns the channel. So it must be the same in every world, but for
hashes and the signatures over them. A push is compared as its browser reads it: opened, and its proof verified.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji_server.service.notices.delivery import NoticeDelivery
from hkoji_server.service.notices.guarded_post import GuardedPoster, WebhookUrl

from tests.support.push_service import Browser, proof_of
from tests.support.receiver import Received

TABLES: Final = {
    "outbox": "SELECT * FROM outbox WHERE channel IN (SELECT id FROM channel WHERE player IN (?, ?, ?)) "
    "ORDER BY game, seq, event, channel",
    "channel": "SELECT * FROM channel WHERE player IN (?, ?, ?) ORDER BY id",
    "talk": "SELECT * FROM talk WHERE game IN (SELECT game FROM game WHERE host IN (?, ?, ?)) ORDER BY game, number",
    "setting": "SELECT * FROM setting WHERE player IN (?, ?, ?) ORDER BY player",
    "block": "SELECT * FROM block WHERE player IN (?, ?, ?) ORDER BY player, other",
}
"""The tables of what is not in logs, and how the rows of three players are read."""
_ID: Final = re.compile(rb"\r\nwebhook-id: ([^\r]+)\r\n", re.IGNORECASE)
_AT: Final = re.compile(rb"\r\nwebhook-timestamp: ([^\r]+)\r\n", re.IGNORECASE)
_PROOF: Final = re.compile(rb"\r\nAuthorization: ([^\r]+)", re.IGNORECASE)
_LOOKS: Final = 3
"""One look does not take a second notice to a channel that is busy, nor what the first one has caused."""


class Posted(NamedTuple):
    """The bytes of a post as they went into its connection; of a push, as its browser reads it."""

    wire: bytes

    @property
    def id(self) -> bytes:
        """The id of the notice."""
        found = _ID.search(self.wire)
        return b"" if found is None else found[1]

    @property
    def is_push(self) -> bool:
        """Whether it went to a browser."""
        return not self.id

    @property
    def event(self) -> str:
        """The event that it tells."""
        if self.is_push:
            return str(json.loads(self.wire.partition(b"\r\n\r\n")[2])["event"])
        parts = self.id.decode().split(".")
        return parts[2] if len(parts) == 4 else parts[0]

    @property
    def message(self) -> bytes:
        """The text under its signature: docs/spec/http.md, "Webhooks"."""
        found = _AT.search(self.wire)
        assert found, self.wire
        return self.id + b"." + found[1] + b"." + self.wire.partition(b"\r\n\r\n")[2]


class _Connection:
    """The receiver's end of a connection, in place of a stream."""

    def __init__(self) -> None:
        self.written = b""
        self.transport = self

    def write(self, data: bytes) -> None:
        self.written += data

    async def drain(self) -> None:
        """Does nothing: all has been taken."""

    def abort(self) -> None:
        """Does nothing: there is no socket."""


class Receiver(GuardedPoster):
    """Posts as the service does, up to the connection, which leads nowhere: `failing` chooses the answer."""

    def __init__(self) -> None:
        super().__init__(resolve=_resolve)
        self.failing = False
        self.browsers: dict[str, Browser] = {}
        """The browsers that are told, by the paths of their addresses."""
        self._connections: list[_Connection] = []

    def take(self) -> list[Posted]:
        """The posts since the last call. Channels are served at the same time, so it is sorted."""
        found = [Posted(self._opened(each.written)) for each in self._connections]
        self._connections.clear()
        return sorted(found, key=lambda each: (each.id, each.wire))

    def _opened(self, wire: bytes) -> bytes:
        """A post; of a push the text in place of what is encrypted, and what its proof claims in place of the proof."""
        head, _, body = wire.partition(b"\r\n\r\n")
        proof = _PROOF.search(head)
        if proof is None:
            return wire
        text = self.browsers[head.split()[1].decode()].open(body)
        claims = proof_of(Received("", {"authorization": proof[1].decode()}, b""))
        return head.replace(proof[1], repr(claims).encode()) + f"\r\nencrypted: {len(body)}\r\n\r\n".encode() + text

    async def _connect(self, url: WebhookUrl, addresses: Sequence[str]) -> Any:  # Any: no real streams
        reader, writer = asyncio.StreamReader(), _Connection()
        reader.feed_data(b"HTTP/1.1 500 \r\n\r\n" if self.failing else b"HTTP/1.1 204 \r\n\r\n")
        self._connections.append(writer)
        return reader, writer


async def _resolve(host: str, port: int) -> Sequence[str]:  # every name has one public address
    return ("9.9.9.9",)


class _Middle(random.Random):
    """No chance: worlds that fail in the same way pause for the same time, in whatever order."""

    def uniform(self, a: float, b: float) -> float:
        """The middle of the range."""
        return (a + b) / 2


@contextmanager
def delivery_by_hand() -> Iterator[list[NoticeDelivery]]:
    """A service that starts during the block delivers nothing by itself. Its delivery is put into the list."""
    found: list[NoticeDelivery] = []

    def deliver(delivery: NoticeDelivery) -> Coroutine[Any, Any, object]:  # Any: as the service calls it
        delivery._chance = _Middle()
        found.append(delivery)
        return asyncio.Event().wait()

    with patch("hkoji_server.app.deliver_at_intervals", deliver):
        yield found


async def send_what_is_due(delivery: NoticeDelivery) -> None:
    """Sends everything that is due, as a process of the service would in some looks."""
    for _ in range(_LOOKS):
        await delivery.look()
        await delivery.settle()
