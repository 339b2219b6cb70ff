"""The harness finds browsers as it says, and fails a test for what goes wrong in a page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browsers import find_browser, missing_browsers, needs_browser
from tests.support.loops import run
from tests.support.visits import DESK, PHONE, Faults, visit

POLICY = "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types hkoji"
PAGE = """<!DOCTYPE html><meta name=viewport content="width=device-width"><title>t</title>
<body><script src=/s.js></script></body>"""
FAULTS = """console.error('a cry');
document.body.style.color = 'red';
document.body.setAttribute('style', 'color: red');
try { document.body.innerHTML = '<b>x</b>' } catch {}
undefined_name();"""


@contextmanager
def page_with(script: str) -> Iterator[str]:
    """The address of a page with a script, under a policy as strict as the service's."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            text = PAGE if is_page else script
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if is_page else "text/javascript")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_faults_in_a_page_are_collected(chromium: Browser) -> None:
    faults = Faults()
    with page_with(FAULTS) as address:
        page = visit(chromium, faults, PHONE)
        page.goto(address)
        page.evaluate("0")  # what the page said before has arrived
        page.context.close()
    for said in (
        "a cry",
        "securitypolicyviolation: style-src-attr",
        "securitypolicyviolation: require-trusted-types-for",
        "undefined_name is not defined",
    ):
        assert any(said in each for each in faults.unexpected), (said, faults.unexpected)
    faults.expect(".")
    assert faults.unexpected == []


@pytest.mark.long
def test_visitors_share_no_storage_and_have_screens_of_their_own(visitor: Callable[..., Page]) -> None:
    script = "document.title = `${innerWidth} ${sessionStorage.seen || ''}`; sessionStorage.seen = 'seen'"
    with page_with(script) as address:
        first, second = visitor(), visitor(DESK)
        for page in (first, first, second):
            page.goto(address)
        assert (first.title(), second.title()) == ("360 seen", "1280")


def test_coroutines_of_other_tests_run_while_chromium_does(onlooker: Page) -> None:
    async def three() -> int:
        return 3

    assert run(three()) == 3
    assert onlooker.evaluate("1 + 1") == 2


def test_none_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_FIREFOX", "none")
    assert find_browser("firefox") is None
    with pytest.raises(pytest.skip.Exception, match="firefox") as skipped:
        needs_browser("firefox")
    assert missing_browsers([str(skipped.value), "groff is not on the PATH", str(skipped.value)]) == {"firefox": 2}


def test_a_variable_names_another_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "other"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("HKOJI_NODE", str(program))
    assert find_browser("node") == program
    program.unlink()
    with pytest.raises(ValueError, match=r"\$HKOJI_NODE names no program"):
        find_browser("node")


def test_a_run_without_browsers_says_so_in_one_line() -> None:
    env = {**os.environ, "HKOJI_CHROMIUM": "none"}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "-k", "faults or coroutines"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if "NOT TESTED" in line]
    assert said == ["NOT TESTED, for want of chromium (2 tests): CONTRIBUTING.md says how to install"]
