"""Pages for everybody: size and contrast of texts, size of targets, no sideways scrolling, the rules of axe-core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from hkoji.game.agreement import UNTIMED, parse_time_control
from hkoji.messages.text import LANGUAGES
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest, seated
from tests.support.node_packages import node_packages
from tests.support.service import Player, Service, begin, play, two_players
from tests.support.visits import DESK, PHONE, Faults, visit

FINDER: Final = Path(__file__).with_name("access.js").read_text()
_NO_GAME: Final = "0" * 32
_CLOCK: Final = UNTIMED._replace(clock=parse_time_control("3d/14d"))
NARROW: Final[ViewportSize] = {"width": 320, "height": 256}
"""A desk of 1,280 by 1,024 pixels at 400 %: WCAG 2.2, 1.4.10."""
Visitor = Callable[..., Page]


class Site(NamedTuple):
    """A service with games in all states, and the addresses of its pages by name."""

    origin: str
    paths: dict[str, str]


PAGES: Final = (
    "front", "row", "road", "offer", "over", "before", "invitation", "player", "me", "check", "rules", "missing",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(service: Service) -> Site:
    host, guest = two_players(service)
    row, road, offer, over = (begin(host, guest, each, _CLOCK) for each in (Hanamikoji(), GeishasRoad(), None, None))
    play(host, guest, row, 14)
    play(host, guest, road, 11)
    play(host, guest, over)
    for _ in range(30):  # until somebody has to answer
        state = play(host, guest, offer, 1).state
        if state.due == "answer":
            break
    paths = {
        "front": "/",
        "row": f"/g/{row}",
        "road": f"/g/{road}",
        "offer": f"/g/{offer}",
        "over": f"/g/{over}?eyes=all",
        "before": f"/g/{row}?at=2",
        "invitation": f"/i/{_NO_GAME}",
        "player": f"/p/{host.name}",
        "me": "/me",
        "check": "/check",
        "rules": "/rules/geishas-road",
        "missing": f"/g/{_NO_GAME}",
    }
    assert tuple(paths) == PAGES
    return Site(f"http://127.0.0.1:{service.port}", paths)


class Screens:
    """One page for each screen: what is looked at keeps nothing, and a new visitor costs more than a page."""

    def __init__(self, chromium: Browser) -> None:
        self.faults = Faults()
        self.faults.expect(r"404 .*/g/0{32}")
        self._chromium = chromium
        self._pages: dict[str, Page] = {}

    def __call__(self, screen: Mapping[str, Any]) -> Page:  # Any: options of Playwright
        if str(screen) not in self._pages:
            self._pages[str(screen)] = visit(self._chromium, self.faults, screen)
        page = self._pages[str(screen)]
        page.set_viewport_size(screen["viewport"])
        page.emulate_media(color_scheme="light")
        return page

    def close(self) -> None:
        for page in self._pages.values():
            page.context.close()


@pytest.fixture(scope="module")
def all_screens(chromium: Browser) -> Iterator[Screens]:
    made = Screens(chromium)
    yield made
    made.close()


@pytest.fixture
def screens(all_screens: Screens) -> Iterator[Screens]:
    yield all_screens
    assert all_screens.faults.unexpected == []


def opened(page: Page, site: Site, name: str, language: str = "en") -> Page:
    mark = "&" if "?" in site.paths[name] else "?"
    page.goto(f"{site.origin}{site.paths[name]}{mark}lang={language}")
    page.wait_for_load_state("load")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    page.evaluate("document.querySelectorAll('[popover]').forEach(each => each.showPopover())")
    return page


def looked_at(page: Page) -> dict[str, Any]:  # Any: JSON
    found: dict[str, Any] = page.evaluate(FINDER)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_texts_and_targets_that_are_large_enough(screens: Screens, site: Site, name: str) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for language in LANGUAGES:
        page = opened(screens(PHONE), site, name, language)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            assert looked_at(page) == {"small": [], "pale": [], "tight": [], "broken": [], "sideways": 0}, (
                language,
                scheme,
            )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_at_every_size(screens: Screens, site: Site, name: str) -> None:
    """At 400 %, and with texts twice as large: WCAG 2.2, 1.4.4 and 1.4.10."""
    desk, phone = opened(screens(DESK), site, name), opened(screens(PHONE), site, name)
    for page, size in ((desk, 200), (phone, 150), (phone, 200), (desk, 100)):
        if size == 100:
            page.set_viewport_size(NARROW)
        page.evaluate(f"document.documentElement.style.fontSize = '{size}%'")
        found = looked_at(page)
        assert (found["broken"], found["sideways"]) == ([], 0), size


def test_a_player_has_the_whole_hand_at_every_size(visitor: Visitor, service: Service) -> None:
    """With texts twice as large on a phone; and the table lies beside the hand on a phone that lies."""
    page = visitor(PHONE)
    guest = bring_guest(page, service)
    host = Player(service, f"host-{guest.name[6:]}").register()
    game = seated(page, host, guest, Hanamikoji(first="guest"))
    for size in (100, 150, 200):
        page.evaluate(f"document.documentElement.style.fontSize = '{size}%'")
        cards = page.locator("[data-role=hand] .card").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().right)"
        )
        assert len(cards) == 7, game
        assert max(cards) <= 360, size
        found = looked_at(page)
        assert (found["broken"], found["sideways"]) == ([], 0), size
    page.evaluate("document.documentElement.style.fontSize = '100%'")
    page.set_viewport_size({"width": 640, "height": 360})
    board, hand = (page.locator(each).bounding_box() for each in (".table > .board", "[data-role=hand]"))
    assert board
    assert hand
    assert board["x"] + board["width"] <= hand["x"]
    assert max(each["y"] + each["height"] for each in (board, hand)) <= 360


def test_the_help_closes_by_a_key_and_by_a_button_that_stays(phone: Page, site: Site) -> None:
    phone.goto(site.origin + site.paths["row"])
    shown = phone.locator("#help")
    ways: list[Callable[[], None]] = [lambda: phone.keyboard.press("Escape"), lambda: shown.locator("button").tap()]
    for close in ways:
        phone.locator("button.help").tap()
        shown.locator("li").last.scroll_into_view_if_needed()
        close()
        assert not shown.is_visible()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(screens: Screens, site: Site, name: str) -> None:
    packages = node_packages()
    if packages is None:
        pytest.skip("for want of a browser: node")
    page = opened(screens(PHONE), site, name)
    page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run().then(({ violations }) => violations)")
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []


def test_a_board_is_told_in_words_that_are_hidden_from_sight_only(phone: Page, site: Site) -> None:
    """Readers of no pictures get the sentences without opening anything; the board itself is silent."""
    phone.goto(site.origin + site.paths["row"])
    tree = phone.locator("main").aria_snapshot()
    assert "Geisha A, charm 2:" in tree
    assert tree.count("Geisha A, charm 2:") == 1
    words = phone.locator("p", has_text="Geisha A, charm 2:")
    box = words.bounding_box()
    assert (
        box is None
        or box["width"] <= 1
        or not phone.evaluate("document.elementFromPoint(180, 320)?.textContent.includes('Geisha A, charm 2:')")
    )
    phone.locator("summary", has_text="The board in words").click()
    assert words.bounding_box() is not None
    assert words.bounding_box()["width"] > 100  # type: ignore[index] # it is there


def test_colours_of_the_reader_leave_every_card_recognisable(visitor: Visitor, site: Site) -> None:
    page = visitor(DESK, forced_colors="active")
    page.goto(site.origin + site.paths["row"])
    letters = page.locator(".geisha b").all_text_contents()
    assert {*letters} >= {*"ABCDEFG"}
    assert page.locator(".board .geisha").first.evaluate("each => getComputedStyle(each).backgroundImage") != "none"


def test_a_printed_page_has_the_board_and_the_moves(visitor: Visitor, site: Site) -> None:
    page = visitor(DESK)
    page.goto(site.origin + site.paths["row"])
    page.emulate_media(media="print")
    assert page.locator(".table .board").is_visible()
    assert page.locator("#moves").is_visible()
    assert not page.locator(".steps").is_visible()
