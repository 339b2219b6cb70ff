"""A player's game in Chromium, against the service's other player: by touch on a phone, by keyboard and by mouse."""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.guests import bring_guest, part, seated
from tests.support.service import Player, Service
from tests.web.test_invite import make_key
from tests.web.test_join import invite

pytestmark = pytest.mark.usefixtures("asked_about_names")

Press = Callable[[Locator], None]
_AHEAD = """each => {
  const now = document.activeElement;
  return each === now ? null : Boolean(now.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
}"""
_OFFERS = "34GC"
"""The signs of actions that the opponent answers."""


def tap(target: Locator) -> None:
    target.tap()


def click(target: Locator) -> None:
    target.click()


def tab_to(target: Locator) -> None:
    """Goes to a button by the tabulator, forwards or back, and presses it by the space bar."""
    page = target.page
    for _ in range(100):
        if (ahead := target.evaluate(_AHEAD)) is None:
            page.keyboard.press("Space")
            return
        page.keyboard.press("Tab" if ahead else "Shift+Tab")
    raise AssertionError(f"no tabulator leads to {target}")


def joined_by_link(page: Page, host: Player, ruleset: Ruleset) -> str:
    """A game in which the page has the guest's seat; the host has revealed nothing yet."""
    link = invite(host, ruleset)
    game = link.partition("/i/")[2].partition("#")[0]
    page.goto(link)
    make_key(page, f"guest-{secrets.token_hex(3)}")
    page.click("#invite-go")  # without a copy of the key it asks once more
    expect(page.locator("#invite-says")).to_contain_text("no copy of your key")
    assert len(host.lines(game)) == 2
    page.click("#invite-go")
    page.wait_for_url("**/g/*")
    expect(page.locator("[data-role=turn]")).to_contain_text("You have a seat")
    return game


def move(page: Page, press: Press, chance: random.Random) -> str:
    """Composes some move by its buttons, and sends it. Returns it as the page writes it."""
    send = part(page, "send").locator("button")
    send.wait_for()
    choices = part(page, "choices").locator("button")
    if part(page, "choices").is_visible():
        press(choices.nth(chance.randrange(choices.count())))
    else:
        kinds = part(page, "kinds").locator("button:enabled")
        kind = kinds.last
        if kind.get_attribute("aria-pressed") == "false":
            press(kind)
        while not part(page, "variants").is_visible() and not page.locator("[data-role=notation]:not(:empty)").count():
            free = part(page, "hand").locator("button:enabled[aria-pressed=false]")
            press(free.nth(chance.randrange(free.count())))
        if part(page, "variants").is_visible():
            variants = part(page, "variants").locator("button")
            press(variants.nth(chance.randrange(variants.count())))
    expect(send).to_be_enabled()
    notation, last = part(page, "notation").inner_text(), page.locator("body").get_attribute("data-last")
    press(send)
    page.wait_for_function(
        "last => document.body.dataset.last !== last && document.querySelector('[data-role=more]')",
        arg=last,
        polling=100,
    )
    return notation


def answer_loads(page: Page, host: Player, chance: random.Random) -> None:
    """The host moves, with an offer if there is one, before the page has loaded itself: once for both moves."""

    def answer(route: Route) -> None:
        game = re.search("/g/([0-9a-f]{32})", route.request.url)
        assert game is not None
        while (own := host.course(game[1])).actor == 0:
            action = max(own.state.legal_actions(), key=lambda each: (each[0] in _OFFERS, chance.random()))
            assert host.send(host.make_move(own, action)).status == 201
        route.continue_()

    page.route("**/g/*", answer)


def moves(page: Page, host: Player, game: str, *ways: Press) -> Iterator[str]:
    """Makes moves to the end of a game, with each button pressed another way; gives each as the page writes it."""
    chance, way = random.Random(5), cycle(ways)

    def press(target: Locator) -> None:
        next(way)(target)

    while not host.course(game).finished:
        yield move(page, press, chance)


HANAMIKOJI: Final = Hanamikoji(max_rounds=1)
ROAD: Final = GeishasRoad(starting_markers="choose")


def test_a_whole_game_is_played_by_touch_and_keyboard_in_turn(host: Player, phone: Page) -> None:
    game = joined_by_link(phone, host, HANAMIKOJI)
    answer_loads(phone, host, random.Random(5))
    host.seed(game)
    made = {each[0] for each in moves(phone, host, game, tap, tab_to)}
    assert made == {"1", "2", "3", "4", "-"}
    expect(part(phone, "over")).to_be_visible()


def test_some_moves_are_made_by_keyboard_and_mouse_in_turn(service: Service, host: Player, desk: Page) -> None:
    guest = bring_guest(desk, service)
    answer_loads(desk, host, random.Random(5))
    game = seated(desk, host, guest, ROAD)
    desk.emulate_media(reduced_motion="no-preference")
    made = [each[0] for each in islice(moves(desk, host, game, tab_to, click), 3)]
    assert made == ["!", "-", "C"]
