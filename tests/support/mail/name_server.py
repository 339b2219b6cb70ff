"""A name server on this machine, for commands that ask DNS."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dns.message
import dns.rcode
import dns.rrset
import pytest


@contextmanager
def name_server(records: dict[str, tuple[bytes, ...]], patched: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A name server on this machine that has these TXT records; yields the names for which it was asked."""
    asked: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)

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
