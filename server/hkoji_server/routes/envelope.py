"""What is around every request: a number of its own, headers that every answer has, and a line in the log.

The line has method, path, status, milliseconds and number. No query, header, body or name.
"""

from __future__ import annotations

from random import Random
from time import perf_counter
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = structlog.get_logger("hkoji")

NUMBER: Final = b"x-request-id"
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_PAGE: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_HTTPS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")
_UNSTORED: Final = (b"cache-control", b"no-store")
_PAGES: Final = ("/docs", "/redoc")
"""The API's documentation is the only page; it loads scripts of its own."""


class Envelope:
    """ASGI middleware, the outermost. `secure` if players come by https: then they always shall.

    `logged` says whether requests have a line in the log.
    """

    def __init__(self, app: ASGIApp, *, secure: bool, logged: bool) -> None:
        self._app = app
        self._logged = logged
        self._page = (*_HEADERS, _HTTPS_ONLY) if secure else _HEADERS
        self._other = (*self._page, _NO_PAGE)
        # Numbers only have to differ: no secret, for which each request would ask the system. Not from the source of
        # the service's own randomness, which tests replace; and none that a client could choose, or count by.
        self._draw = Random().getrandbits  # noqa: S311

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = f"{self._draw(64):016x}"
        structlog.contextvars.bind_contextvars(request=number)
        started = perf_counter()
        status = 500

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message["headers"])
                headers.extend(self._page if scope["path"].startswith(_PAGES) else self._other)
                headers.append((NUMBER, number.encode()))
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_UNSTORED)
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self._app(scope, receive, sealed)
        finally:
            if self._logged:
                took = round((perf_counter() - started) * 1000, 1)
                log.info("request", method=scope["method"], path=scope["path"], status=status, ms=took)
