"""A real service on loopback, the browsers of all these tests, and pages in it that fail a test if anything goes wrong.

Playwright drives Debian's Chromium; it brings its own driver and no browser. Policies of pages are never bypassed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from tests.support.browsers import CHROMIUM_OPTIONS, light_chromium, needs_browser
from tests.support.guests import bring_guest
from tests.support.service import Player, Service, serving
from tests.support.visits import DESK, PHONE, Faults, close, context, leave, lent, visit
from tests.support.webdriver import Window, window


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of this file's tests, with a process and a database of its own."""
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True) as started:
        yield started


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@contextmanager
def launched(playwright: Playwright, program: Path) -> Iterator[Browser]:
    # Its own option would keep pages out of the back/forward cache, which other people's browsers have.
    ignored = ["--disable-back-forward-cache"]
    browser = playwright.chromium.launch(
        executable_path=program, args=list(CHROMIUM_OPTIONS), ignore_default_args=ignored
    )
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """Chromium without a window, for pages alone."""
    with launched(playwright, light_chromium()) as browser:
        yield browser


@pytest.fixture(scope="package")
def whole_chromium(playwright: Playwright) -> Iterator[Browser]:
    """Chromium without a window, with all that it shows outside of pages."""
    with launched(playwright, needs_browser("chromium")) as browser:
        yield browser


@pytest.fixture(scope="package")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """A window of Firefox, for all tests."""
    with window("firefox", tmp_path_factory.mktemp("firefox")) as opened:
        yield opened


@pytest.fixture(scope="package")
def webkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """A window of WebKitGTK, for all tests."""
    with window("webkit", tmp_path_factory.mktemp("webkit")) as opened:
        yield opened


@pytest.fixture
def faults() -> Iterator[Faults]:
    """Collects what goes wrong in pages, and fails the test at its end with all that it did not expect."""
    found = Faults()
    yield found
    assert found.unexpected == []


@pytest.fixture
def asked_about_names(faults: Faults) -> None:
    """The console of a browser names each 404, also that by which the page learns that a name is free."""
    faults.expect(r"404 .*/v1/players/")


@pytest.fixture
def host(service: Service) -> Player:
    """A registered player of a name that no other test has."""
    return Player(service, f"host-{secrets.token_hex(3)}").register()


@pytest.fixture
def visitor(chromium: Browser, faults: Faults) -> Iterator[Callable[..., Page]]:
    """Makes visitors, each with a storage of their own: `visitor()` on a phone, `visitor(DESK)` at a desk."""
    made: list[Page] = []

    def make(screen: dict[str, object] = PHONE, **options: Any) -> Page:  # Any: options of Playwright
        made.append(visit(chromium, faults, screen, **options))
        return made[-1]

    yield make
    for page in made:
        close(page.context)


@pytest.fixture(scope="package")
def shared_phone(chromium: Browser) -> Iterator[Page]:
    opened = context(chromium, PHONE)
    yield opened.new_page()
    opened.close()


@pytest.fixture(scope="package")
def shared_desk(chromium: Browser) -> Iterator[Page]:
    opened = context(chromium, DESK)
    yield opened.new_page()
    opened.close()


@pytest.fixture
def phone(shared_phone: Page, faults: Faults) -> Iterator[Page]:
    """A page of 360 x 640 pixels that is touched, in a browser that keeps nothing yet."""
    with lent(shared_phone, faults) as page:
        yield page


@pytest.fixture
def desk(shared_desk: Page, faults: Faults) -> Iterator[Page]:
    """A page of 1,280 x 800 pixels, with a mouse, in a browser that keeps nothing yet."""
    with lent(shared_desk, faults) as page:
        yield page


@pytest.fixture(scope="module")
def guest_browser(service: Service, chromium: Browser) -> Iterator[tuple[Player, BrowserContext]]:
    """A registered player, and a browser at a desk that has the player's key: all tests of a file share it."""
    opened = context(chromium, DESK)
    page = opened.new_page()
    yield bring_guest(page, service), opened
    close(opened)


@pytest.fixture
def guest(guest_browser: tuple[Player, BrowserContext]) -> Player:
    return guest_browser[0]


@pytest.fixture
def tab(guest_browser: tuple[Player, BrowserContext], faults: Faults) -> Iterator[Page]:
    """A new tab of the guest's browser."""
    page = guest_browser[1].new_page()
    faults.watch(page)
    yield page
    leave(page)
    page.close()


@pytest.fixture
def onlooker(shared_phone: Page, faults: Faults) -> Page:
    """The same phone, for a test that keeps nothing: it need not be cleared."""
    faults.watch(shared_phone)
    return shared_phone
