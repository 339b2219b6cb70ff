"""Pages for everybody: size and contrast of texts, size of targets, no sideways scrolling, the rules of axe-core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

import pytest
from playwright.sync_api import Page, ViewportSize

from hkoji.game.agreement import UNTIMED, parse_time_control
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest, seated
from tests.support.node_packages import node_packages
from tests.support.service import Player, Service, begin, play, two_players
from tests.support.visits import PHONE, Faults

FINDER: Final = Path(__file__).with_name("access.js").read_text()
_NO_GAME: Final = "0" * 32
_CLOCK: Final = UNTIMED._replace(clock=parse_time_control("3d/14d"))
SMALL: Final[ViewportSize] = {"width": 360, "height": 640}
LARGE: Final[ViewportSize] = {"width": 1280, "height": 800}
NARROW: Final[ViewportSize] = {"width": 320, "height": 256}
"""A desk of 1,280 by 1,024 pixels at 400 %: WCAG 2.2, 1.4.10."""
Visitor = Callable[..., Page]


class Site(NamedTuple):
    """A service with games in all states, and the addresses of its pages by name."""

    origin: str
    paths: dict[str, str]


PAGES: Final = {
    "front": "it", "row": "en", "road": "it", "offer": "en", "over": "it", "before": "it",
    "invitation": "en", "player": "it", "me": "en", "check": "it", "rules": "en", "missing": "it",
}  # fmt: skip
"""The pages, each with the language in which it is seen here. `tests/lab/browsers/sizes.py` has all in both."""
ALIKE: Final = {"before", "offer", "rules", "missing"}
"""Pages that have nothing which no other page has."""


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
    assert paths.keys() == PAGES.keys()
    return Site(f"http://127.0.0.1:{service.port}", paths)


@pytest.fixture
def screen(onlooker: Page, faults: Faults) -> Iterator[Page]:
    """A phone, whatever its size and its colours become in a test."""
    faults.expect(r"404 .*/g/0{32}")
    yield onlooker
    onlooker.set_viewport_size(SMALL)
    onlooker.emulate_media(color_scheme="light", forced_colors="none", media="screen")


def open_all(page: Page, site: Site, name: str, language: str = "en") -> None:
    """Opens a page, and all that is folded in it."""
    mark = "&" if "?" in site.paths[name] else "?"
    page.goto(f"{site.origin}{site.paths[name]}{mark}lang={language}")
    page.evaluate("""() => {
        for (const each of document.querySelectorAll('details')) each.open = true;
        for (const each of document.querySelectorAll('[popover]')) each.showPopover();
    }""")


def assert_legible(page: Page) -> None:
    """Texts and targets are large enough, and texts are not pale, in both schemes."""
    schemes: tuple[Literal["light", "dark"], ...] = ("dark", "light")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(FINDER)
        assert found == {"small": [], "pale": [], "tight": [], "broken": [], "sideways": 0}, scheme


def assert_fits(page: Page, size: int, screen: ViewportSize) -> None:
    """With texts of `size` per cent, no word is broken, and nothing is beside the screen."""
    page.set_viewport_size(screen)
    page.evaluate(f"document.documentElement.style.fontSize = '{size}%'")
    found = page.evaluate(FINDER)
    assert (found["broken"], found["sideways"]) == ([], 0), (size, screen)


def broken_rules(page: Page, options: Mapping[str, object]) -> list[tuple[str, list[str]]]:
    """The rules of axe-core that a page breaks, and where. Skips the test if the machine has no axe-core."""
    packages = node_packages()
    if packages is None:
        pytest.skip("for want of a browser: node")
    page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("options => axe.run(options).then(({ violations }) => violations)", options)
    return [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found]


@pytest.mark.parametrize(
    ("name", "language"),
    [pytest.param(*page, id=page[0], marks=[pytest.mark.long] * (page[0] in ALIKE)) for page in PAGES.items()],
)
def test_a_page_is_for_everybody(screen: Page, site: Site, name: str, language: str) -> None:
    """On a phone, with texts twice as large, at 400 %, and for axe-core: WCAG 2.2, 1.4.4 and 1.4.10."""
    open_all(screen, site, name, language)
    assert_legible(screen)
    assert_fits(screen, 200, SMALL)
    assert_fits(screen, 100, NARROW)
    # Without its rule for contrast, the dearest: it is checked above, in both schemes, over gradients too.
    assert broken_rules(screen, {"rules": {"color-contrast": {"enabled": False}}}) == []


@pytest.mark.long
def test_a_player_has_the_whole_hand_at_every_size(visitor: Visitor, service: Service) -> None:
    """With texts twice as large on a phone; and the table lies beside the hand on a phone that lies."""
    page = visitor(PHONE)
    guest = bring_guest(page, service)
    host = Player(service, f"host-{guest.name[6:]}").register()
    game = seated(page, host, guest, Hanamikoji(first="guest"))
    for size in (100, 150, 200):
        assert_fits(page, size, SMALL)
        cards = page.locator("[data-role=hand] .card").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().right)"
        )
        assert len(cards) == 7, game
        assert max(cards) <= 360, size
    page.evaluate("document.documentElement.style.fontSize = '100%'")
    page.set_viewport_size({"width": 640, "height": 360})
    board, hand = (page.locator(each).bounding_box() for each in (".table > .board", "[data-role=hand]"))
    assert board
    assert hand
    assert board["x"] + board["width"] <= hand["x"]
    assert max(each["y"] + each["height"] for each in (board, hand)) <= 360


def test_the_help_closes_by_a_key_and_by_a_button_that_stays(screen: Page, site: Site) -> None:
    screen.goto(site.origin + site.paths["row"])
    shown = screen.locator("#help")
    ways: list[Callable[[], None]] = [lambda: screen.keyboard.press("Escape"), lambda: shown.locator("button").tap()]
    for close in ways:
        screen.locator("button.help").tap()
        shown.locator("li").last.scroll_into_view_if_needed()
        close()
        assert not shown.is_visible()


def test_a_board_is_told_in_words_that_are_hidden_from_sight_only(screen: Page, site: Site) -> None:
    """Readers of no pictures get the sentences without opening anything; the board itself is silent."""
    screen.goto(site.origin + site.paths["row"])
    screen.locator("body[data-ready]").wait_for()  # until then only what cannot change is shown
    tree = screen.locator("main").aria_snapshot()
    assert tree.count("Geisha A, charm 2:") == 1
    words = screen.locator("p", has_text="Geisha A, charm 2:")
    box = words.bounding_box()
    assert (
        box is None
        or box["width"] <= 1
        or not screen.evaluate("document.elementFromPoint(180, 320)?.textContent.includes('Geisha A, charm 2:')")
    )
    screen.locator("summary", has_text="The board in words").click()
    assert words.bounding_box() is not None
    assert words.bounding_box()["width"] > 100  # type: ignore[index] # it is there


def test_colours_of_the_reader_leave_every_card_recognisable(screen: Page, site: Site) -> None:
    screen.set_viewport_size(LARGE)
    screen.emulate_media(forced_colors="active")
    screen.goto(site.origin + site.paths["row"])
    letters = screen.locator(".geisha b").all_text_contents()
    assert {*letters} >= {*"ABCDEFG"}
    assert screen.locator(".board .geisha").first.evaluate("each => getComputedStyle(each).backgroundImage") != "none"


def test_a_printed_page_has_the_board_and_the_moves(screen: Page, site: Site) -> None:
    screen.set_viewport_size(LARGE)
    screen.goto(site.origin + site.paths["row"])
    screen.emulate_media(media="print")
    assert screen.locator(".table .board").is_visible()
    assert screen.locator("#moves").is_visible()
    assert not screen.locator(".steps").is_visible()
