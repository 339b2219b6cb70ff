"""The part of start.js that every reader gets: local times, steps by arrow keys, news; without a key nothing more."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hkoji_server.web.static_files import static_files
from playwright.sync_api import Page, Request, expect

from hkoji.game.agreement import UNTIMED, parse_time_control
from tests.support.service import Player, Service, begin, play, two_players
from tests.support.visits import DESK

COUNT_STEPS = "() => { globalThis.steps = 0; navigation.onnavigate = () => { steps += 1; }; }"
"""Counts how often the page begins to leave, which it does while a key is pressed."""
CLOCK = UNTIMED._replace(clock=parse_time_control("3d/14d"))


@pytest.fixture(scope="module")
def players(service: Service) -> tuple[Player, Player]:
    return two_players(service)


def test_steps_by_arrow_keys(service: Service, players: tuple[Player, Player], onlooker: Page) -> None:
    """They step where no control has the focus, and not beyond the last entry."""
    game = begin(*players)
    onlooker.goto(f"{service.url}/g/{game}?at=3")
    onlooker.keyboard.press("ArrowLeft")
    onlooker.wait_for_url(re.compile(r"at=2$"))
    onlooker.keyboard.press("ArrowRight")
    onlooker.wait_for_url(re.compile(r"at=3$"))
    onlooker.evaluate(COUNT_STEPS)
    onlooker.get_by_role("link", name="Forward").focus()
    onlooker.keyboard.press("ArrowLeft")
    onlooker.keyboard.press("Shift+ArrowLeft")
    assert onlooker.evaluate("steps") == 0
    onlooker.goto(f"{service.url}/g/{game}")
    onlooker.evaluate(COUNT_STEPS)
    onlooker.keyboard.press("ArrowRight")
    assert onlooker.evaluate("steps") == 0


@pytest.mark.long
def test_times_are_those_of_the_reader(
    service: Service, players: tuple[Player, Player], visitor: Callable[..., Page]
) -> None:
    page = visitor(DESK, timezone_id="Asia/Tokyo")
    game = begin(*players, agreement=CLOCK)
    page.goto(f"{service.url}/g/{game}")
    deadline = page.locator('[data-role="deadline"]')
    expect(deadline).to_have_attribute("title", re.compile("UTC$"))
    moment = deadline.get_attribute("datetime")
    wanted = page.evaluate(
        "at => new Intl.DateTimeFormat('en', {dateStyle: 'medium', timeStyle: 'short'}).format(new Date(at))", moment
    )
    expect(deadline).to_have_text(wanted)
    expect(page.locator('[data-role="left"]')).to_have_text(re.compile(r"^1[67] days left$"))
    course = players[0].course(game)
    assert course.actor is not None
    assert players[1 - course.actor].give(game, course.head, 3 * 86_400 - 600).status in (200, 201)
    page.reload()
    expect(page.locator('[data-role="left"]')).to_have_text("19 days left")


def test_news_comes_while_the_page_is_open(service: Service, players: tuple[Player, Player], onlooker: Page) -> None:
    """A line says that somebody has moved. Nothing else changes until the reader presses it.

    A reader without a key loads no module: six files at most, each from the service, and sends no credentials.
    """
    game = begin(*players)
    asked: list[Request] = []
    onlooker.on("request", lambda request: asked.append(request))  # noqa: PLW0108 # Playwright takes no method of a list
    onlooker.goto(f"{service.url}/g/{game}")
    news = onlooker.locator("#news")
    expect(news).to_be_hidden()
    before = onlooker.locator("main").inner_text()
    course = play(*players, game, 1)
    mover = players[0].lines(game)[-1].entry.by
    expect(news).to_contain_text(f"{mover} has moved.")
    assert before in onlooker.locator("main").inner_text()
    files = [each.url for each in asked if "/v1/" not in each.url]
    assert f"{service.url}{static_files().base}start.js" in files
    assert len(files) <= 6
    assert not any("/pages/" in each or "/client/" in each for each in files)
    assert all(each.url.startswith(service.url) for each in asked)
    assert not any({"cookie", "authorization"} & {*each.headers} for each in asked)
    news.get_by_role("link").tap()
    expect(onlooker.locator("body")).to_have_attribute("data-seq", str(course.seq))
    expect(news).to_be_hidden()


def test_steps_stay_under_the_thumb(service: Service, players: tuple[Player, Player], onlooker: Page) -> None:
    """On a phone they are at one place in every position, above all else, and cover no link at the end of the page."""
    game = begin(*players)
    last = play(*players, game, 4).seq
    places = set[str]()
    for entry in range(last - 4, last + 1):
        onlooker.goto(f"{service.url}/g/{game}?at={entry}")
        forward = onlooker.get_by_role("link", name="Forward")
        places.add(str(forward.bounding_box()))
        forward.click(trial=True)
    assert len(places) == 1
    onlooker.locator("footer a").last.click(trial=True)
