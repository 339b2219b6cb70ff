"""HTTP with one kept connection, on the standard library's client.

The standard library because a command starts a process: it costs a few milliseconds to import where the larger
clients cost tens (docs/adr/0004-light-client.md). Follows no redirects, caps answers, never retries by itself:
whether a request arrived is not known when a connection breaks, and only the caller knows what may be sent again.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from hkoji.errors import NetworkError, UsageError

MOST_BYTES: Final = 32 * 1024 * 1024
TIMEOUT: Final = 30.0


class Answer(NamedTuple):
    """An HTTP answer, read whole."""

    status: int
    body: bytes

    def json(self) -> Any:  # Any: JSON
        """The decoded body; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Transport:
    """Requests to one server, given by its URL. Raises `UsageError` for anything but an http or https URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"{url!r} is no server", hint="a server is given as in https://hanamikoji.example")
        try:
            self._port = parts.port
        except ValueError:
            raise UsageError(f"{url!r} has no valid port") from None
        self.url: Final = url.rstrip("/")
        self._host: Final = parts.hostname
        self._base: Final = parts.path.rstrip("/")
        self._secure: Final = parts.scheme == "https"
        self._connection: http.client.HTTPConnection | None = None

    @property
    def exposed(self) -> bool:
        """Whether what is sent can be read on the way: plain http to another machine."""
        return not self._secure and self._host not in ("127.0.0.1", "localhost", "::1")

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> Answer:
        """Sends a request and reads the answer. Raises `NetworkError`."""
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        # A kept connection that the server has closed since fails before anything is answered: GETs are sent anew.
        kept = self._connection is not None
        try:
            return self._send(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not (kept and method == "GET"):
                raise self._broken(error) from error
        try:
            return self._send(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._broken(error) from error

    def close(self) -> None:
        """Closes the connection; the next request opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=TIMEOUT)
        self._connection.request(method, self._base + path, body, dict(headers))
        response = self._connection.getresponse()
        data = response.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise http.client.HTTPException("the answer is too long")
        return Answer(response.status, data)

    def _broken(self, error: Exception) -> NetworkError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NetworkError(
            self.url, reason, hint="nothing is lost: the same command, given again, sends the same bytes"
        )
