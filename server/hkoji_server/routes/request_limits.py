"""Limits on requests: the size and media type of a body, how often one address may ask, and how many begin at once."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.errors import TooLargeError, TooManyError
from hkoji_server.routes.game_log import ONLY_REPEATS
from hkoji_server.routes.mail_stop import STOP_PREFIX
from hkoji_server.routes.players import client_address
from hkoji_server.routes.problems import answer, problem
from hkoji_server.service.players.limits import RateLimits, counted_name

_ENTRIES: Final = re.compile(r"/v1/games/[0-9a-f]{32}/entries")
_FREE: Final = ("/healthz", "/readyz")
_STREAMS: Final = "/events"
_AT_ONCE: Final = 4
_PATIENT: Final = "patient"


class BodyLimit:
    """ASGI middleware: passes on a JSON body of at most `limit` bytes as one message, else answers 413 or 415.

    The application never sees part of a body, so it never acts on a request that is refused here.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        declared, media_type = b"0", b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                declared = value
            elif name == b"content-type":
                media_type = value
        if not (declared.isdigit() and len(declared) < 19 and int(declared) <= self._limit):
            await problem(TooLargeError("the request", self._limit))(scope, receive, send)
            return
        message = await receive()
        if message.get("more_body", False):
            message = await self._rest(message, receive)
        if message["type"] == "http.disconnect":
            return  # the client left before the body was complete: there is nobody to answer and nothing to do
        body = message.get("body", b"")
        if len(body) > self._limit:
            await problem(TooLargeError("the request", self._limit))(scope, receive, send)
            return
        # Mail programs post a form to the address that stops letters, and nobody reads it.
        as_json = not scope["path"].startswith(STOP_PREFIX)
        if body and as_json and media_type.partition(b";")[0].strip().lower() != b"application/json":
            refusal = answer(415, "unsupported-media-type", "a body is sent as application/json", "", {})
            await refusal(scope, receive, send)
            return
        complete: Message | None = message

        async def replayed() -> Message:
            nonlocal complete
            given, complete = complete, None
            return given if given is not None else await receive()

        await self._app(scope, replayed, send)

    async def _rest(self, message: Message, receive: Receive) -> Message:
        """Returns the complete body as one message, or its parts up to the one that exceeds the limit, or the
        disconnection."""
        parts = [message.get("body", b"")]
        size = len(parts[0])
        while message.get("more_body", False) and size <= self._limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                return message
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        return {"type": "http.request", "body": b"".join(parts), "more_body": False}


class AddressLimit:
    """ASGI middleware: answers 429, with the time to wait, to an address that asks more often than `limits` allow.

    An entry that comes too often is still compared with the accepted ones, so that a client that has not received its
    receipt gets it. These comparisons have a limit of their own.
    """

    def __init__(self, app: ASGIApp, limits: RateLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "http" and scope["path"] not in _FREE:
            address = client_address(scope)
            try:
                if not self._limits.take_address(address):
                    await self._limits.admit_address(address)
            except TooManyError as error:
                try:
                    if scope["method"] != "POST" or not _ENTRIES.fullmatch(scope["path"]):
                        raise
                    await self._limits.admit_repeat(address)
                except TooManyError:
                    await problem(error)(scope, receive, send)
                    return
                scope[ONLY_REPEATS] = error
        await self._app(scope, receive, send)


class Turns:
    """ASGI middleware: addresses take turns. In each pass of the event loop a few requests of each address begin.

    So however many requests one address sends at once, and on however many connections, a request of another begins
    soon. Those that wait for entries are in no hurry: of all addresses together only a few begin in a pass.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._left: dict[str, int] = {}
        """How many requests may still begin in this pass, for each name of which some have begun in it or queue."""
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "http":
            waits = scope["path"].endswith(_STREAMS) or b"wait=" in scope["query_string"]
            turn = self._take(_PATIENT if waits else counted_name(client_address(scope)))
            if turn is not None:
                await turn
        await self._app(scope, receive, send)

    def _take(self, name: str) -> asyncio.Future[None] | None:
        """Returns None if a request may begin now, else a future that is done when it may."""
        loop = asyncio.get_running_loop()
        if not self._left:
            loop.call_soon(self._pass)
        left = self._left.setdefault(name, _AT_ONCE)
        if left:
            self._left[name] = left - 1
            return None
        turn = loop.create_future()
        self._queues.setdefault(name, deque()).append(turn)
        return turn

    def _pass(self) -> None:
        self._left = dict.fromkeys(self._queues, 0)
        for name, queue in [*self._queues.items()]:
            for _ in range(min(_AT_ONCE, len(queue))):
                turn = queue.popleft()
                if not turn.done():  # the request may have been cancelled
                    turn.set_result(None)
            if not queue:
                del self._queues[name]
        if self._left:
            asyncio.get_running_loop().call_soon(self._pass)
