"""HTTP over one kept connection, with the standard library's client. Each answer has a time limit as a whole.

Every command starts a process, and larger HTTP clients take tens of milliseconds to import. The library's own is loaded
with the first request. This one follows no redirects, and limits the size of each answer before anything in it is
parsed. Every request may be sent twice: a repeated entry gets its first receipt, and an offer that nobody opens has no
effect. So a request that fails on a kept connection is sent once more on a new one. After a timeout or any other
failure, the caller decides whether to repeat it.

A request goes by the proxy that the environment names for its server: `http_proxy`, `https_proxy`, `all_proxy` and
`no_proxy`. curl and Python read these variables, and so does this client. Names in lower case count before those in
upper case. HTTP_PROXY is left out where REQUEST_METHOD is set: in a CGI program a request's header `Proxy` would set
it.
"""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Generator, Mapping
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from hkoji import __version__
from hkoji.errors import NetworkError, TooLargeError, UsageError
from hkoji.log.line import MAX_LINE_BYTES
from hkoji.messages.text import Text, tell
from hkoji.service_url import OWN_HOSTS, PORTS, is_host, parse_url

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

    from hkoji.client.connection import AnyConnection, TimedConnection


_PORT: Final = 80
_FORM: Final = tell("a proxy looks like http://proxy.example:3128; `no_proxy` names the hosts that need none")
MOST_BYTES: Final = 16 * 1024 * 1024
"""The longest answer to any request; `Transport.most` limits most of them further. JSON of lists in lists needs 26
times its length in memory once it is parsed, so only logs, which are parsed line by line, may be this long."""
MOST_OF_A_PROBLEM: Final = 64 * 1024
"""The longest answer that is a refusal."""
TIMEOUT: Final = 30.0
"""Seconds for each wait. A service that sends a byte now and then would never exceed it: hence `LONGEST`."""
LONGEST_LINE: Final = 2 * MAX_LINE_BYTES
LONGEST: Final = 300.0
"""Seconds for a complete answer, in addition to the wait for its beginning."""
LATER: Final = tell("nothing is lost; give the same command again later")
"""The hint of a `NetworkError` whose cause is not known."""
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL")
"""OpenSSL's words for what is no TLS."""
_PLAIN: Final = tell(
    "nothing was sent. Does the service have https at this port? Without TLS its address begins with http, and others "
    "can read your cards on the way; ask its operator"
)
_OF_PROXIES: Final = (403, 502, 503, 504)
"""The statuses of a proxy that does not pass a request on."""
PROXY_LOGIN: Final = tell(
    "the proxy asks for a name and a password: put them into its address, as in http://NAME:PASSWORD@proxy.example:3128"
)


class HttpProxy(NamedTuple):
    """A proxy, the variable that names it, and the headers that log in to it."""

    host: str
    port: int
    headers: dict[str, str]
    variable: str


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> HttpProxy | None:
    """Returns the proxy for a server; None if there is to be none. Raises `UsageError` for one that cannot be used."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        variable, value = _variable(name, environ)
        if value:
            return None if _is_excepted(host, port, _variable("no_proxy", environ)[1]) else _read(variable, value)
    return None


def _variable(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Returns the name that is set, and its value; in lower case also an empty value counts."""
    upper = name.upper()
    if name in environ or (upper == "HTTP_PROXY" and "REQUEST_METHOD" in environ):
        return name, environ.get(name, "").strip()
    return upper, environ.get(upper, "").strip()


def _read(variable: str, value: str) -> HttpProxy:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not value.isascii() or not (":" in host or is_host(host)):
        raise UsageError(tell("{variable} is not the address of a proxy", variable=variable), hint=_FORM)
    if parts.scheme != "http":
        scheme = parts.scheme
        raise UsageError(
            tell("{variable} names a proxy by {scheme}, which hkoji cannot use", variable=variable, scheme=scheme),
            hint=_FORM,
        )
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    return HttpProxy(host, port or _PORT, headers, variable)


def _is_excepted(host: str, port: int, names: str) -> bool:
    """Returns whether `no_proxy` names a host: by its name or a domain above it, an address, a network, or `*`."""
    host = host.lower().rstrip(".")
    return any(_covers(name, host, port) for name in re.split(r"[,\s]+", names.lower()) if name)


