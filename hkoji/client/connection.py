"""Connections of the standard library's HTTP client, with time limits. Only what sends a request loads this module."""

from __future__ import annotations

import errno
import http.client
import io
import os
import re
import socket
import ssl
import time
from contextlib import ExitStack, suppress
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from hkoji.messages.text import shorten, tell

AnyConnection = TypeVar("AnyConnection", bound=http.client.HTTPConnection)
FAILURES: Final = (OSError, http.client.HTTPException, UnicodeError)
"""The errors that a request may raise; the last is for names that no host can have."""
_LOOK: Final = 3.0
"""The seconds that a server has to say that it speaks TLS."""
_SLOW: Final = tell("the answer comes too slowly")
_CERTIFICATE: Final = tell(
    "nothing was sent. Is the address right, and the clock of this machine? If the service has a "
    "certificate of its own, get its file from the operator, and set SSL_CERT_FILE to its path"
)
_CERTIFICATES: Final = {  # by what OpenSSL found (X509_V_ERR_…)
    9: tell("nothing was sent. Is the clock of this machine right? Then ask the operator of the service"),
    10: tell("nothing was sent. Is the clock of this machine right? Then ask the operator to renew the certificate"),
    62: tell("nothing was sent. Use the address that the operator gives; the certificate is for another one"),
    64: tell("nothing was sent. Use the address that the operator gives; the certificate is for another one"),
}
_HEAD: Final = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2}) ([ -~]*)\r\n((?:[A-Za-z-]+: [ -~]*\r\n){0,60})\r\n")
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,11}")
_LEFT_TO_LIBRARY: Final = re.compile(rb"\r\n(?:transfer-encoding|connection|keep-alive|proxy-connection): ")
_WITHOUT_BODY: Final = (204, 304)


class TimedConnection(http.client.HTTPConnection):
    """A connection whose answers must be complete by `due`, a time of `time.monotonic`. Raises `TimeoutError` then.

    A socket's own timeout limits each wait alone: a service that sends a byte now and then would never exceed it. A
    request is sent at once: the library sends its body after its head, which wakes the service twice.
    """

    due: float = 0.0
    _parts: list[bytes] | None = None
    _sent: tuple[tuple[Any, ...], bytes] = ((), b"")
    """The last request without a body, and its bytes: a batch often sends the same one again."""

    # Any: passed on
    def request(self, method: str, url: str, body: Any = None, headers: Any = (), **options: Any) -> None:
        """Sends a request with a body of bytes, if it has one."""
        wanted = (method, url, headers, options)
        again = body is None and wanted == self._sent[0]
        self._parts = []
        try:
            if again:  # the library only notes that a request is sent
                self.putrequest(method, url, skip_host=True, skip_accept_encoding=True)
                self.endheaders()
            else:
                super().request(method, url, body, headers, **options)
            data = self._sent[1] if again else b"".join(self._parts)
        finally:
            self._parts = None
        if body is None:
            self._sent = (wanted, data)
        super().send(data)

    def send(self, data: Any) -> None:  # Any: as in the library
        """Sends bytes, or keeps those of a request until it is complete."""
        if self._parts is None:
            super().send(data)
        else:
            self._parts.append(data)

    def connect(self) -> None:
        """Connects. The answers have the limit, and so has that of a proxy which is to pass TLS on."""
        self.response_class = self._response  # type: ignore[assignment] # it is only called, with a socket
        super().connect()

    def _response(self, sock: socket.socket, *args: Any, **options: Any) -> http.client.HTTPResponse:  # Any: passed on
        timed = SimpleNamespace(makefile=lambda _mode: io.BufferedReader(_TimedReader(sock, self.due)))
        return PlainHeadResponse(timed, *args, **options)  # type: ignore[arg-type] # it asks only for a file


class TlsConnection(http.client.HTTPSConnection):
    """A connection through TLS. It gives a proxy the address of a host in the brackets that IPv6 needs."""

    _tunnel_host: str | None

    def _tunnel(self) -> None:
        # Older versions of the library leave the brackets out, and do not close the answer of a proxy that refuses. The
        # library compares the certificate with the address afterwards.
        address, response_class = self._tunnel_host, self.response_class
        with ExitStack() as answers:
            if address is not None and ":" in address:
                self._tunnel_host = f"[{address}]"

            def answer(*args: Any, **options: Any) -> http.client.HTTPResponse:  # Any: passed on
                return answers.enter_context(response_class(*args, **options))

            self.response_class = answer  # type: ignore[assignment] # it is only called
            try:
                super()._tunnel()  # type: ignore[misc] # it has no public name
            finally:
                self._tunnel_host, self.response_class = address, response_class


class TimedTlsConnection(TimedConnection, TlsConnection):
    """A `TimedConnection` through TLS."""


