"""`hkoji doctor --server` finds each change of what pages load, and none where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hkoji_server.web.page_doctor import examine
from hkoji_server.web.static_files import POLICY, static_files

from hkoji.cli.output import Exit
from tests.support.service import Service, begin, serving, two_players
from tests.support.shell import run

Headers = list[tuple[str, str]]
Change = Callable[[str, Headers, bytes], tuple[Headers, bytes]]
"""Changes the headers and the body of the answer to a path."""


@pytest.fixture(scope="module")
def game(service: Service) -> str:
    return begin(*two_players(service))


@cache
def answer(port: int, path: str) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """The status, the headers and the body that a service of this machine answers with."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as behind:
        behind.request("GET", path, headers={"Accept": "text/html"})
        given = behind.getresponse()
        own = ("date", "content-length", "connection", "transfer-encoding")
        kept = tuple((name, value) for name, value in given.getheaders() if name.lower() not in own)
        return given.status, kept, given.read()


@contextmanager
def changed(service: Service, change: Change) -> Iterator[str]:
    """The address of a service like this one, whose answers somebody changes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kept, honest = answer(service.port, self.path)
            headers, body = change(self.path, list(kept), honest)
            self.send_response(status)
            for name, value in (*headers, ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def verdicts(url: str) -> dict[str, str]:
    return {check.name: check.verdict for check in examine(url)}


GOOD = {"files": "ok", "policy": "ok", "markup": "ok"}


def test_an_honest_service_has_the_pages_of_this_package(service: Service, game: str) -> None:
    done = run("doctor", "--server", service.url, "--json")
    found: dict[str, Any] = json.loads(done.out)  # Any: JSON
    assert (done.code, found["ok"]) == (Exit.OK, True)
    assert {each["name"]: each["verdict"] for each in found["checks"]} == GOOD
    assert static_files().hash in done.out
    assert f"/g/{game[:9]}" in done.out
    with changed(service, lambda _, headers, body: (headers, body)) as same:
        assert verdicts(same) == GOOD


def replaced(where: str, old: str, new: str) -> Change:
    """Replaces a text in the answers to paths that begin so."""

    def change(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        if not path.startswith(where) or (where == "/" != path):
            return headers, body
        assert old.encode() in body, (path, body)
        return headers, body.replace(old.encode(), new.encode(), 1)

    return change


def sends(where: str, name: str, *values: str) -> Change:
    """Sends other values of a header with the answers to paths that begin so."""

    def change(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        if not path.startswith(where):
            return headers, body
        kept = [each for each in headers if each[0].lower() != name]
        return [*kept, *((name, value) for value in values)], body

    return change


CSP = "content-security-policy"
BASE = static_files().base
LIES: dict[str, tuple[Change, str]] = {
    "a byte of a script": (replaced(f"{BASE}start.js", "import", "Import"), "files"),
    "a byte of the style": (replaced(f"{BASE}style.css", "{", "{ "), "files"),
    "a byte of the worker for pushes": (replaced("/sw.js", "self", "Self"), "files"),
    "a worker without a policy": (sends(f"{BASE}log/check.js", CSP), "files"),
    "an inline script on /": (replaced("/", "</body>", "<script>1</script></body>"), "markup"),
    "a script on an invitation": (replaced("/i/", "</body>", "<SCRIPT SRC=/x.js></SCRIPT></body>"), "markup"),
    "a script on a game": (replaced("/g/", "</body>", '<script type="module" src="/v1/games"></script>'), "markup"),
    "a script of another version": (replaced("/i/", f'src="{BASE}', 'src="/static/0123/'), "markup"),
    "modules from elsewhere": (replaced("/i/", f'data-static="{BASE}', 'data-static="/other/'), "markup"),
    "another style": (replaced("/i/", "</head>", '<link rel=stylesheet href="//example.org/a.css"></head>'), "markup"),
    "other pictures": (replaced("/g/", "</body>", '<svg><use xlink:href="/x.svg#a"/></svg></body>'), "markup"),
    "a handler": (replaced("/i/", "<main", '<main onclick="x()"'), "markup"),
    "an address that is a script": (replaced("/i/", "<main", '<a href=" java&#10;script:x()">a</a><main'), "markup"),
    "a frame": (replaced("/i/", "</body>", "<iframe src=/x></iframe></body>"), "markup"),
    "another base": (replaced("/i/", "<head>", "<head><base href=/x/>"), "markup"),
    "a policy with inline scripts": (
        sends("/i/", CSP, POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'")), "policy"
    ),
    "no policy on a game": (sends("/g/", CSP), "policy"),
    "two policies": (sends("/i/", CSP, POLICY, POLICY), "policy"),
    "windows that share": (sends("/i/", "cross-origin-opener-policy", "unsafe-none"), "policy"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "found"), LIES.values(), ids=LIES)
def test_a_change_is_found(service: Service, game: str, change: Change, found: str) -> None:
    with changed(service, change) as url:
        assert verdicts(url) == {**GOOD, found: "fail"}


@pytest.mark.parametrize("lie", ["a byte of a script", "a handler", "no policy on a game"])
def test_the_command_warns_of_a_change(service: Service, game: str, lie: str) -> None:
    change, found = LIES[lie]
    with changed(service, change) as url:
        done = run("doctor", "--server", url)
        assert done.code == Exit.FAILURE
        assert "do not play in its pages" in " ".join(done.out.split())
        assert found in done.out


def test_a_service_without_pages_loads_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True, options=("--no-web",)) as bare:
        assert verdicts(bare.url) == {"pages": "ok"}
        with changed(bare, replaced("/i/", "</body>", "<script src=/x.js></script></body>")) as url:
            assert verdicts(url) == {"pages": "fail"}


def test_another_version_cannot_be_compared(service: Service) -> None:
    def change(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        return headers, body.replace(b'"version":"', b'"version":"9.')

    with changed(service, change) as url:
        assert verdicts(url) == {"version": "fail"}


def test_an_address_without_such_a_service(service: Service) -> None:
    with changed(service, lambda _, headers, __: (headers, b"[]")) as url:
        assert verdicts(url) == {"service": "fail"}
    assert verdicts(url) == {"service": "fail"}  # nothing listens there now
    assert run("doctor", "--server", "ftp://example.org").code == Exit.USAGE
    assert run("doctor", "--server", service.url, "--data", "x").code == Exit.USAGE
