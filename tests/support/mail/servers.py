"""Servers of mail protocols on any port of loopback, each in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from typing import Any, Final

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

Handled = Callable[[str, list[str], bytes], str]
"""Takes a message: envelope sender (empty for the null sender), recipients, content. Returns the reply."""

_SECONDS: Final = 10


class _Handler:
    def __init__(self, handled: Handled) -> None:
        self._handled = handled

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 # aiosmtpd's
        assert isinstance(envelope.content, bytes)
        sender = "" if envelope.mail_from in {None, "<>"} else envelope.mail_from  # so aiosmtpd names the null sender
        return await asyncio.to_thread(self._handled, sender or "", envelope.rcpt_tos, envelope.content)

    async def handle_exception(self, error: Exception) -> str:
        return f"451 4.3.0 {type(error).__name__}"


class MailServer:
    """Takes messages on 127.0.0.1 until it is closed. `handled` runs in threads."""

    def __init__(
        self, handled: Handled, *, port: int = 0, lmtp: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        options: dict[str, Any] = {"enable_SMTPUTF8": False, "loop": self._loop}  # Any: options of aiosmtpd
        protocol = LMTP if lmtp else SMTP

        async def served() -> asyncio.Server:
            handler = _Handler(handled)
            return await self._loop.create_server(lambda: protocol(handler, **options), "127.0.0.1", port, ssl=tls)

        self._server = asyncio.run_coroutine_threadsafe(served(), self._loop).result(_SECONDS)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Ends it."""

        async def ended() -> None:
            self._server.close()
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(ended(), self._loop).result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()