class _TimedReader(io.RawIOBase):
    """Reads what comes at `sock`, until the moment `due`."""

    def __init__(self, sock: socket.socket, due: float) -> None:
        self._source: Final = sock.makefile("rb", buffering=0)
        self._sock: Final = sock
        self._due: Final = due

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # Any: a writable buffer
        """Reads what comes next. Raises `TimeoutError`."""
        left = self._due - time.monotonic()
        if left <= 0:
            raise TimeoutError(_SLOW)
        patience = self._sock.gettimeout()
        if patience is not None and patience <= left:
            return self._source.readinto(buffer)
        self._sock.settimeout(left)
        try:
            return self._source.readinto(buffer)
        except TimeoutError as error:
            raise TimeoutError(_SLOW) from error

    def close(self) -> None:
        """Closes the socket's file, too."""
        self._source.close()
        super().close()


class PlainHeaders:
    """The headers of a plain head, given as their lines. The first of two with one name counts, as in the library."""

    def __init__(self, lines: bytes) -> None:
        self._lines: Final = b"\r\n" + lines
        self.lower: Final = self._lines.lower()
        """The lines in lower case, after an empty one."""

    def get(self, name: str, default: Any = None) -> Any:  # Any: what is given comes back, as from a dict
        """Returns a header's value by its name, in upper or lower case."""
        start = self.lower.find(b"\r\n%b: " % name.lower().encode())
        if start < 0:
            return default
        start += len(name) + 4
        return self._lines[start : self._lines.index(b"\r\n", start)].decode().strip()


class StrictResponse(http.client.HTTPResponse):
    """An answer in which no chunk has a negative size. The library takes such sizes, and at -1 it reads to the end."""

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc] # it has no public name
        if size < 0:  # what the library does with a size that is no number: it calls the answer incomplete
            self._close_conn()  # type: ignore[attr-defined] # it has no public name
            raise ValueError("a chunk has a negative size")
        return size


class PlainHeadResponse(StrictResponse):
    """An answer to a request other than HEAD. It parses a plain head itself, in a third of the library's time.

    The library parses every head as it parses the head of a mail. A head does not need that if it arrives in one piece
    and has no folded lines, transfer codings or headers about the connection. The library reads all other heads. A test
    compares both on the same heads.
    """

    def begin(self) -> None:
        """Reads the head."""
        head = _HEAD.match(self.fp.peek(1)) if self.headers is None else None
        if head is None:
            super().begin()
            return
        headers = PlainHeaders(head[3])
        status, length = int(head[1]), headers.get("content-length", "")
        if status in _WITHOUT_BODY or not _LENGTH.fullmatch(length) or _LEFT_TO_LIBRARY.search(headers.lower):
            super().begin()
            return
        self.fp.read(head.end())
        self.code = self.status = status
        self.reason, self.version = head[2].decode().strip(), 11
        self.headers = self.msg = headers
        self.chunked, self.will_close, self.length = False, False, int(length)


def may_be_tls(error: Exception) -> bool:
    """Returns whether a request in plain http may have failed because TLS is spoken there: no answer, or an alert."""
    if isinstance(error, http.client.BadStatusLine) and str(error).startswith("\x15"):
        return True
    return isinstance(error, ConnectionResetError | BrokenPipeError)


def speaks_tls(host: str, port: int) -> bool:
    """Returns whether a server answers in TLS at a port. Nothing of that answer is believed or kept."""
    hello = ssl.MemoryBIO()
    try:
        with suppress(ssl.SSLWantReadError):
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(
                ssl.MemoryBIO(), hello, server_hostname=host
            ).do_handshake()
        with socket.create_connection((host, port), _LOOK) as sock:
            sock.sendall(hello.read())
            return sock.recv(1) in (b"\x15", b"\x16")  # an alert or a handshake (RFC 8446, section 5.1)
    except (OSError, ValueError):
        return False


def is_nobody_there(error: BaseException | None) -> bool:
    """Returns whether no server can be found at an address: no host has the name or answers, or nothing listens."""
    unreachable = isinstance(error, OSError) and error.errno == errno.EHOSTUNREACH
    return unreachable or isinstance(error, ConnectionRefusedError | socket.gaierror)


def certificate_hint(code: int) -> str:
    """Returns what to do about a certificate that does not hold, for the reason of this number."""
    file = os.environ.get("SSL_CERT_FILE")
    if file and not os.access(file, os.R_OK):
        return tell("nothing was sent. SSL_CERT_FILE names a file that cannot be read: {file}", file=shorten(file, 200))
    if file and not _has_certificates(file):
        return tell(
            "nothing was sent. SSL_CERT_FILE names a file without a certificate in PEM form, which begins with "
            "-----BEGIN CERTIFICATE-----: {file}",
            file=shorten(file, 200),
        )
    return _CERTIFICATES.get(code, _CERTIFICATE)


def _has_certificates(file: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except OSError:
        return False
    return True


def reason_of(error: Exception) -> str:
    """Returns what has failed, in a few words."""
    if isinstance(error, UnicodeError):
        return tell("no host can have this name")
    if isinstance(error, http.client.IncompleteRead):
        return tell("the answer broke off before its end")
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
        return tell("the answer is not HTTP: {line}", line=shorten(str(error), 120))
    # The library quotes an answer that is not HTTP: `shorten` makes it fit into a message.
    return getattr(error, "strerror", None) or shorten(str(error), 120) or type(error).__name__
