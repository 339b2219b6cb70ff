"""Metrics of requests by route. A route is a template of the API, never a path: paths contain names and games."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji_server.routes.request_frame import without_answer

Observe = Callable[[str, str, int, float], None]
"""Called for each request with method, route, status and seconds."""

OTHER: Final = "other"


class RouteMetrics:
    """ASGI middleware: calls `observe` for every request. `paths` are the API's templates."""

    def __init__(self, app: ASGIApp, observe: Observe, paths: Callable[[], Iterable[str]]) -> None:
        self._app = app
        self._observe = observe
        self._paths = paths
        self._templates: list[tuple[re.Pattern[str], str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
            status = status or without_answer(scope)
        finally:
            self._observe(scope["method"], self._route(scope), status or 500, perf_counter() - started)

    def _route(self, scope: Scope) -> str:
        if not self._templates:
            self._templates = _templates(self._paths())
        path = scope["path"]
        return next((template for pattern, template in self._templates if pattern.fullmatch(path)), OTHER)


def _templates(paths: Iterable[str]) -> list[tuple[re.Pattern[str], str]]:
    """Returns the API's paths as patterns, those without parameters first."""
    ordered = sorted(paths, key=lambda path: ("{" in path, path))
    return [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path) for path in ordered]