def _covers(name: str, host: str, port: int) -> bool:
    if name == "*":
        return True
    if "/" in name:
        try:
            return ip_address(host) in ip_network(name, strict=False)
        except ValueError:
            return False
    suffix = f":{port}"
    if name.count(":") == 1 or name.startswith("["):
        name = name.removesuffix(suffix)
    name = name.removeprefix("[").removesuffix("]").lstrip(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


class HttpAnswer(NamedTuple):
    """An HTTP answer with its complete body."""

    status: int
    body: bytes
    location: str = ""
    retry_after: int | None = None
    """The seconds that the service asks to wait."""

    def json(self) -> Any:  # Any: JSON
        """The decoded body; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class HeardTime(NamedTuple):
    """The time that an answer states, and when it came: seconds of the epoch by the clock of this machine."""

    text: str
    """The header `Hkoji-Time`, a time of the log; of a service that does not send it, the header `Date`."""
    at: float


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
        self._proxy: Final = proxy_for(parts.scheme, self._host, self._port or PORTS[parts.scheme], os.environ)
        direct = self._proxy is None or self._secure
        # A proxy is asked for the whole URL, unless it only passes TLS on.
        self._target: Final = self._base if direct else self.url
        self._connection: TimedConnection | None = None
        self._answered = False
        self.patience = TIMEOUT
        """The seconds without a byte after which a request has failed."""
        self.heard: HeardTime | None = None
        """The time of the last answer that stated one."""
        self._states_time = False
        self.most = MOST_BYTES
        """The bytes that an answer may have at most."""

    @property
    def exposed(self) -> bool:
        """Whether what is sent can be read on the way: plain http to another machine, or to its proxy."""
        hosts = [self._host] if self._proxy is None else [self._host, self._proxy.host]
        return not (self._secure or all(map(OWN_HOSTS.fullmatch, hosts)))

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        """Sends a request and reads the answer. Raises `NetworkError`, and `TooLargeError` without reading further."""
        headers = self._headers(token)
        if body is not None:
            headers["Content-Type"] = "application/json"
        kept = self._connection is not None
        try:
            return self._send(method, path, body, headers)
        except _failures() as error:
            self.close()
            if not kept or isinstance(error, TimeoutError):
                raise self._broken(error) from error
        return self.request(method, path, body, token)

    def follow(
        self, path: str, token: str | None, place: str | None, patience: float
    ) -> tuple[HttpAnswer, Generator[bytes, None, None]]:
        """Asks for an answer that does not end, on a connection of its own: returns its beginning, and its lines.

        An answer that is not 200 is read completely and has no lines. `place` is the last event that was read. The
        lines end when the answer ends or breaks off. They raise `NetworkError` if nothing comes for `patience` seconds
        or a line is too long. Closing them closes the connection.
        """
        headers = {**self._headers(token), "Accept": "text/event-stream", "Cache-Control": "no-store"}
        if place is not None:
            headers["Last-Event-ID"] = place
        from http.client import HTTPConnection

        from hkoji.client.connection import StrictResponse, TlsConnection

        kind = TlsConnection if self._secure else HTTPConnection
        connection = self._connect(kind, patience)
        connection.response_class = StrictResponse
        try:
            connection.request("GET", self._target + path, None, headers)
            response = connection.getresponse()
            if response.status != 200:
                try:
                    data = response.read(MOST_OF_A_PROBLEM)
                finally:
                    response.close()
                    connection.close()
                return HttpAnswer(response.status, data, response.headers.get("Location", "")), _nothing()
        except _failures() as error:
            connection.close()
            raise self._broken(error) from error
        return HttpAnswer(200, b""), self._lines(connection, response)

    def _lines(self, connection: HTTPConnection, response: HTTPResponse) -> Generator[bytes, None, None]:
        try:
            while line := response.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise OSError(f"a line is longer than {LONGEST_LINE} bytes")
                if not line.endswith(b"\n"):
                    return  # broken off in its middle
                yield line
        except _failures() as error:
            raise self._broken(error) from error
        finally:
            response.close()  # it has the socket if the answer ends with the connection
            connection.close()

    def _connect(self, kind: type[AnyConnection], patience: float) -> AnyConnection:
        if self._proxy is None:
            return kind(self._host, self._port, timeout=patience)
        connection = kind(self._proxy.host, self._proxy.port, timeout=patience)
        if self._secure:
            port = self._port or PORTS["https"]
            authority = f"[{self._host}]:{port}" if ":" in self._host else f"{self._host}:{port}"
            connection.set_tunnel(self._host, port, {"Host": authority, **self._proxy.headers})
        return connection

    def _headers(self, token: str | None) -> dict[str, str]:
        headers = request_headers(token)
        return headers if self._proxy is None or self._secure else {**headers, **self._proxy.headers}

    def close(self) -> None:
        """Closes the connection; the next request opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpAnswer:
        if self._connection is None:
            from hkoji.client.connection import TimedConnection, TimedTlsConnection

            kind = TimedTlsConnection if self._secure else TimedConnection
            self._connection = self._connect(kind, self.patience)
        elif self._connection.sock is not None and self._connection.sock.gettimeout() != self.patience:
            self._connection.sock.settimeout(self.patience)
        self._connection.due = time.monotonic() + LONGEST + self.patience
        self._connection.request(method, self._target + path, body, dict(headers))
        self._connection.due = time.monotonic() + LONGEST + self.patience
        response = self._connection.getresponse()
        try:
            return self._read(response)
        except BaseException:
            response.close()  # it has the socket if the answer ends with the connection
            raise

    def _read(self, response: HTTPResponse) -> HttpAnswer:
        self._hear(response)
        most = self.most if response.status in (200, 201) else min(self.most, MOST_OF_A_PROBLEM)
        data = b"" if (response.length or 0) > most else response.read(most + 1)
        if len(data) > most or (response.length or 0) > most:
            self.close()
            raise TooLargeError(
                tell("the service's answer"),
                most,
                hint=tell("nothing was changed here; such an answer is never so long"),
            )
        if response.length:  # the answer is cut short, which read(n) does not report
            from http.client import IncompleteRead

            raise IncompleteRead(data, response.length)
        if response.status in (200, 201):
            self._answered = True
            return HttpAnswer(response.status, data)
        wait = response.headers.get("Retry-After", "")
        seconds = int(wait) if wait.isdigit() and len(wait) < 7 and wait.isascii() else None
        answer = HttpAnswer(response.status, data, response.headers.get("Location", ""), seconds)
        if answer.status == 400 and answer.json() is None and self._is_tls_port():
            self.close()
            raise self._without_tls()
        if self._proxy is not None and answer.status in _OF_PROXIES and answer.json() is None:
            reason = self._named(tell("the answer has status {status}", status=answer.status))
            raise NetworkError(self.url, reason, hint=self._check_proxy(self._proxy))
        self._answered = True
        return answer

    def _is_tls_port(self) -> bool:
        """Returns whether TLS is spoken at the port to which plain http was sent. Call it only for what has failed."""
        if self._secure or self._proxy is not None or self._answered:
            return False
        from hkoji.client.connection import speaks_tls

        return speaks_tls(self._host, self._port or PORTS["http"])

    def _without_tls(self) -> NetworkError:
        right = parse_url(self.url.replace("http", "https", 1))
        return NetworkError(
            self.url,
            tell("the server speaks TLS at this port"),
            hint=tell("nothing is lost; the address begins with https: hkoji register --server {url}", url=right),
        )

    def _hear(self, response: HTTPResponse) -> None:
        """Keeps the time that an answer states.

        A proxy before the service may write `Date`, or a refusal of its own, by its own clock.
        """
        if stated := response.headers.get("Hkoji-Time"):
            self.heard, self._states_time = HeardTime(stated, time.time()), True
        elif not self._states_time and response.status in (200, 201) and (date := response.headers.get("Date")):
            self.heard = HeardTime(date, time.time())

    def _broken(self, error: Exception) -> NetworkError:
        hint: str = LATER
        import ssl

        from hkoji.client.connection import certificate_hint, may_be_tls, reason_of

        reason = reason_of(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = tell("the certificate of the service does not hold: {reason}", reason=error.verify_message)
            hint = certificate_hint(error.verify_code)
        elif isinstance(error, ssl.SSLError):
            hint = tell("nothing is lost; does the service have https at this address? Ask its operator")
            if error.reason in _NOT_TLS:
                reason, hint = tell("the server does not speak TLS at this port"), _PLAIN
        elif self._proxy is None:
            if may_be_tls(error) and self._is_tls_port():
                return self._without_tls()
        elif "407" in str(error):  # of http.client: Tunnel connection failed: 407 …
            hint = PROXY_LOGIN
        else:
            hint = self._check_proxy(self._proxy)
        return NetworkError(self.url, self._named(reason), hint=hint)

    def _named(self, reason: str) -> str:
        """Returns why a request has failed, with the proxy by which it went."""
        if self._proxy is None:
            return reason
        return tell(
            "{reason} (by the proxy {host}:{port}, which {variable} names)",
            reason=reason,
            host=self._proxy.host,
            port=self._proxy.port,
            variable=self._proxy.variable,
        )

    def _check_proxy(self, proxy: HttpProxy) -> Text:
        return tell(
            "nothing is lost; check {variable}, which names the proxy. If {host} can be reached without one, add it to "
            "no_proxy",
            variable=proxy.variable,
            host=self._host,
        )


def request_headers(token: str | None) -> dict[str, str]:
    """Returns the headers of every request."""
    headers = {"Accept": "application/json", "User-Agent": f"hkoji/{__version__}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _nothing() -> Generator[bytes, None, None]:
    yield from ()


def _failures() -> tuple[type[Exception], ...]:
    """Returns what a request may raise. It is asked only when something was raised."""
    from hkoji.client.connection import FAILURES

    return FAILURES
