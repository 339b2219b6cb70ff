"""Refuses bodies over the cap, whether the length is declared or not, before the application sees any of them."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.errors import TooLargeError
from hkoji_server.routes.problems import problem


class BodyLimit:
    """ASGI middleware: reads a body of at most `limit` bytes whole and passes it on, or answers 413."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection's request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        body: bytes | None = None
        if declared.isdigit() and len(declared) < 19 and int(declared) <= self._limit:
            body = await self._read(receive)
        if body is None:
            await problem(TooLargeError("the request", self._limit))(scope, receive, send)
            return
        whole: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def replayed() -> Message:
            nonlocal whole
            message, whole = whole, None
            return message if message is not None else await receive()

        await self._app(scope, replayed, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; None if it is too long."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self._limit:
                return None
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)
