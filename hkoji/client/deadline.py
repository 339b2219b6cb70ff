"""HTTP answers that have to be there by a certain moment, however many of their bytes come in time for the next wait.

A socket's own timeout is for each wait alone: a service that sends a byte now and then would never run into it.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any, Final

from hkoji.client.plainhead import PlainHeadResponse
from hkoji.messages.text import tell

SLOW: Final = tell("the answer comes too slowly")


class TimedConnection(http.client.HTTPConnection):
    """A connection that gives each answer until `due`, a time of `time.monotonic`. Raises `TimeoutError` then."""

    due: float = 0.0

    def getresponse(self) -> http.client.HTTPResponse:
        """The answer; its body comes under the same limit."""
        self.response_class = self._response  # type: ignore[assignment] # it is only called, with a socket
        return super().getresponse()

    def _response(self, sock: socket.socket, *args: Any, **options: Any) -> http.client.HTTPResponse:  # Any: passed on
        response = PlainHeadResponse(sock, *args, **options)
        source = response.fp.detach()
        response.fp = io.BufferedReader(_Timed(source, sock, self.due))
        return response


class TimedTlsConnection(TimedConnection, http.client.HTTPSConnection):
    """The same through TLS."""


class _Timed(io.RawIOBase):
    """Reads from `source`, the raw file of `sock`, until the moment `due`."""

    def __init__(self, source: io.RawIOBase, sock: socket.socket, due: float) -> None:
        self._source: Final = source
        self._sock: Final = sock
        self._due: Final = due

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # Any: a writable buffer
        """As much as comes next. Raises `TimeoutError`."""
        left = self._due - time.monotonic()
        if left <= 0:
            raise TimeoutError(SLOW)
        patience = self._sock.gettimeout()
        if patience is not None and patience <= left:
            return self._source.readinto(buffer)
        self._sock.settimeout(left)
        try:
            return self._source.readinto(buffer)
        except TimeoutError as error:
            raise TimeoutError(SLOW) from error

    def close(self) -> None:
        """Lets go of the socket, too."""
        self._source.close()
        super().close()
