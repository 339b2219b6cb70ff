"""Modules of pages, run in Node.js and in real browsers without a driver: a page imports a test's module and posts
what that has found.

A module of `tests/web/node` exports `run(data)`, which returns JSON. The server of a browser sends the scripts of pages
and of tests under the policy of pages, and nothing else. WebKitGTK needs its driver, and a screen that is not seen.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final
from urllib.request import Request, urlopen

import pytest
from hkoji_server.web.static_files import FOLDER, POLICY

from tests.support.browsers import CHROMIUM_OPTIONS, BrowserName, needs_browser

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ROOT / "tests" / "web" / "node"
ENGINES: Final[tuple[BrowserName, ...]] = ("node", "chromium", "firefox", "webkit")
_SECONDS: Final = 120
_PAGE: Final = '<!DOCTYPE html><title>modules</title><script type="module" src="/boot.js"></script>'
_BOOT: Final = """\
const { run } = await import('/tests/web/node/MODULE');
const data = await (await fetch('/data')).json();
let said;
try { said = { value: await run(data) }; } catch (error) { said = { error: `${error}\\n${error.stack}` }; }
await fetch('/result', { method: 'POST', body: JSON.stringify(said) });
"""
# Without these, Firefox asks its makers for news while it runs.
_FIREFOX: Final = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


def run_module(engine: BrowserName, module: str, data: object) -> Any:  # Any: JSON
    """The value of `run(data)` of a module of `tests/web/node`. Skips the test if the machine has no such engine.

    Raises `AssertionError` if the module throws, or if nothing comes within two minutes.
    """
    program = needs_browser(engine)
    if engine == "node":
        words = [str(program), "--no-warnings", str(MODULES / "run.mjs"), module]
        done = subprocess.run(
            words, input=json.dumps(data), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
    else:
        said = _in_browser(engine, program, module, data)
    assert "error" not in said, said["error"]
    return said["value"]


def _in_browser(engine: BrowserName, program: Path, module: str, data: object) -> Any:  # Any: JSON
    with TemporaryDirectory() as folder, _server(module, json.dumps(data).encode()) as (address, results):
        start = {"chromium": _chromium, "firefox": _firefox, "webkit": _webkit}[engine]
        with start(program, Path(folder), address):
            try:
                return json.loads(results.get(timeout=_SECONDS))
            except Empty:
                raise AssertionError(f"{engine} has posted nothing") from None


# --- the server -------------------------------------------------------------------------------------------------------


@contextmanager
def _server(module: str, data: bytes) -> Iterator[tuple[str, Queue[bytes]]]:
    results: Queue[bytes] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = (ROOT / self.path.lstrip("/")).resolve()
            if self.path == "/":
                self._send("text/html", _PAGE.encode())
            elif self.path == "/boot.js":
                self._send("text/javascript", _BOOT.replace("MODULE", module).encode())
            elif self.path == "/data":
                self._send("application/json", data)
            elif path.suffix == ".js" and path.is_file() and (FOLDER in path.parents or MODULES in path.parents):
                self._send("text/javascript", path.read_bytes())
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            results.put(self.rfile.read(int(self.headers["Content-Length"])))
            self._send("text/plain", b"")

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", results
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# --- the browsers -----------------------------------------------------------------------------------------------------


@contextmanager
def _running(words: list[str], **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program with all that it starts, until the block ends."""
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, start_new_session=True, env={**os.environ, **env}, **silent)  # type: ignore[call-overload] # by name
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _chromium(program: Path, folder: Path, address: str) -> Any:  # Any: a context manager
    return _running([str(program), *CHROMIUM_OPTIONS, "--headless=new", f"--user-data-dir={folder}", address])


def write_firefox_profile(folder: Path) -> None:
    """Writes a profile with which Firefox asks its makers for nothing."""
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _FIREFOX.items())
    (folder / "user.js").write_text("".join(lines))


def _firefox(program: Path, folder: Path, address: str) -> Any:  # Any: a context manager
    write_firefox_profile(folder)
    return _running([str(program), "--headless", "--no-remote", "--profile", str(folder), address], HOME=str(folder))


@contextmanager
def _webkit(program: Path, folder: Path, address: str) -> Iterator[None]:
    with webkit_session(program, folder) as session:
        call(f"{session}/url", {"url": address})
        yield


@contextmanager
def webkit_session(program: Path, folder: Path) -> Iterator[str]:
    """The address of a session of WebKitGTK by its driver, on a screen of its own."""
    screen = subprocess.run(["which", "Xvfb"], capture_output=True, text=True, check=False).stdout.strip()
    if not screen:
        pytest.skip("for want of a browser: webkit")
    read, write = os.pipe()
    xvfb = subprocess.Popen(
        [screen, "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as said:
            display = f":{said.readline().strip()}"
        port = _free_port()
        home = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "DISPLAY": display}
        with _running([str(program), f"--port={port}"], **home):
            driver = f"http://127.0.0.1:{port}"
            _wait_for(driver)
            opened = call(f"{driver}/session", {"capabilities": {"alwaysMatch": {}}})
            session = f"{driver}/session/{opened['sessionId']}"
            try:
                yield session
            finally:
                call(session, None, "DELETE")
    finally:
        xvfb.kill()
        xvfb.wait()


def call(address: str, body: object, method: str = "POST") -> Any:  # Any: JSON
    """The value of a command of WebDriver."""
    sent = None if body is None else json.dumps(body).encode()
    request = Request(address, sent, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=_SECONDS) as answer:
        return json.load(answer)["value"]


def _free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


def _wait_for(driver: str) -> None:
    for _ in range(100):
        try:
            call(f"{driver}/status", None, "GET")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("WebKitWebDriver has not started")
