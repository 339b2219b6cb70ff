"""The middleware that each request passes: limits, metrics by route, and the frame with number, headers and log line.

The log line has method, path, status, milliseconds and number. It has no query, header, body, name, code of a link or
token of a letter. The route of a metric is a template of the API, never a path: paths contain names and games.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from time import perf_counter
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.errors import TooLargeError, TooManyError
from hkoji_server.log import CLIENT_LEFT, REFUSED, log
from hkoji_server.routes.games import ONLY_REPEATS
from hkoji_server.routes.plain import INVITATION_PATH, STOP_PREFIX, client_address
from hkoji_server.routes.problems import answer, problem
from hkoji_server.service.players.limits import RateLimits, counted_name

NUMBER: Final = b"x-request-id"
TIME: Final = b"hkoji-time"
"""The header with the time by the clock of the service. Servers before it may write `Date` by theirs."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_POLICY: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_HTTPS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")
_LINKS: Final = INVITATION_PATH.partition("{")[0]
_OF_PROGRAMS: Final = ("/v1/", "/static/", "/healthz", "/readyz", "/openapi.json")
_UNSTORED: Final = (b"cache-control", b"no-store")


Observe = Callable[[str, str, int, float], None]
"""Called for each request with method, route, status and seconds."""
OTHER: Final = "other"
"""The route of an address that the API does not have."""


class RequestFrame:
    """ASGI middleware around everything except `Turns` and `ProxyHeadersMiddleware`.

    `time` returns the time of an answer, in the form of the log. `secure` means that players use https; the answers
    then instruct browsers to use nothing else. `logged` means that each request has a line in the log. `observe` counts
    requests by the templates `paths`. `opened` is the application for addresses that people open in a browser.
    """

    def __init__(
        self,
        app: ASGIApp,
        time: Callable[[], str],
        *,
        opened: ASGIApp | None = None,
        secure: bool,
        logged: bool,
        observe: Observe | None,
        paths: Iterable[str],
    ) -> None:
        self._app = app
        self._opened = opened or app
        self._time = time
        self._logged = logged
        self._observe = observe
        ordered = () if observe is None else sorted(paths, key=lambda path: ("{" in path, path))
        self._templates = [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path) for path in ordered]
        self._headers = (*_HEADERS, _HTTPS_ONLY) if secure else _HEADERS
        # Request numbers must differ but need not be secret, so the system is not asked for randomness each time. They
        # do not come from the service's own randomness, because tests replace it. A client can neither choose them nor
        # count requests by them.
        self._draw = Random().getrandbits  # noqa: S311

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = f"{self._draw(64):016x}"
        structlog.contextvars.bind_contextvars(request=number)
        began = perf_counter()
        status = 0

        async def complete(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = (NUMBER, number.encode()), (TIME, self._time().encode())
                headers = [*message["headers"], *self._headers, *own]
                given = {name for name, _ in message["headers"]}
                if b"cache-control" not in given:  # as of all answers with something private
                    headers.append(_UNSTORED)
                if _POLICY[0] not in given:  # a browser would enforce both
                    headers.append(_POLICY)
                message = {**message, "headers": headers}
            await send(message)

        app = self._app if scope["path"].startswith(_OF_PROGRAMS) else self._opened
        try:
            await app(scope, receive, complete)
            # Without an answer, the body did not come whole.
            status = status or scope.get("state", {}).get(REFUSED, CLIENT_LEFT)
        except Exception:
            if not status:
                text = "the service failed; nothing acknowledged is lost"
                await answer(500, "internal", text, "try again later", {})(scope, receive, send)
            raise  # the HTTP server logs it
        finally:
            method, path, seconds = scope["method"], scope["path"], perf_counter() - began
            status = status or 500
            if self._observe is not None:
                route = next((template for pattern, template in self._templates if pattern.fullmatch(path)), OTHER)
                self._observe(method, route, status, seconds)
            if self._logged:
                log.info("request", method=method, path=_logged(path), status=status, ms=round(seconds * 1000, 1))


def _logged(path: str) -> str:
    # A program that has escaped the # of a link sends its code as a part of the path. Anybody can stop letters who has
    # the address for it.
    return next((f"{each}..." for each in (_LINKS, STOP_PREFIX) if path.startswith(each)), path)


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
