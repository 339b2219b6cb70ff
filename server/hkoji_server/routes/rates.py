"""Refuses what comes too often from one address: 429, with the time to wait.

Of an entry that comes too often it is still looked whether it was accepted before: a client that has not heard its
receipt gets it. That is limited too, by itself.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from hkoji.errors import TooManyError
from hkoji_server.routes.entries import ENTRIES, ONLY_REPEATS
from hkoji_server.routes.problems import problem
from hkoji_server.service.limits import Limits

_FREE: Final = ("/healthz", "/readyz")


class AddressLimit:
    """ASGI middleware, with the application's `state.limits`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "http" and scope["path"] not in _FREE:
            limits: Limits = scope["app"].state.limits
            client = scope.get("client")
            address = client[0] if client else None
            try:
                await limits.admit_address(address)
            except TooManyError as error:
                try:
                    if scope["method"] != "POST" or not ENTRIES.fullmatch(scope["path"]):
                        raise
                    await limits.admit_repeat(address)
                except TooManyError:
                    await problem(error)(scope, receive, send)
                    return
                scope[ONLY_REPEATS] = error
        await self._app(scope, receive, send)
