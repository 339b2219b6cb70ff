"""`hkoji serve` speaks TLS without a proxy: with good files it serves, with others it says what is wrong."""

from __future__ import annotations

import os
import re
import shlex
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from http.client import HTTPSConnection
from pathlib import Path
from select import select

import pytest
from hkoji_server.process.tls import check_name
from playwright.sync_api import Page

from tests.support.certificates import Certificate, certify
from tests.support.forked import run_forked
from tests.support.home_shell import HomeShell, finish, open_and_join
from tests.support.service import Service, serving

ROOT = Path(__file__).parents[2]
MOST = 12
"""The most connections of one address to a process: more than the six of a browser, some of which may be closing."""
PATIENCE = 3
"""The seconds that a handshake may take."""


def options(own: Certificate) -> tuple[str, ...]:
    return ("--tls-certificate", str(own.certificate), "--tls-key", str(own.key))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certify(tmp_path_factory.mktemp("tls"), "127.0.0.1", "localhost")


@pytest.fixture(scope="module", params=["1", "2"], ids=["one process", "two workers"])
def service(
    request: pytest.FixtureRequest, own: Certificate, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    settings = {"max_address_connections": str(MOST), "request_timeout": str(PATIENCE)}
    given = (*options(own), "--workers", request.param)
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True, options=given, settings=settings) as started:
        yield started


def get(service: Service, own: Certificate, path: str) -> tuple[int, dict[str, str], bytes]:
    context = ssl.create_default_context(cafile=str(own.certificate))
    with closing(HTTPSConnection("127.0.0.1", service.port, context=context, timeout=20)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def test_the_address_and_the_origin_are_https(service: Service, own: Certificate) -> None:
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+", service.url)
    status, headers, body = get(service, own, "/v1/service")
    assert (status, f'"origin":"{service.url}"'.encode() in body.replace(b" ", b"")) == (200, True)
    assert "strict-transport-security" not in headers  # no origin was given, and this one has a port


def test_a_whole_game_by_commands(service: Service, own: Certificate, tmp_path: Path) -> None:
    host, guest = (HomeShell(tmp_path / name, SSL_CERT_FILE=str(own.certificate)) for name in ("alice", "bob"))
    for shell in (host, guest):
        shell.run("init", shell.home.name)
        shell.run("register", "--server", service.url)
    game = open_and_join(host, guest, "--max-rounds", "1", "--tiebreak", "charm")
    finish(host, guest, game)
    assert "All 19 entries hold" in host.run("audit", game).stdout
    stranger = HomeShell(tmp_path / "carol", SSL_CERT_FILE="/dev/null")
    stranger.run("init", "carol")
    assert "certificate" in stranger.run("register", "--server", service.url, code=7).stderr


@pytest.mark.parametrize("service", ["2"], indirect=True, ids=["two workers"], scope="module")
def test_a_browser_reads_a_page(service: Service, visitor: Callable[..., Page]) -> None:
    page = visitor(ignore_https_errors=True)
    answer = page.goto(f"{service.url}/i/{'0' * 32}")
    assert answer is not None
    assert (answer.status, page.evaluate("isSecureContext")) == (200, True)


def test_a_client_that_speaks_no_tls_gets_nothing(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), 20) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP" not in plain.recv(100)


def test_old_versions_are_refused(service: Service, own: Certificate) -> None:
    context = ssl.create_default_context(cafile=str(own.certificate))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", service.port), 20) as plain,
        pytest.raises(ssl.SSLError),
        context.wrap_socket(plain, server_hostname="127.0.0.1"),
    ):
        pass


def test_slow_handshakes_are_few_and_end(service: Service, own: Certificate, request: pytest.FixtureRequest) -> None:
    allowed = MOST * int(request.node.callspec.params["service"])
    time.sleep(PATIENCE / 2)  # until the service has counted the ends of what earlier tests have opened
    begun = time.monotonic()
    with ExitStack() as stack:
        there = ("127.0.0.1", service.port)
        slow = {stack.enter_context(socket.create_connection(there, 20)) for _ in range(allowed + 6)}
        while slow:
            ended, _, _ = select(slow, [], [], 20)
            assert ended
            if time.monotonic() - begun < PATIENCE / 2:
                assert len(slow) > allowed
            slow -= set(ended)
    assert PATIENCE * 0.9 < time.monotonic() - begun < PATIENCE + 10
    while True:  # a client may see the end of its connection before the service has counted it
        with suppress(ConnectionResetError):
            assert get(service, own, "/healthz")[0] == 200
            return
        assert time.monotonic() - begun < PATIENCE + 20


