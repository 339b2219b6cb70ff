"""Takes in request bodies: refuses those over the cap, declared or not, and those that are not JSON.

The application sees a body only when it is whole, so nothing is ever read of one that is not taken.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.errors import TooLargeError
from hkoji_server.routes.problems import answer, problem


class BodyLimit:
    """ASGI middleware: passes on a JSON body of at most `limit` bytes, else answers 413 or 415."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection's request."""
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
            return  # the client has left in the middle: nobody to answer, and nothing whole to act on
        body = message.get("body", b"")
        if len(body) > self._limit:
            await problem(TooLargeError("the request", self._limit))(scope, receive, send)
            return
        if body and media_type.partition(b";")[0].strip().lower() != b"application/json":
            refusal = answer(415, "unsupported-media-type", "a body is sent as application/json", "", {})
            await refusal(scope, receive, send)
            return
        whole: Message | None = message

        async def replayed() -> Message:
            nonlocal whole
            given, whole = whole, None
            return given if given is not None else await receive()

        await self._app(scope, replayed, send)

    async def _rest(self, message: Message, receive: Receive) -> Message:
        """The whole body as one message, or its first part that goes over the cap, or the disconnection."""
        parts = [message.get("body", b"")]
        size = len(parts[0])
        while message.get("more_body", False) and size <= self._limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                return message
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        return {"type": "http.request", "body": b"".join(parts), "more_body": False}
