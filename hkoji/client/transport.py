"""HTTP with one kept connection, on the standard library's client.

The standard library because a command starts a process: the larger clients cost tens of milliseconds to import.
Follows no redirects, uses no proxies, caps answers. Everything that is sent may be sent twice (entries are answered
with their first receipt, an offer that nobody opens is nothing), so a kept connection that turns out to be closed is
opened anew; any other failure is the caller's to repeat.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from hkoji import __version__
from hkoji.client.deadline import TimedConnection, TimedTlsConnection
from hkoji.errors import NetworkError, UsageError
from hkoji.log.line import MAX_LINE_BYTES
from hkoji.messages.text import tell

MOST_BYTES: Final = 32 * 1024 * 1024
TIMEOUT: Final = 30.0
"""Seconds for each wait. A service that sends a byte now and then would never run into it, so there is another."""
LONGEST_LINE: Final = 2 * MAX_LINE_BYTES
LONGEST: Final = 300.0
"""Seconds for a whole answer, and what it may keep waiting for its beginning."""
_PORTS: Final = {"http": 80, "https": 443}
_FAILURES: Final = (OSError, http.client.HTTPException, UnicodeError)  # the last for names that are no host's


class HttpAnswer(NamedTuple):
    """An HTTP answer, read whole."""

    status: int
    body: bytes
    location: str = ""
    retry_after: int | None = None
    """So many seconds the service asks to wait."""

    def json(self) -> Any:  # Any: JSON
        """The decoded body; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def parse_url(text: str) -> str:
    """A server's address in one form: scheme, host in lower case, port if it is not the usual one, path.

    Raises `UsageError` for anything but an http or https URL without user, query and fragment.
    """
    host = None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        pass
    if (
        not host
        or not all("!" <= c <= "~" for c in text)
        or parts.scheme not in _PORTS
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
    ):
        raise UsageError(
            tell("{text!r} is no server", text=text), hint=tell("a server is given as in https://hanamikoji.example")
        )
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{shown}{suffix}{parts.path.rstrip('/')}"


class Transport:
    """Requests to one server, given by its URL. Raises `UsageError` for anything that `parse_url` refuses."""

    def __init__(self, url: str) -> None:
        self.url: Final = parse_url(url)
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        self._host: Final = parts.hostname
        self._port: Final = parts.port
        self._base: Final = parts.path
        self._secure: Final = parts.scheme == "https"
        self._connection: TimedConnection | None = None
        self.patience = TIMEOUT
        """For so many seconds may nothing come before a request has failed."""

    @property
    def exposed(self) -> bool:
        """Whether what is sent can be read on the way: plain http to another machine."""
        return not (self._secure or self._host in ("localhost", "::1") or self._host.startswith("127."))

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        """Sends a request and reads the answer. Raises `NetworkError`."""
        headers = request_headers(token)
        if body is not None:
            headers["Content-Type"] = "application/json"
        kept = self._connection is not None
        try:
            return self._send(method, path, body, headers)
        except _FAILURES as error:
            self.close()
            if not kept or isinstance(error, TimeoutError):
                raise self._broken(error) from error
        try:
            return self._send(method, path, body, headers)
        except _FAILURES as error:
            self.close()
            raise self._broken(error) from error

    def follow(
        self, path: str, token: str | None, place: str | None, patience: float
    ) -> tuple[HttpAnswer, Generator[bytes, None, None]]:
        """Asks for an answer that does not end, on a connection of its own: its beginning, and its lines as they come.

        An answer that is not 200 is read whole, and has no lines. `place` is where the reader has come. The lines end
        when the answer does, or breaks; raise `NetworkError` if nothing comes for `patience` seconds, or one is too
        long; and close the connection when they are closed.
        """
        headers = {**request_headers(token), "Accept": "text/event-stream", "Cache-Control": "no-store"}
        if place is not None:
            headers["Last-Event-ID"] = place
        connection = self._connect(patience)
        try:
            connection.request("GET", self._base + path, None, headers)
            response = connection.getresponse()
            if response.status != 200:
                data = response.read(MOST_BYTES)
                connection.close()
                return HttpAnswer(response.status, data, response.headers.get("Location", "")), _nothing()
        except _FAILURES as error:
            connection.close()
            raise self._broken(error) from error
        return HttpAnswer(200, b""), self._lines(connection, response)

    def _lines(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> Generator[bytes, None, None]:
        try:
            while line := response.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise http.client.HTTPException(f"a line is longer than {LONGEST_LINE} bytes")
                if not line.endswith(b"\n"):
                    return  # broken off in its middle
                yield line
        except _FAILURES as error:
            raise self._broken(error) from error
        finally:
            connection.close()

    def _connect(self, patience: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=patience)

    def close(self) -> None:
        """Closes the connection; the next request opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpAnswer:
        if self._connection is None:
            kind = TimedTlsConnection if self._secure else TimedConnection
            self._connection = kind(self._host, self._port, timeout=self.patience)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(self.patience)
        self._connection.request(method, self._base + path, body, dict(headers))
        self._connection.due = time.monotonic() + LONGEST + self.patience
        response = self._connection.getresponse()
        data = response.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise http.client.HTTPException(f"the answer is longer than {MOST_BYTES} bytes")
        if response.length:  # what was announced and has not come; read(n) does not mind
            raise http.client.IncompleteRead(data, response.length)
        if response.status in (200, 201):
            return HttpAnswer(response.status, data)
        wait = response.headers.get("Retry-After", "")
        seconds = int(wait) if wait.isdigit() and len(wait) < 7 and wait.isascii() else None
        return HttpAnswer(response.status, data, response.headers.get("Location", ""), seconds)

    def _broken(self, error: Exception) -> NetworkError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NetworkError(
            self.url, reason, hint=tell("nothing is lost: give the same command again, and it sends the same bytes")
        )


def request_headers(token: str | None) -> dict[str, str]:
    """What every request says of its sender."""
    headers = {"Accept": "application/json", "User-Agent": f"hkoji/{__version__}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _nothing() -> Generator[bytes, None, None]:
    yield from ()
