"""HTTP answers whose head is as plain as those of most services, read in a third of the time.

The standard library reads every head as it does a mail's. One that is in one piece, without folded lines, transfer
codings and anything said of the connection, needs no such care; every other is left to the library.
"""

from __future__ import annotations

import http.client
import re
from typing import Any, Final

_HEAD: Final = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2}) ([ -~]*)\r\n((?:[A-Za-z-]+: [ -~]*\r\n){0,60})\r\n")
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,11}")
_LEFT_OUT: Final = frozenset({"transfer-encoding", "connection", "keep-alive", "proxy-connection"})
_WITHOUT_BODY: Final = (204, 304)


class PlainHeaders(dict[str, str]):
    """Headers by their names in lower case. Of those that come twice the first counts, as in the library."""

    def get(self, name: str, default: Any = None, /) -> Any:  # Any: what is given comes back, as from a dict
        """A header's value by its name in whichever case."""
        return super().get(name.lower(), default)


class PlainHeadResponse(http.client.HTTPResponse):
    """An answer to a request other than HEAD."""

    def begin(self) -> None:
        """Reads the head, as the library's method does."""
        head = _HEAD.match(self.fp.peek(1)) if self.headers is None else None
        if head is None:
            super().begin()
            return
        pairs = (line.split(": ", 1) for line in reversed(head[3].decode().split("\r\n")[:-1]))
        headers = PlainHeaders((name.lower(), value.strip()) for name, value in pairs)
        status, length = int(head[1]), headers.get("content-length", "")
        if status in _WITHOUT_BODY or not _LENGTH.fullmatch(length) or not _LEFT_OUT.isdisjoint(headers):
            super().begin()
            return
        self.fp.read(head.end())
        self.code = self.status = status
        self.reason, self.version = head[2].decode().strip(), 11
        self.headers = self.msg = headers
        self.chunked, self.will_close, self.length = False, False, int(length)
