"""Errors as pages: a browser that opens an address of the pages gets HTML, a program the problem document.

The middleware reads the problem that the service has made, so each error has one wording and one status.
"""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji.messages.text import assemble
from hkoji_server.routes.plain import read_header, wants_page
from hkoji_server.routes.problems import MEDIA_TYPE
from hkoji_server.web.rendering import html, reader_of, rendered

_KEPT: Final = (b"retry-after", b"allow", b"connection")
_FAILED: Final = {"detail": "the service failed; nothing acknowledged is lost", "hint": "try again later"}


class ErrorPages:
    """ASGI middleware: turns problem documents into pages, where a browser has asked for one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not wants_page(read_header(scope, b"accept") or ""):
            await self._app(scope, receive, send)
            return
        begun, start, body = False, None, b""

        async def take(message: Message) -> None:
            nonlocal begun, start, body
            begun = True
            if dict(message.get("headers", ())).get(b"content-type", b"").decode() == MEDIA_TYPE:
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")

        try:
            await self._app(scope, receive, take)
        except Exception:
            if not begun:
                start = {"status": 500, "headers": ()}
            raise  # the HTTP server logs it
        finally:
            if start is not None:
                page = _page(Request(scope), start, json.loads(body) if body else _FAILED)
                await page(scope, receive, send)


def _page(request: Request, start: Message, problem: dict[str, Any]) -> Response:  # Any: JSON
    reader, parts = reader_of(request), problem.get("parts", {})
    text, hint = (reader.say(assemble(problem.get(name, ""), parts.get(name))) for name in ("detail", "hint"))
    body = rendered("error.html", reader, page="error", text=text, hint=hint, links=())
    kept = {name.decode(): value.decode() for name, value in start["headers"] if name in _KEPT}
    return html(request, body, start["status"], headers={**kept, "Cache-Control": "no-store"})
