"""Browsers, their drivers and Node.js: where they are on this machine.

`$HKOJI_CHROMIUM`, `$HKOJI_FIREFOX`, `$HKOJI_WEBKIT` and `$HKOJI_NODE` name other programs than those on the PATH;
`none` counts as missing. Nothing here installs a program: a test that needs a missing one is skipped, and the summary
of the run names all that were missing. The program of `webkit` is WebKitWebDriver.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

import pytest

BrowserName = Literal["chromium", "firefox", "webkit", "node"]
_PROGRAMS: Final[dict[BrowserName, tuple[str, ...]]] = {
    "chromium": ("chromium", "chromium-browser"),
    "firefox": ("firefox-esr", "firefox"),
    "webkit": ("WebKitWebDriver",),
    "node": ("node", "nodejs"),
}
MISSING: Final = "for want of a browser: "
"""How the reason of each test begins that is skipped for want of a browser."""

CHROMIUM_OPTIONS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    *(("--no-sandbox",) if os.geteuid() == 0 else ()),  # as root Chromium does not start with its sandbox
)
"""The options with which tests start Chromium, by a driver or by hand."""


def find_browser(name: BrowserName) -> Path | None:
    """The program of a browser; None if the machine has none. Raises ValueError if a variable names no program."""
    variable = f"HKOJI_{name.upper()}"
    named = os.environ.get(variable)
    if named == "none":
        return None
    if named and not shutil.which(named):
        raise ValueError(f"${variable} names no program: {named}. Name one, or none to skip what needs it.")
    found = filter(None, map(shutil.which, [named] if named else _PROGRAMS[name]))
    return next(map(Path, found), None)


def needs_browser(name: BrowserName) -> Path:
    """The program of a browser. Skips the test if the machine has none."""
    place = find_browser(name)
    if place is None:
        pytest.skip(MISSING + name)
    return place


def light_chromium() -> Path:
    """Chromium without all that surrounds its pages, which takes a third of a load. It cannot be told by push.

    That is its headless shell, if the machine has one and `$HKOJI_CHROMIUM` names no program; else the whole browser.
    Skips the test without the whole browser.
    """
    whole = needs_browser("chromium")
    shell = None if os.environ.get("HKOJI_CHROMIUM") else shutil.which("chromium-headless-shell")
    return Path(shell) if shell else whole


def missing_browsers(reasons: Iterable[str]) -> dict[str, int]:
    """How many tests were skipped for want of each browser, of the reasons of skipped tests."""
    names = sorted(reason.partition(MISSING)[2] for reason in reasons if MISSING in reason)
    return {name: names.count(name) for name in names}
