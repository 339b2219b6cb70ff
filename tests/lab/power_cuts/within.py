"""The service in this process, for clients in threads: the real application and store, without sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hkoji_server.app import Application
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import load

from tests.support.service import UNLIMITED, Answer
from tests.support.service_in_process import Clock, Inside


class Within:
    """A running application. Each answer's header `x-position` is the value of `position` when it began to go out."""

    def __init__(self, data: Path, sources: ClockAndEntropy, position: Callable[[], int]) -> None:
        self.loop = asyncio.new_event_loop()
        self._position = position
        app = Application(load(data=data, log_level="error", **UNLIMITED), sources, address="http://inside")
        self._inside = Inside(app, asyncio.Runner(), Clock(), data)
        self._lifespan = app.router.lifespan_context(app)
        self._app, self._inside.app = app, self._noted  # type: ignore[assignment] # an ASGI application is what is needed
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def start(self) -> None:
        """Starts it. Raises what the application raises at its start."""
        self._thread.start()
        with patch("hkoji_server.app._tune_garbage_collection"):  # several run in this process, one after another
            asyncio.run_coroutine_threadsafe(self._lifespan.__aenter__(), self.loop).result()

    def stop(self) -> None:
        """Stops it cleanly."""
        try:
            asyncio.run_coroutine_threadsafe(self._lifespan.__aexit__(None, None, None), self.loop).result()
        finally:
            self.leave()

    def leave(self) -> None:
        """Ends the thread without a shutdown, as a crash."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request, from any thread."""
        import json

        sent = raw if raw is not None else json.dumps(body).encode() if body else b""
        answer = self._inside._answer(method, path, sent, token)
        return asyncio.run_coroutine_threadsafe(answer, self.loop).result()

    async def _noted(self, scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI
        async def noted(message: Any) -> None:  # Any: an ASGI message
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-position", b"%d" % self._position())]}
            await send(message)

        await self._app(scope, receive, noted)
