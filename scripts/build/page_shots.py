"""Builds docs/images: pictures of pages in Chromium, for README.md and docs/web.md.

The service is called in this process, with a clock that stands still and randomness from a seed, so games, names, times
and keys are the same on each run. Letters differ a little from machine to machine, so no gate compares the pictures.

python -m scripts.build.page_shots   write the files; needs Chromium
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeVar

from playwright.sync_api import Browser, Page, Route, sync_playwright

from hkoji.game.agreement import UNTIMED, parse_time_control
from hkoji.log.link_key import link_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import chance
from tests.support.browsers import CHROMIUM_OPTIONS, find_browser
from tests.support.docs import DOCS
from tests.support.pixels import read_png, write_png
from tests.support.service import Player, begin, play, two_players
from tests.support.service_in_process import Inside, inside

FOLDER: Final = DOCS / "images"
LARGEST: Final = 60_000
"""Bytes of a picture."""
ORIGIN: Final = "http://localhost"
"""Nothing listens there: requests are answered in this process. A browser lets pages of this host use keys."""
PHONE: Final = (360, 640)
DESK: Final = (1280, 800)
MOVES: Final = 17
"""After so many moves of the first game it is the guest's turn, and a gift is possible."""
SENT: Final = frozenset({"accept", "accept-language", "authorization"})
_CLOCK: Final = UNTIMED._replace(clock=parse_time_control("3d/14d"))


_Value = TypeVar("_Value")


class Apart:
    """Calls a service in a thread of its own: an event loop runs in this one, which drives the browser."""

    def __init__(self, folder: Path) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._stack = ExitStack()
        self.service = self.call(lambda: self._stack.enter_context(inside(folder, seed="page shots", origin=ORIGIN)))

    def call(self, work: Callable[[], _Value]) -> _Value:
        """The value of a function that is called there."""
        return self._thread.submit(work).result()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._stack.close)
        self._thread.shutdown()


class Shot(NamedTuple):
    """A picture of a page: its address on the service, the size of the window, the reader's scheme and language.

    A player has the key in the browser, and has chosen what `pressed` names: an action and the first cards.
    """

    path: str
    size: tuple[int, int]
    scheme: str = "light"
    language: str = "en"
    player: Player | None = None
    pressed: tuple[str, int] = ("", 0)


def shots(service: Inside) -> dict[str, Shot]:
    """Plays the games of the pictures. Returns each picture by the name of its file."""
    host, guest = two_players(service)
    row, road = (begin(host, guest, ruleset, _CLOCK) for ruleset in (Hanamikoji(), GeishasRoad()))
    play(host, guest, row, MOVES)
    play(host, guest, road, 13)
    code = "5e" * 16
    offered = host.new(Hanamikoji(), agreement=_CLOCK, link=link_key(code))
    bob = Shot(f"/g/{row}", DESK, player=guest, pressed=("3", 3))
    return {
        "hanamikoji.png": bob,
        "hanamikoji-phone.png": bob._replace(size=PHONE, scheme="dark"),
        "geishas-road.png": Shot(f"/g/{road}", DESK, "dark"),
        "geishas-road-phone.png": Shot(f"/g/{road}", PHONE),
        "invitation-phone.png": Shot(f"/i/{offered}#{code}", PHONE),
        "front.png": Shot("/", DESK),
    }


def take(browser: Browser, apart: Apart, shot: Shot) -> bytes:
    """Opens a page and returns its picture."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if shot.scheme == "dark" else "light",
        locale=shot.language,
        timezone_id="UTC",
        reduced_motion="reduce",
    )

    def answer(route: Route) -> None:
        asked = route.request
        if asked.url.partition("?")[0].endswith("/events"):  # an answer without an end
            route.abort()
            return
        headers = {name: each for name, each in asked.headers.items() if name in SENT}
        path, body = asked.url.removeprefix(ORIGIN), asked.post_data_buffer
        got = apart.call(lambda: apart.service.ask(asked.method, path, raw=body or b"", headers=headers))
        route.fulfill(status=got.status, headers=got.headers, body=got.body)

    context.route("**/*", answer)
    page = context.new_page()
    page.clock.set_fixed_time(apart.service.clock.now)
    if shot.player:
        bring_key(page, shot.player)
    page.goto(f"{ORIGIN}{shot.path}")
    page.wait_for_load_state("load")
    page.wait_for_function("[...document.images].every(each => each.complete)")
    if "#" in shot.path:
        page.locator("#invite-name").wait_for()  # the page has checked the invitation
    if shot.player:
        choose(page, *shot.pressed)
    picture = page.screenshot(animations="disabled", caret="hide")
    context.close()
    pixels = read_png(picture)
    sizes = (write_png(pixels, colours) for colours in (128, 96, 64))
    return next((each for each in sizes if len(each) <= LARGEST), write_png(pixels, 48))


def bring_key(page: Page, player: Player) -> None:
    """Brings a player's key into the browser, by the page of the own key."""
    page.goto(f"{ORIGIN}/me")
    page.fill("#bring-password [name=username]", player.name)
    page.fill("[data-do=bring-pasted] textarea", player.key.to_openssh().decode())
    page.click("[data-do=bring-pasted] button")
    page.locator("#me-choices").wait_for()


def choose(page: Page, action: str, cards: int) -> None:
    """Chooses an action and the first cards of the hand, until the page offers to send that."""
    page.click(f"[data-kind='{action}']")
    for number in range(cards):
        page.locator("[data-role=hand] button").nth(number).click()
    page.locator("[data-role=send] button:enabled").wait_for()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium without a window. Exits if there is none."""
    program = find_browser("chromium")
    if program is None:
        sys.exit("page_shots needs Chromium; install it, or name its program in $HKOJI_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


def build() -> dict[Path, bytes]:
    """Path and contents of every file."""
    chance.install()
    chance.begin("page shots")
    with TemporaryDirectory() as folder, Apart(Path(folder)) as apart, chromium() as browser:
        wanted = apart.call(lambda: shots(apart.service))
        return {FOLDER / name: take(browser, apart, shot) for name, shot in wanted.items()}


def main(arguments: list[str]) -> int:
    """Writes the files."""
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    for path, picture in build().items():
        path.write_bytes(picture)
        print(f"{path.relative_to(DOCS.parent)}: {len(picture)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
