"""HTTP on real sockets: persistent connections, broken ones, limits, and addresses."""

from __future__ import annotations

import errno
import http.client
import re
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hkoji.client import connection, transport
from hkoji.client.answers import problem
from hkoji.client.requests import naming_move, same_bytes, seconds_ahead
from hkoji.client.transport import LATER, HttpAnswer, Transport, proxy_for
from hkoji.errors import NetworkError, ServiceError, TooLargeError, TooManyError, UsageError
from hkoji.service_url import parse_origin
from tests.support.commands import without_player
from tests.support.lying_proxy import RawAnswer, lying_proxy
from tests.support.receiver import certified
from tests.support.service import serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def listening(*connections: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that on each connection gives these answers, one per request, and closes.

    Returns the URL and the requests.
    """
    got: list[bytes] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            for answers in connections:
                connection, _ = listener.accept()
                with connection:
                    for answer in answers:
                        got.append(_request(connection))
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", got
        thread.join(300)


def _request(connection: socket.socket) -> bytes:
    """A complete request: head and body may arrive separately."""
    request = connection.recv(65536)
    announced = re.search(rb"Content-Length: ([0-9]+)\r\n", request)
    while request and len(request.partition(b"\r\n\r\n")[2]) < (int(announced[1]) if announced else 0):
        request += connection.recv(65536)
    return request


def test_a_repeated_request_has_the_same_bytes_and_another_one_has_its_own() -> None:
    with listening([OK] * 7) as (url, got):
        client = Transport(url)
        asked = [("/x", "t"), ("/x", "t"), ("/x", "u"), ("/y", "u"), ("/y", None), ("/y", None)]
        for path, token in asked:
            client.request("GET", path, None, token)
        client.request("POST", "/y", b"{}")
        client.close()
    assert got[0] == got[1]
    assert got[4] == got[5]
    for (path, token), request in zip(asked, got, strict=False):
        lines = request.split(b"\r\n")
        assert lines[0] == f"GET {path} HTTP/1.1".encode()
        assert f"Host: {url.removeprefix('http://')}".encode() in lines
        assert [line for line in lines if line.startswith(b"Authorization")] == (
            [f"Authorization: Bearer {token}".encode()] if token else []
        )
    assert got[6].startswith(b"POST /y")
    assert got[6].endswith(b"{}")


def test_a_connection_is_kept() -> None:
    with listening([OK, OK, OK]) as (url, got):
        client = Transport(url)
        for _ in range(3):
            assert client.request("GET", "/x") == HttpAnswer(200, b"{}")
        client.close()
    assert len(got) == 3
    assert got[0].startswith(b"GET /x HTTP/1.1\r\n")
    assert b"User-Agent: hkoji/" in got[0]


def test_a_request_is_sent_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that follows its head wakes the service twice."""
    sent: list[bytes] = []
    real = http.client.HTTPConnection.send

    def send(self: http.client.HTTPConnection, data: bytes) -> None:
        sent.append(data)
        real(self, data)

    monkeypatch.setattr(http.client.HTTPConnection, "send", send)
    with listening([OK, OK]) as (url, got):
        client = Transport(url)
        client.request("POST", "/x", b'{"a": 1}')
        client.request("GET", "/y")
        client.close()
    assert sent == got
    assert sent[0].endswith(b'\r\n\r\n{"a": 1}')


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_kept_connection_that_was_closed_is_opened_anew(method: str) -> None:
    with listening([OK], [OK]) as (url, got):
        client = Transport(url)
        client.request("GET", "/1")
        assert client.request(method, "/2", b"" if method == "POST" else None).status == 200
        client.close()
    assert [request.split()[1] for request in got] == [b"/1", b"/2"]


def test_a_fresh_connection_that_breaks_is_an_error_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LOOK", 0.1)
    with listening([b""]) as (url, got):
        with pytest.raises(NetworkError) as broken:
            Transport(url).request("POST", "/x", b"{}")
        assert "nothing is lost" in broken.value.hint
        assert "same bytes" not in broken.value.hint
        assert broken.value.url == url
    assert len(got) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"what?",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_an_answer_that_is_no_http_is_a_network_error(answer: bytes) -> None:
    with listening([answer]) as (url, _), pytest.raises(NetworkError):
        Transport(url).request("GET", "/x")


@pytest.mark.parametrize(
    "rest", [b"", b"5\r\nab", b"5\r\nabcde\r\n", b"-5\r\n{}\r\n0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n"]
)
def test_an_answer_that_breaks_off_is_told_in_words(rest: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + rest
    with listening([answer]) as (url, _), pytest.raises(NetworkError, match="the answer broke off before its end"):
        Transport(url).request("GET", "/x")


@pytest.mark.parametrize("size", [b"-5", b"-1", b"zz"])
def test_a_stream_ends_at_a_chunk_whose_size_is_no_size(size: bytes) -> None:
    """Without a limit, `-1` would read whatever comes into memory."""
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n%b\r\ncd\nef\n" % size
    with listening([answer]) as (url, _), closing(Transport(url)) as client:
        answered, lines = client.follow("/x", None, None, 60)
        assert answered.status == 200
        assert list(lines) == [b"ab\n"]


# --- TLS and proxies --------------------------------------------------------------------------------------------------


def status(url: str) -> int:
    """The status of an answer."""
    with closing(Transport(url)) as client:
        return client.request("GET", "/x").status


@contextmanager
def answering(folder: Path, name: str, times: int) -> Iterator[str]:
    """A server that answers so many connections through TLS, with a certificate for `name`. Returns its URL."""
    context, _ = certified(folder, name)

    def serve() -> None:
        for _ in range(times):
            connection, _ = listener.accept()
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                _request(secure)
                secure.sendall(OK)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"https://localhost:{listener.getsockname()[1]}"


@pytest.mark.parametrize("name", ["localhost", "other.example"])
def test_a_certificate_that_does_not_hold_is_named(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(tmp_path, name, 2) as url:
        with pytest.raises(NetworkError, match="certificate") as refused:
            status(url)
        assert "SSL_CERT_FILE" in refused.value.hint
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        if name == "localhost":
            assert status(url) == 200
        else:
            with pytest.raises(NetworkError, match="certificate") as other:
                status(url)
            assert "another one" in other.value.hint


def test_a_file_of_certificates_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with answering(tmp_path, "localhost", 1) as url, pytest.raises(NetworkError, match="certificate") as refused:
        status(url)
    assert "cannot be read" in refused.value.hint
    assert "missing.pem" in refused.value.hint


@pytest.mark.parametrize("form", ["text", "empty", "key", "DER", "folder"])
def test_a_file_without_certificates_is_named(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ca"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with answering(tmp_path, "localhost", 1) as url:
        certificate, end, key = (tmp_path / "certificate.pem").read_text().partition("-----END CERTIFICATE-----\n")
        if form == "folder":
            file.mkdir()
        else:
            der = ssl.PEM_cert_to_DER_cert(certificate + end)
            file.write_bytes({"text": b"hello", "empty": b"", "key": key.encode(), "DER": der}[form])
        with pytest.raises(NetworkError, match="certificate") as refused:
            status(url)
    assert "SSL_CERT_FILE names a file without a certificate in PEM form" in refused.value.hint
    assert str(file) in refused.value.hint


def test_a_server_without_tls_is_named() -> None:
    with (
        listening([b"HTTP/1.1 400 Bad Request\r\n\r\n"]) as (url, _),
        pytest.raises(NetworkError, match="does not speak TLS at this port") as refused,
        same_bytes(),
    ):
        status(url.replace("http:", "https:"))
    assert "have https at this port" in refused.value.hint


PLAIN_HTTP = [b"", b"\x15\x03\x01\x00\x02\x02\x46", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nhttps"]
"""Answers of servers with TLS to a request in plain http: none, an alert, and one in HTTP."""


@pytest.mark.parametrize("answer", PLAIN_HTTP, ids=["none", "alert", "400"])
def test_a_port_with_tls_is_named(tmp_path: Path, answer: bytes) -> None:
    context, _ = certified(tmp_path, "localhost")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    if connection.recv(3, socket.MSG_PEEK) == b"GET":
                        connection.recv(65536)
                        connection.sendall(answer)
                    else:
                        context.wrap_socket(connection, server_side=True)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(NetworkError, match="speaks TLS at this port") as refused, same_bytes():
            status(f"http://localhost:{port}")
        thread.join(60)
    assert f"hkoji register --server https://localhost:{port}" in refused.value.hint


def test_a_server_that_is_gone_speaks_no_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LOOK", 0.1)
    with listening([]) as (url, _), pytest.raises(NetworkError) as refused:
        status(url)
    assert refused.value.hint == LATER


@pytest.mark.parametrize(("scheme", "variable"), [("http", "HTTP_PROXY"), ("https", "all_proxy")])
def test_a_proxy_that_is_not_there_is_named(scheme: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
    named = f"by the proxy 127.0.0.1:{port}, which {variable} names"
    with pytest.raises(NetworkError, match=named) as refused, same_bytes():
        status(f"{scheme}://hkoji.invalid")
    assert f"check {variable}" in refused.value.hint
    assert "add it to no_proxy" in refused.value.hint


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_refuses_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening([b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"]) as (url, _):
        monkeypatch.setenv(f"{scheme}_proxy", url)
        with pytest.raises(NetworkError, match=rf"403.*by the proxy .*, which {scheme}_proxy names") as refused:
            status(f"{scheme}://hkoji.invalid")
    assert "add it to no_proxy" in refused.value.hint


def test_a_proxy_gets_the_whole_url_and_its_login(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening([OK]) as (url, got):
        monkeypatch.setenv("http_proxy", url.replace("//", "//us%65r:p%40ss@"))
        assert status("http://hkoji.invalid:8000/club") == 200
    assert got[0].startswith(b"GET http://hkoji.invalid:8000/club/x HTTP/1.1\r\nHost: hkoji.invalid:8000\r\n")
    assert f"Proxy-Authorization: Basic {b64encode(b'user:p@ss').decode()}\r\n".encode() in got[0]


@pytest.mark.parametrize(
    ("name", "host", "port"), [("hkoji.invalid", "hkoji.invalid", 443), ("2001:db8::1", "[2001:db8::1]", 8443)]
)
def test_tls_goes_through_a_tunnel(
    tmp_path: Path, name: str, host: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, _ = certified(tmp_path, name)
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def proxy() -> None:
            connection, _ = listener.accept()
            with connection:
                got.append(_request(connection))
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                with context.wrap_socket(connection, server_side=True) as secure:
                    for _ in range(2):
                        got.append(_request(secure))
                        secure.sendall(OK)
            connection, _ = listener.accept()
            with connection:
                got.append(_request(connection))
                connection.sendall(b"HTTP/1.1 502 No\r\n\r\n")

        threading.Thread(target=proxy, daemon=True).start()
        monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        with closing(Transport(f"https://{host}:{port}")) as client:
            assert [client.request("GET", path, token="t").status for path in ("/x", "/y")] == [200, 200]
            with pytest.raises(NetworkError):
                client.follow("/z", "t", None, 60)
    authority = f"{host}:{port}".encode()
    for asked in (got[0], got[-1]):
        assert asked.startswith(b"CONNECT %b HTTP/1." % authority)
        assert asked.count(b"\r\nHost: %b\r\n" % authority) == 1
        assert b"Proxy-Authorization: Basic" in asked
        assert b"Bearer" not in asked
    assert [each.split(b"\r\n")[0] for each in got[1:-1]] == [b"GET /x HTTP/1.1", b"GET /y HTTP/1.1"]
    assert not [each for each in got[1:-1] if b"Proxy-Authorization" in each]


def test_a_proxy_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening([b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"]) as (url, _):
        monkeypatch.setenv("https_proxy", url)
        with pytest.raises(
            NetworkError, match=r"407.*by the proxy 127\.0\.0\.1:\d+, which https_proxy names"
        ) as refused:
            status("https://hkoji.invalid")
    assert "NAME:PASSWORD@" in refused.value.hint
    assert "NAME:PASSWORD@" in problem(HttpAnswer(407, b"")).hint


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("http://a.example", {}, None),
        ("http://a.example", {"http_proxy": "http://p:1"}, "p:1"),
        ("http://a.example", {"http_proxy": "p:1"}, "p:1"),
        ("http://a.example", {"http_proxy": "http://p"}, "p:80"),
        ("http://a.example", {"https_proxy": "http://p:1"}, None),
        ("https://a.example", {"https_proxy": "http://p:1"}, "p:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "p:1"),
        ("http://a.example", {"HTTP_PROXY": "http://p:1"}, "p:1"),
        ("http://a.example", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, None),
        ("http://a.example", {"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "p:1"),
        ("http://a.example", {"http_proxy": "", "HTTP_PROXY": "http://p:1"}, None),
        ("http://a.example", {"all_proxy": "http://p:1"}, "p:1"),
        ("http://a.example", {"ALL_PROXY": "http://p:1"}, "p:1"),
        ("http://a.example", {"all_proxy": "socks5://p:1", "http_proxy": "http://q:2"}, "q:2"),
        ("http://localhost:8000", {"all_proxy": "http://p:1"}, "p:1"),
        ("http://localhost:8000", {"all_proxy": "http://p:1", "no_proxy": "localhost"}, None),
        ("http://127.0.0.1:8000", {"all_proxy": "http://p:1", "no_proxy": "localhost,127.0.0.0/8"}, None),
        ("http://[::1]:8000", {"all_proxy": "http://p:1", "no_proxy": "::1"}, None),
        ("http://[::1]:8000", {"all_proxy": "http://p:1", "no_proxy": "[::1]:8000"}, None),
        ("http://a.example", {"all_proxy": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://a.example", {"all_proxy": "http://p:1", "no_proxy": ".example"}, None),
        ("http://a.example", {"all_proxy": "http://p:1", "no_proxy": "b.example, EXAMPLE"}, None),
        ("http://a.example", {"all_proxy": "http://p:1", "no_proxy": "a.example:80"}, None),
        ("http://a.example", {"all_proxy": "http://p:1", "no_proxy": "a.example:81"}, "p:1"),
        ("http://aexample", {"all_proxy": "http://p:1", "no_proxy": "example"}, "p:1"),
        ("http://a.example", {"all_proxy": "http://p:1", "no_proxy": ""}, "p:1"),
    ],
)
def test_the_environment_names_the_proxy(url: str, environ: dict[str, str], proxy: str | None) -> None:
    parts = urlsplit(url)
    assert parts.hostname is not None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = proxy_for(parts.scheme, parts.hostname, port, environ)
    assert (f"{found.host}:{found.port}" if found else None) == proxy


@pytest.mark.parametrize(
    "value",
    [
        "socks5://p:1",
        "https://p:1",
        "http://",
        "http://p:x",
        "http://[",
        "ftp://p",
        "http://a b:1",
        "http://a\x7fb:1",
        "a..b:1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_not_passed_by(value: str) -> None:
    with pytest.raises(UsageError, match="all_proxy"):
        proxy_for("http", "a.example", 80, {"all_proxy": value})


HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 \r\ncontent-length:  3 \r\nX: a: b\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nRetry-After: 8\r\nContent-Length: 3\r\nLocation: /there\r\nLocation: /nowhere\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 300\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 3\n\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n3\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 03\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: \xe9\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 80 + b"Content-Length: 3\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n",
]


@pytest.mark.parametrize("head", HEADS)
def test_plain_heads_are_read_as_the_library_reads_all(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = b"abc\r\n0\r\n\r\n" if b"chunked" in head else b"abc"

    def asked() -> tuple[HttpAnswer, bool]:
        with listening([head + rest]) as (url, _):
            client = Transport(url)
            try:
                answer = client.request("GET", "/x")
                assert client._connection is not None
                return answer, client._connection.sock is None
            finally:
                client.close()

    ours = asked()
    monkeypatch.setattr(connection, "PlainHeadResponse", http.client.HTTPResponse)
    assert ours == asked()


@pytest.mark.parametrize("length", [b"Content-Length: 1001", b"Connection: close"])
def test_an_answer_that_is_too_long_is_refused(length: bytes) -> None:
    long = b"HTTP/1.1 200 OK\r\n" + length + b"\r\n\r\n" + b"x" * 1001
    with listening([long]) as (url, got):
        client = Transport(url)
        client.most = 1000
        with pytest.raises(TooLargeError, match="larger than 1000") as refused:
            client.request("GET", "/x")
        client.close()
    assert "nothing was changed" in refused.value.hint
    assert len(got) == 1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("rest", [b"Content-Length: 5\r\n\r\nab", b"Transfer-Encoding: chunked\r\n\r\n-1\r\nab"])
def test_an_answer_that_breaks_off_with_its_connection_is_closed(
    rest: bytes, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses: list[http.client.HTTPResponse] = []
    begin = http.client.HTTPResponse.begin

    def begun(self: http.client.HTTPResponse) -> None:
        responses.append(self)
        begin(self)

    monkeypatch.setattr(http.client.HTTPResponse, "begin", begun)
    with listening([b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n" + rest]) as (url, _):
        client = Transport(url)
        with suppress(NetworkError):
            if streamed:
                client.follow("/x", None, None, 60)
            else:
                client.request("GET", "/x")
        client.close()
    assert [each.isclosed() for each in responses] == [True]


def test_a_silent_server_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "TIMEOUT", 0.1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(NetworkError, match="timed out"):
            Transport(f"http://127.0.0.1:{listener.getsockname()[1]}").request("GET", "/x")


@pytest.mark.parametrize(
    ("start", "tunnel"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nX: ", False),
        (b"HTTP/1.1 200 OK\r\nX: ", True),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_is_left(
    monkeypatch: pytest.MonkeyPatch, start: bytes, tunnel: bool
) -> None:
    """No single wait is long, neither in the body nor in a header, nor in a proxy's answer."""
    monkeypatch.setattr(transport, "LONGEST", 0.1)
    monkeypatch.setattr(transport, "TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(start)
                for _ in range(500):
                    connection.sendall(b"a")
                    time.sleep(0.01)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        if tunnel:
            monkeypatch.setenv("https_proxy", url)
        client = Transport("https://hkoji.invalid" if tunnel else url)
        with pytest.raises(NetworkError, match="too slowly"):
            client.request("GET", "/")
        thread.join(300)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"seq":"1"}', b"[" * 100_000])
def test_an_answer_in_another_form_is_told_in_words(body: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    error = view_refused(answer)
    assert str(error) == "the service's answer is not understood: its form is wrong"
    assert "Nothing was changed" in error.hint


def test_a_failure_without_a_word_has_a_hint() -> None:
    error = view_refused(b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n")
    assert str(error) == "the service answered with status 500"
    assert "nothing was changed" in error.hint


def view_refused(answer: bytes) -> ServiceError:
    """The error of a client that asks for its view and gets this answer."""
    with listening([answer]) as (url, _):
        service = without_player(Transport(url))
        with pytest.raises(ServiceError) as caught:
            service.view("0" * 32, -1)
        service.close()
    return caught.value


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # by a server that does not read
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(NetworkError, match="Connection refused"):
            Transport(url).request("GET", "/x")

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NetworkError, match="not known"):
        Transport("http://no.such.host.invalid").request("GET", "/x")


def test_the_time_is_the_services_and_not_that_of_a_proxy(tmp_path: Path) -> None:
    def dated(answer: RawAnswer) -> bytes:
        return answer._replace(headers=(*answer.headers, ("Date", "Thu, 26 Nov 2020 12:00:07 GMT"))).bytes()

    def without_time(answer: RawAnswer) -> bytes:
        return dated(answer._replace(headers=tuple(pair for pair in answer.headers if pair[0].lower() != "hkoji-time")))

    def refused(answer: RawAnswer) -> bytes:
        return without_time(answer._replace(line=b"HTTP/1.1 502 Bad Gateway"))

    with serving(tmp_path / "data", forked=True) as service, lying_proxy(service.port) as proxy:
        proxy.change = refused
        client = Transport(proxy.url)
        assert client.request("GET", "/v1/service").status == 502
        assert client.heard is None
        proxy.change = without_time  # a service that does not state its time
        client.request("GET", "/v1/service")
        assert client.heard is not None
        assert client.heard.text == "Thu, 26 Nov 2020 12:00:07 GMT"
        for change in (dated, refused, without_time):
            proxy.change = change
            client.request("GET", "/v1/service")
            assert client.heard is not None
            assert abs(seconds_ahead(client.heard) or 0) < 60
        client.close()


def test_redirects_are_not_followed() -> None:
    away = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n"
    with listening([away]) as (url, got):
        service = without_player(Transport(url))
        with pytest.raises(ServiceError, match="redirects to http://127") as redirect:
            service.describe()
        service.close()
    assert "register there" in redirect.value.hint
    assert len(got) == 1


def busy(seconds: str, status: str = "429 Too Many Requests") -> bytes:
    body = b'{"code":"too-many-requests","detail":"too many requests","retry_after":7}'
    head = f"HTTP/1.1 {status}\r\nRetry-After: {seconds}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_service_that_asks_to_wait_a_little_is_waited_for_and_told_the_same_bytes(status: str) -> None:
    said: list[str] = []
    paused: list[float] = []
    with listening([busy("7", status), busy("50", status), OK]) as (url, got):
        service = without_player(Transport(url), said.append, paused.append)
        assert service.requests.send("POST", "/x", body=b"{}").body == b"{}"
        service.close()
    assert paused == [7, 50]
    assert said == [f"the service asks hkoji to wait; trying again in {seconds} s" for seconds in (7, 50)]
    assert len(set(got)) == 1


@pytest.mark.parametrize(
    ("waits", "paused"), [(("61",), []), (("30", "31"), [30]), (("1", "1", "1", "1"), [1, 1, 1]), (("soon",), [])]
)
def test_it_is_not_waited_for_longer_than_a_minute_nor_more_than_three_times(
    waits: tuple[str, ...], paused: list[float]
) -> None:
    slept: list[float] = []
    with listening([busy(wait) for wait in waits]) as (url, got):
        service = without_player(Transport(url), pause=slept.append)
        with pytest.raises(TooManyError, match="too many requests") as raised:
            service.requests.send("GET", "/x")
        service.close()
    assert raised.value.retry_after == 7
    assert raised.value.hint == "try again in 7 s"
    assert slept == paused
    assert len(got) == len(waits)


@pytest.mark.parametrize(
    ("cause", "moved"),
    [
        (ConnectionRefusedError(), True),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), True),
        (OSError(errno.EHOSTUNREACH, "No route to host"), True),
        (TimeoutError(), False),
        (ConnectionResetError(), False),
    ],
)
def test_only_where_nobody_is_a_service_may_have_moved(cause: OSError, *, moved: bool) -> None:
    def hint(registered: bool, before: str = LATER) -> str:
        with pytest.raises(NetworkError) as raised, same_bytes(), naming_move(lambda: registered):
            raise NetworkError("http://x", "gone", hint=before) from cause
        return raised.value.hint

    same = "nothing is lost: give the same command again, and it sends the same bytes"
    assert hint(registered=True) == same + moved * "; if the service has moved: hkoji register --server URL"
    assert hint(registered=False) == same
    assert hint(registered=True, before="ask about the certificate") == "ask about the certificate"


@pytest.mark.parametrize("path", ["/path", "/games/", "/%2f"])
def test_the_address_of_a_services_own_has_no_path(path: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a server") as wrong:
        parse_origin(f"HTTP://X:08000{path}")
    assert wrong.value.hint == "it has no path, because a service answers at its root: give http://x:8000"


def test_a_name_that_cannot_be_encoded_is_told_in_plain_words() -> None:
    with pytest.raises(UnicodeError) as error:
        "a..b".encode("idna")
    assert connection.reason_of(error.value) == "no host can have this name"


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("http://127.0.0.1:1", False), ("http://localhost", False), ("http://[::1]", False),
        ("http://127.8.8.8", False), ("https://example.org", False),
        ("http://example.org", True), ("http://192.168.0.1", True), ("http://127.example.org", True),
    ],
)  # fmt: skip
def test_plain_http_to_another_machine_is_noticed(url: str, exposed: bool) -> None:
    assert Transport(url).exposed is exposed


@pytest.mark.parametrize(
    ("url", "proxy", "exposed"),
    [
        ("http://localhost:8000", "http://proxy.example:3128", True),
        ("http://localhost:8000", "http://127.0.0.1:3128", False),
        ("http://example.org", "http://127.0.0.1:3128", True),
        ("https://example.org", "http://proxy.example:3128", False),
    ],
)
def test_a_proxy_on_another_machine_reads_plain_http(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str, exposed: bool
) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    assert Transport(url).exposed is exposed
