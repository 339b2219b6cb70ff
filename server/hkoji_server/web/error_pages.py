"""Errors as pages: a browser that opens an address of the pages gets HTML, a program the problem document.

The middleware reads the problem that the service has made, so each error has one wording and one status.
"""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.messages.text import assemble
from hkoji_server.routes.pages import wants_page
from hkoji_server.routes.plain import read_header
from hkoji_server.routes.problems import MEDIA_TYPE
from hkoji_server.web.rendering import html, reader_of, rendered

_FOR_PROGRAMS: Final = ("/v1/", "/static/", "/healthz", "/readyz", "/openapi.json")
_KEPT: Final = (b"retry-after", b"allow", b"connection")


class ErrorPages:
    """ASGI middleware: turns problem documents into pages, where a browser has asked for one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _opens_page(scope):
            await self._app(scope, receive, send)
            return
        caught = _Caught(scope, receive, send)
        try:
            await self._app(scope, receive, caught.take)
        except Exception:
            if not caught.begun:
                text = "the service failed; nothing acknowledged is lost"
                await _send_page(scope, receive, send, 500, {"detail": text, "hint": "try again later"}, {})
            raise  # the HTTP server logs it


def _opens_page(scope: Scope) -> bool:
    return not scope["path"].startswith(_FOR_PROGRAMS) and wants_page(read_header(scope, b"accept") or "")


class _Caught:
    """An answer on its way out. If it is a problem, it is held back until it is whole."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None
        self._body = b""
        self.begun = False

    async def take(self, message: Message) -> None:
        """Passes on a message of the application, or keeps it."""
        if message["type"] == "http.response.start":
            self.begun = True
            if dict(message["headers"]).get(b"content-type", b"").decode() == MEDIA_TYPE:
                self._start = message
                return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        kept = {name.decode(): value.decode() for name, value in self._start["headers"] if name in _KEPT}
        problem = json.loads(self._body)
        await _send_page(self._scope, self._receive, self._send, self._start["status"], problem, kept)


async def _send_page(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    problem: dict[str, Any],  # Any: JSON
    headers: dict[str, str],
) -> None:
    request = Request(scope)
    reader = reader_of(request)
    parts = problem.get("parts", {})
    text, hint = (reader.say(assemble(problem.get(name, ""), parts.get(name))) for name in ("detail", "hint"))
    body = rendered("error.html", reader, page="error", text=text, hint=hint, links=())
    answer = html(request, body, status, headers={**headers, "Cache-Control": "no-store"})
    await answer(scope, receive, send)
