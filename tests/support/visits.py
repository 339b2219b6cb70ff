"""Pages in Chromium that tests look at, and what goes wrong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page

PHONE: Final = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
DESK: Final = {"viewport": {"width": 1280, "height": 800}}
"""Screens for `visit`."""


@dataclass
class Faults:
    """The faults in the pages of a test: errors in a console or a script, violations of a policy.

    A browser that has no time for the transition between two pages leaves it out, and says so: that is no fault.
    """

    _found: list[str] = field(default_factory=list)
    _expected: list[str] = field(default_factory=lambda: [r"Transition was (aborted|skipped)"])

    def watch(self, page: Page) -> None:
        """Collects from now on what goes wrong in a page."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._found.append(f"{page.url}: {_story(error)}"))

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            where = said.location.get("url", "")
            self._found.append(f"{said.page.url if said.page else ''}: {said.text} ({where})")

    def expect(self, pattern: str) -> None:
        """Lets errors pass that match, such as the 409 of a request which the test wants to be refused."""
        self._expected.append(pattern)

    @property
    def unexpected(self) -> list[str]:
        return [text for text in self._found if not any(re.search(each, text) for each in self._expected)]


def _story(error: Error) -> str:
    return error.stack or error.message


# The console alone does not tell a violation from a script's own words. A page cannot be asked after it is left, so
# each violation is said where it happens.
_TELL_VIOLATIONS: Final = """
document.addEventListener("securitypolicyviolation", (event) => {
    console.error(`securitypolicyviolation: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
});
"""


def context(chromium: Browser, screen: Mapping[str, object], **options: object) -> BrowserContext:
    """A storage of its own, on `screen`; `options` are further ones of Playwright.

    Its pages ask for less motion, because drawing the transition between two pages takes 0.4 of the time of a step.
    """
    usual = {"locale": "en-GB", "timezone_id": "UTC", "reduced_motion": "reduce"}
    made = chromium.new_context(**{**usual, **screen, **options})  # type: ignore[arg-type] # by name
    made.set_default_timeout(20_000)
    made.add_init_script(_TELL_VIOLATIONS)
    return made


def leave(page: Page) -> None:
    """Ends what a page does. Chromium does not close one that loads itself anew just then."""
    with suppress(Error):  # it may do so while it is left
        page.goto("about:blank")


def close(opened: BrowserContext) -> None:
    """Closes a storage and its pages."""
    for page in opened.pages:
        leave(page)
    opened.close()


def empty(page: Page) -> None:
    """Clears all that the browser of a page keeps, as if it were another one. The page is left."""
    leave(page)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})  # of all origins
    devtools.detach()


@contextmanager
def lent(page: Page, faults: Faults) -> Iterator[Page]:
    """A page that other tests use too, for the duration of a block: at its end nothing is kept in this browser.

    A page of a new browser takes as long as four loads. A block may open more tabs, send some requests to a route, and
    change permissions, the size of the window and the media; it adds no script, and no clock by hand.
    """
    opened, size = page.context, page.viewport_size
    faults.watch(page)
    opened.on("page", faults.watch)
    yield page
    opened.remove_listener("page", faults.watch)
    for each in opened.pages:
        if each is not page:
            leave(each)
            each.close()
    leave(page)  # it may still ask for something
    page.unroute_all()
    page.emulate_media(media="null", color_scheme="null", reduced_motion="reduce", forced_colors="null")
    if size and page.viewport_size != size:
        page.set_viewport_size(size)
    opened.clear_permissions()
    empty(page)


def visit(chromium: Browser, faults: Faults, screen: Mapping[str, object], **options: object) -> Page:
    """A page of a visitor with a storage of their own."""
    made = context(chromium, screen, **options)
    made.on("page", faults.watch)
    return made.new_page()