def serve(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code and the words of a service that does not start."""
    done = run_forked(["serve", "--data", str(folder / "data"), "--port", "0", *words], env=dict(os.environ))
    return done.returncode, " ".join(done.stderr.split())


@pytest.mark.parametrize("number", [0, 2])
def test_one_option_alone_is_refused(own: Certificate, tmp_path: Path, number: int) -> None:
    code, said = serve(tmp_path, *options(own)[number : number + 2])
    assert code == 2
    assert "give both --tls-certificate FILE and --tls-key FILE" in said
    assert not (tmp_path / "data").exists()


BAD = {
    "an encrypted key": (lambda at: certify(at, "127.0.0.1", passphrase="secret"), "is encrypted"),
    "an expired one": (lambda at: certify(at, "127.0.0.1", ends=timedelta(hours=-1)), "expired at"),
    "one of tomorrow": (lambda at: certify(at, "127.0.0.1", begins=timedelta(hours=1)), "this machine's clock"),
    "another name": (lambda at: certify(at, "hkoji.example"), "--origin https://hkoji.example:"),
    "a wildcard": (lambda at: certify(at, "*.example.org"), "--origin https://hkoji.example.org:"),
    "no file": (lambda at: certify(at, "127.0.0.1")._replace(key=at / "none"), "No such file"),
    "no key": (lambda at: Certificate(certify(at, "127.0.0.1").certificate, at / "certificate.pem"), "no private key"),
    "no certificate": (lambda at: Certificate(at / "key.pem", certify(at, "127.0.0.1").key), "no certificate"),
}


@pytest.mark.parametrize(("make", "expected"), BAD.values(), ids=BAD)
def test_a_bad_certificate_is_refused(tmp_path: Path, make: Callable[[Path], Certificate], expected: str) -> None:
    code, said = serve(tmp_path, *options(make(tmp_path)))
    assert (code, expected in said) == (2, True), said
    database = tmp_path / "data" / "hkoji.sqlite3"
    assert not database.exists() or b"PRIVATE KEY" not in database.read_bytes()


def test_the_key_of_another_certificate_is_refused(own: Certificate, tmp_path: Path) -> None:
    code, said = serve(tmp_path, *options(own._replace(key=certify(tmp_path, "127.0.0.1").key)))
    assert (code, "is not the key of the certificate" in said) == (2, True), said


def test_a_service_known_by_http_asks_for_its_new_address(own: Certificate, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, forked=True) as plain:
        kept = plain.url
    code, said = serve(tmp_path, *options(own))
    secure = kept.replace("http:", "https:")
    assert (code, f"hkoji serve --origin {secure}" in said) == (2, True), said
    with serving(data, forked=True, options=(*options(own), "--origin", secure)) as started:
        assert get(started, own, "/v1/service")[0] == 200


@pytest.mark.parametrize(("origin", "expected"), [("https://localhost", True), ("https://localhost:8443", False)])
def test_browsers_learn_https_only_where_all_ports_are(
    own: Certificate, tmp_path: Path, origin: str, expected: bool
) -> None:
    with serving(tmp_path / "data", forked=True, options=(*options(own), "--origin", origin)) as started:
        assert ("strict-transport-security" in get(started, own, "/healthz")[1]) is expected


def test_the_commands_of_the_page_for_hosts_at_home_work(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "hosting.md").read_text()
    section = page.partition("## A page at home")[2].partition("\n## ")[0]
    commands = "".join(re.findall(r"^    (.*\n)", section, re.MULTILINE)).replace("\\\n", "").splitlines()
    make, start = (shlex.split(each.replace("192.168.1.20", "127.0.0.1")) for each in commands)
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True)
    own = Certificate(tmp_path / "home.pem", tmp_path / "home-key.pem")
    assert start[-4:] == ["--tls-certificate", "home.pem", "--tls-key", "home-key.pem"]
    with serving(tmp_path / "data", forked=True, options=options(own)) as started:
        alice = HomeShell(tmp_path / "alice", SSL_CERT_FILE=str(own.certificate))
        alice.run("init", "alice")
        alice.run("register", "--server", started.url)
    check_name(own.certificate, "https://my-machine.local:8443")
    readme = (ROOT / "README.md").read_text().replace("\\\n", "")
    assert start in [shlex.split(line) for line in re.findall(r"^    (hkoji serve .*)$", readme, re.MULTILINE)]
