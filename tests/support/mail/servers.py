"""Servers of mail protocols, and a name server, on any port of loopback, each in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import dns.message
import dns.rcode
import dns.rrset
import pytest
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


@contextmanager
def name_server(records: dict[str, tuple[bytes, ...]], patched: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A name server on this machine that has these TXT records; yields the names for which it was asked."""
    asked: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                data, address = server.recvfrom(4096)
                if not data:
                    return
                query = dns.message.from_wire(data)
                name = query.question[0].name.to_text()
                asked.append(name)
                answer = dns.message.make_response(query)
                texts = [" ".join(f'"{part.decode()}"' for part in _strings(each)) for each in records.get(name, ())]
                if texts:
                    answer.answer.append(dns.rrset.from_text_list(name, 60, "IN", "TXT", texts))
                else:
                    answer.set_rcode(dns.rcode.NXDOMAIN)
                server.sendto(answer.to_wire(), address)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        patched.setenv("HKOJI_DNS_SERVER", f"127.0.0.1:{server.getsockname()[1]}")
        try:
            yield asked
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
                end.sendto(b"", server.getsockname())
            thread.join(10)


def _strings(record: bytes) -> list[bytes]:
    return [record[place : place + 200] for place in range(0, len(record), 200)]
