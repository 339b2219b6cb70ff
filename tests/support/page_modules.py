"""Modules of pages, run in Node.js and in real browsers: a page imports a test's module and posts what that has found.

A module of `tests/web/node` exports `run(data)`, which returns JSON. The server of a browser sends the scripts of pages
and of tests under the policy of pages, and nothing else.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final

from hkoji_server.web.static_files import FOLDER, POLICY

from tests.support.browsers import CHROMIUM_OPTIONS, BrowserName, needs_browser
from tests.support.webdriver import running, window

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ROOT / "tests" / "web" / "node"
ENGINES: Final[tuple[BrowserName, ...]] = ("node", "chromium", "firefox", "webkit")
Goto = Callable[[str], object]
_SECONDS: Final = 120
_PAGE: Final = '<!DOCTYPE html><title>modules</title><script type="module" src="/boot.js"></script>'
_BOOT: Final = """\
const { run } = await import('/tests/web/node/MODULE');
const data = await (await fetch('/data')).json();
let said;
try { said = { value: await run(data) }; } catch (error) { said = { error: `${error}\\n${error.stack}` }; }
await fetch('/result', { method: 'POST', body: JSON.stringify(said) });
"""


def run_module(engine: BrowserName, module: str, data: object, goto: Goto | None = None) -> Any:  # Any: JSON
    """The value of `run(data)` of a module of `tests/web/node`. Skips the test if the machine has no such engine.

    It runs where `goto` loads a page; without that in a browser that is started for it alone. Raises `AssertionError`
    if the module throws, or if nothing comes within two minutes.
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
        said = _in_browser(engine, program, module, data, goto)
    assert "error" not in said, said["error"]
    return said["value"]


def _in_browser(engine: BrowserName, program: Path, module: str, data: object, goto: Goto | None) -> Any:  # Any: JSON
    with (
        TemporaryDirectory() as folder,
        _server(module, json.dumps(data).encode()) as (address, results),
        ExitStack() as own,
    ):
        if goto is not None:
            goto(address)
        elif engine == "chromium":
            own.enter_context(_chromium(program, Path(folder), address))
        else:
            own.enter_context(window(engine, Path(folder))).goto(address)
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


def _chromium(program: Path, folder: Path, address: str) -> Any:  # Any: a context manager
    return running([str(program), *CHROMIUM_OPTIONS, "--headless=new", f"--user-data-dir={folder}", address])
