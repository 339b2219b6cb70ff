"""A player's game in Chromium, against the service's other player: by keyboard, and by touch on a phone."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from hkoji.game.course import Course
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.guests import bring_guest, load_anew, part, seated
from tests.support.service import Player, Service
from tests.support.visits import DESK, PHONE
from tests.web.test_invite import make_key
from tests.web.test_join import invite

pytestmark = pytest.mark.usefixtures("asked_about_names")

Press = Callable[[Locator], None]


def tap(target: Locator) -> None:
    target.tap()


def tab_to(target: Locator) -> None:
    """Goes to a button by the tabulator, and presses it by the space bar."""
    page = target.page
    for _ in range(200):
        if target.evaluate("each => each === document.activeElement"):
            page.keyboard.press("Space")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no tabulator leads to {target}")


def joined_by_link(page: Page, host: Player, ruleset: Ruleset) -> str:
    """A game in which the page has the guest's seat, up to the first decision."""
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
    host.seed(game)
    page.locator("[data-role=hand] > *").first.wait_for()
    part(page, "more").wait_for(state="attached")
    return game


def move(page: Page, press: Press, chance: random.Random) -> str:
    """Composes some move by its buttons, and sends it. Returns the text of the button that has sent it."""
    send = part(page, "send").locator("button")
    send.wait_for()
    choices = part(page, "choices").locator("button")
    if part(page, "choices").is_visible():
        press(choices.nth(chance.randrange(choices.count())))
    else:
        kinds = part(page, "kinds").locator("button:enabled")
        kind = kinds.nth(chance.randrange(kinds.count()))
        if kind.get_attribute("aria-pressed") == "false":
            press(kind)
        while not part(page, "variants").is_visible() and not page.locator("[data-role=notation]:not(:empty)").count():
            free = part(page, "hand").locator("button:enabled[aria-pressed=false]")
            press(free.nth(chance.randrange(free.count())))
        if part(page, "variants").is_visible():
            variants = part(page, "variants").locator("button")
            press(variants.nth(chance.randrange(variants.count())))
    expect(send).to_be_enabled()
    said, last = send.inner_text(), page.locator("body").get_attribute("data-last")
    press(send)
    page.wait_for_function(
        "last => document.body.dataset.last !== last && document.querySelector('[data-role=more]')", arg=last
    )
    return said


def play_out(page: Page, host: Player, game: str, press: Press, moves: int = 1000) -> list[str]:
    """Plays in turn with the host to the end, or so many moves of the page; returns what its button said.

    The host answers before the page has loaded itself anew, so that it does so once for both moves.
    """
    chance, said = random.Random(5), list[str]()

    def reply() -> Course:
        while (own := host.course(game)).actor == 0:
            assert host.send(host.make_move(own, chance.choice(own.state.legal_actions()))).status == 201
        return own

    def answer(route: Route) -> None:
        reply()
        route.continue_()

    reply()
    page.route(f"**/g/{game}*", answer)
    load_anew(page)
    while not host.course(game).finished and len(said) < moves:
        said.append(move(page, press, chance))
    return said


HANAMIKOJI: Final = Hanamikoji(max_rounds=1)
ROAD: Final = GeishasRoad(starting_markers="choose")


@pytest.mark.parametrize(("ruleset", "press"), [(ROAD, tap), (HANAMIKOJI, tab_to)], ids=["road-touch", "keyboard"])
def test_a_whole_game_is_played_in_the_page(
    host: Player, visitor: Callable[..., Page], ruleset: Ruleset, press: Press
) -> None:
    page = visitor(PHONE if press is tap else DESK)
    game = joined_by_link(page, host, ruleset)
    said = play_out(page, host, game, press)
    assert len(said) >= 4
    page.reload()
    expect(part(page, "over")).to_be_visible()
    assert host.course(game).finished


@pytest.mark.parametrize(("ruleset", "press"), [(HANAMIKOJI, tap), (ROAD, tab_to)], ids=["touch", "road-keyboard"])
def test_some_moves_are_played_the_other_way(
    service: Service, host: Player, visitor: Callable[..., Page], ruleset: Ruleset, press: Press
) -> None:
    page = visitor(PHONE if press is tap else DESK)
    game = seated(page, host, bring_guest(page, service), ruleset)
    assert len(play_out(page, host, game, press, moves=5)) == 5
