"""Windows of Firefox and WebKitGTK, driven by the commands of W3C WebDriver without any package.

WebKitGTK has a driver that takes them by HTTP, and needs a screen. Firefox takes the same commands itself, by a
protocol of its own, Marionette: the length of a message, a colon, and the message.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.support.browsers import MISSING, BrowserName, needs_browser
from tests.support.metrics import free_port

_SECONDS: Final = 120
_PATHS: Final = {
    "Navigate": ("POST", "/url"),
    "ExecuteScript": ("POST", "/execute/sync"),
    "ElementClick": ("POST", "/element/{id}/click"),
    "ElementSendKeys": ("POST", "/element/{id}/value"),
    "TakeScreenshot": ("GET", "/element/{id}/screenshot"),
}
"""The commands that are used here: their names in Marionette, and their paths in HTTP."""
_CAPABILITIES: Final = {"alwaysMatch": {"pageLoadStrategy": "normal"}}
# Without these, Firefox asks its makers for news while it runs.
_FIREFOX: Final = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}
# Elements that a person can see and press.
_SHOWN: Final = """
return [...document.querySelectorAll(arguments[0])].filter(each => each.checkVisibility() && !each.disabled);
"""

Send = Callable[[str, dict[str, Any]], Any]  # Any: JSON
"""Sends a command by its name, with its values. Returns the answer's value; raises `CommandError`."""


class CommandError(Exception):
    """The browser has refused a command. The text begins with the code of the standard, such as `stale element`."""


class Window:
    """A window of a browser, with a storage that ends with it. Its browser saves files somewhere below `folder`."""

    def __init__(self, folder: Path, send: Send) -> None:
        self.folder = folder
        self._send = send

    def goto(self, address: str) -> None:
        """Loads a page, and waits until it is loaded."""
        self._send("Navigate", {"url": address})

    def run(self, script: str, *values: object) -> Any:  # Any: JSON
        """The value that a script returns; it finds `values` in `arguments`."""
        return self._send("ExecuteScript", {"script": script, "args": list(values)})

    def shown(self, selector: str) -> list[Any]:  # Any: references to elements
        """The elements that can be seen and pressed now."""
        return self.run(_SHOWN, selector) or []  # Firefox says null of a page that is just being left

    def press(self, element: Any) -> None:  # Any: a reference
        """Presses an element, as a person does with a mouse."""
        self._send("ElementClick", {"id": next(iter(element.values()))})

    def write(self, element: Any, text: str) -> None:  # Any: a reference
        """Types a text into a field."""
        self._send("ElementSendKeys", {"id": next(iter(element.values())), "text": text})

    def wait(self, selector: str) -> Any:  # Any: a reference
        """Waits for an element that can be seen and pressed, and returns it."""
        return self.until(lambda: self.shown(selector), selector)[0]

    def until(self, found: Callable[[], Any], what: str) -> Any:  # Any: what `found` returns
        """Asks again and again, and returns the first value that is true. Says `what` was missing."""
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            try:
                if value := found():
                    return value
            except CommandError:  # the page is just being loaded
                pass
            time.sleep(0.2)  # to ask costs a browser more than a page that waits
        raise AssertionError(f"nothing came of: {what}. The page says: {self.run('return document.body.innerText')}")

    def screenshot(self) -> bytes:
        """A PNG of the body of the page."""
        body = self.run("return document.body")
        return b64decode(self._send("TakeScreenshot", {"id": next(iter(body.values()))}))


def window(engine: BrowserName, folder: Path) -> AbstractContextManager[Window]:
    """A window of `firefox` or `webkit`, whose files are below `folder`. Skips the test without the browser."""
    return {"firefox": _firefox, "webkit": _webkit}[engine](needs_browser(engine), folder)


@contextmanager
def running(words: list[str], **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program with all that it starts, until the block ends."""
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, start_new_session=True, env={**os.environ, **env}, **silent)  # type: ignore[call-overload] # by name
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# --- WebKitGTK --------------------------------------------------------------------------------------------------------


@contextmanager
def _webkit(program: Path, folder: Path) -> Iterator[Window]:
    with _screen() as display:
        port = free_port()
        driver, home = f"http://127.0.0.1:{port}", {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        with running([str(program), f"--port={port}"], DISPLAY=display, **home):
            _wait_for(lambda: _call("GET", f"{driver}/status", None))
            opened = _call("POST", f"{driver}/session", {"capabilities": _CAPABILITIES})
            session = f"{driver}/session/{opened['sessionId']}"

            def send(command: str, values: dict[str, Any]) -> Any:  # Any: JSON
                method, path = _PATHS[command]
                return _call(method, session + path.format(**values), values if method == "POST" else None)

            yield Window(folder, send)


@contextmanager
def _screen() -> Iterator[str]:
    """The name of a screen that nobody sees."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip(f"{MISSING}webkit")
    read, write = os.pipe()
    words = [program, "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
    xvfb = subprocess.Popen(words, pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as said:
            yield f":{said.readline().strip()}"
    finally:
        xvfb.kill()
        xvfb.wait()


def _call(method: str, address: str, body: object) -> Any:  # Any: JSON
    sent = None if body is None else json.dumps(body).encode()
    request = Request(address, sent, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)["value"]
    except HTTPError as refused:
        with refused:
            said = json.load(refused)["value"]
        raise CommandError(f"{said['error']}: {said['message']}") from None


# --- Firefox ----------------------------------------------------------------------------------------------------------


@contextmanager
def _firefox(program: Path, folder: Path) -> Iterator[Window]:
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _FIREFOX.items())
    (folder / "user.js").write_text("".join(lines))
    words = [str(program), "--headless", "--no-remote", "--marionette", "--profile", str(folder), "about:blank"]
    with running(words, HOME=str(folder)):
        port = int(_wait_for((folder / "MarionetteActivePort").read_text))
        with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
            read = connection.makefile("rb")
            _hear(read)  # its greeting

            def send(command: str, values: dict[str, Any]) -> Any:  # Any: JSON
                text = json.dumps([0, 1, f"WebDriver:{command}", values]).encode()
                connection.sendall(f"{len(text)}:".encode() + text)
                _, _, refused, value = _hear(read)
                if refused:
                    raise CommandError(f"{refused['error']}: {refused['message']}")
                return value["value"] if set(value) == {"value"} else value

            send("NewSession", {"capabilities": _CAPABILITIES})
            yield Window(folder, send)


def _hear(read: Any) -> Any:  # Any: a file of bytes; JSON
    length = b""
    while (digit := read.read(1)) != b":":
        if not digit:
            raise CommandError("disconnected: Firefox has ended")
        length += digit
    return json.loads(read.read(int(length)))


def _wait_for(ready: Callable[[], Any]) -> Any:  # Any: what `ready` returns
    """Waits until a program that starts gives something."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        try:
            if value := ready():
                return value
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("the browser has not started")
