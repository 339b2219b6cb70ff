"""Pictures of art.svg in three engines: in the colours of the page's style sheet, and no two alike.

A `<use>` of another file sees the variables of the page and none of its rules. Where this fails, pictures are black.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from threading import Thread
from time import monotonic, sleep
from typing import Final

import pytest
from hkoji_server.web.static_files import FOLDER, POLICY
from playwright.sync_api import Page

from hkoji.show import art
from tests.support.pixels import Colour, Pixels, read_png
from tests.support.webdriver import Window

SIDE: Final = 64
COLUMNS: Final = 5
NAMES: Final = tuple(art.pictures())
STYLE: Final = (FOLDER / "style.css").read_text()
GRID: Final = f"""
html, body {{ margin: 0; padding: 0; background: #fff }}
body {{ display: grid; grid-template-columns: repeat({COLUMNS}, {SIDE}px); grid-auto-rows: {SIDE}px }}
body {{ width: {COLUMNS * SIDE}px; color: #29303d }}
svg {{ width: {SIDE}px; height: {SIDE}px; overflow: hidden }}
"""
PAGE: Final = (
    '<!DOCTYPE html><meta charset="utf-8"><title>pictures</title><link rel="stylesheet" href="style.css">'
    '<link rel="stylesheet" href="grid.css"><body>'
    + "".join(
        f'<svg data-kind="{name[1:]}" viewBox="0 0 {picture.width} {picture.height}"><use href="art.svg#{name}"/></svg>'
        for name, picture in art.pictures().items()
    )
)
FILES: Final = {
    "/": ("text/html", PAGE),
    "/style.css": ("text/css", STYLE),
    "/grid.css": ("text/css", GRID),
    "/art.svg": ("image/svg+xml", art.FILE.read_text()),
}


@contextmanager
def grid() -> Iterator[str]:
    """The address of a page with all pictures in rows, under the policy of pages."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text = FILES.get(self.path, ("text/plain", ""))
            self.send_response(200 if self.path in FILES else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(
    scope="module",
    params=["shared_phone", *(pytest.param(each, marks=pytest.mark.long) for each in ("firefox", "webkit"))],
)
def shown(request: pytest.FixtureRequest) -> dict[str, Pixels]:
    """Each picture as one engine paints it."""
    browser: Page | Window = request.getfixturevalue(request.param)
    shot = browser.screenshot if isinstance(browser, Window) else browser.locator("body").screenshot
    with grid() as address:
        browser.goto(address)
        end = monotonic() + 60
        # The pictures come after the page: a screenshot of a white page is taken again.
        while len(set((pixels := read_png(shot())).part(0, 0, SIDE, SIDE).each())) == 1:
            assert monotonic() < end
            sleep(0.1)
    return {name: pixels.part(n % COLUMNS * SIDE, n // COLUMNS * SIDE, SIDE, SIDE) for n, name in enumerate(NAMES)}


def share(pixels: Pixels, colour: str) -> float:
    """The share of the pixels that have a colour, of which a screen may change a little."""
    wanted = tuple(int(colour[n : n + 2], 16) for n in (1, 3, 5))

    def near(found: Colour) -> bool:
        return all(abs(one - other) <= 6 for one, other in zip(found, wanted, strict=True))

    found = list(pixels.each())
    return sum(map(near, found)) / len(found)


def test_each_kind_has_its_two_tones_and_ink(shown: dict[str, Pixels]) -> None:
    for kind, tones in art.TONES.items():
        for colour in (tones.colour, tones.light):
            assert share(shown[f"m{kind}"], colour) > 0.01, (kind, colour)
        assert share(shown[f"m{kind}"], art.FIXED["k"]) > 0.003, kind
        assert share(shown[f"m{kind}"], "#000000") == 0, kind


def test_the_marker_is_golden_and_the_back_has_waves(shown: dict[str, Pixels]) -> None:
    for colour in ("gold", "cream"):
        assert share(shown["mark"], art.FIXED[colour]) > 0.05
    assert share(shown["back"], art.FIXED["back"]) > 0.2
    assert share(shown["back"], art.FIXED["thread"]) > 0.03


def test_the_signs_of_actions_have_the_colour_of_text(shown: dict[str, Pixels]) -> None:
    for name in NAMES:
        if name.startswith("a-"):
            assert share(shown[name], "#29303d") > 0.03, name


def test_no_two_pictures_are_alike(shown: dict[str, Pixels]) -> None:
    for one, other in combinations(NAMES, 2):
        pairs = zip(shown[one].each(), shown[other].each(), strict=True)
        different = sum(first != second for first, second in pairs)
        assert different > 0.05 * SIDE * SIDE, (one, other)
