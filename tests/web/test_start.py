"""The part of start.js that every reader gets: local times, steps by arrow keys, news; without a key nothing more."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from hkoji.game.agreement import UNTIMED, parse_time_control
from tests.support.service import Player, Service, begin, play, two_players
from tests.support.visits import DESK

CLOCK = UNTIMED._replace(clock=parse_time_control("3d/14d"))


@pytest.fixture(scope="module")
def players(service: Service) -> tuple[Player, Player]:
    return two_players(service)


def test_steps_by_arrow_keys(service: Service, players: tuple[Player, Player], desk: Page) -> None:
    """They step where no control has the focus, and not beyond the last entry."""
    game = begin(*players)
    play(*players, game, 2)
    desk.goto(f"{service.url}/g/{game}?at=5")
    desk.keyboard.press("ArrowLeft")
    desk.wait_for_url(re.compile(r"at=4$"))
    desk.keyboard.press("ArrowRight")
    desk.wait_for_url(re.compile(r"at=5$"))
    desk.get_by_role("link", name="Forward").focus()
    desk.keyboard.press("ArrowLeft")
    desk.keyboard.press("Shift+ArrowLeft")
    desk.wait_for_timeout(200)
    assert desk.url.endswith("at=5")
    desk.goto(f"{service.url}/g/{game}")
    desk.keyboard.press("ArrowRight")
    desk.wait_for_timeout(200)
    assert desk.url == f"{service.url}/g/{game}"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_are_those_of_the_reader(
    service: Service, players: tuple[Player, Player], visitor: Callable[..., Page], zone: str
) -> None:
    page = visitor(DESK, timezone_id=zone)
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


def test_news_comes_while_the_page_is_open(service: Service, players: tuple[Player, Player], phone: Page) -> None:
    """A line says that somebody has moved. Nothing else changes until the reader presses it."""
    game = begin(*players)
    phone.goto(f"{service.url}/g/{game}")
    news = phone.locator("#news")
    expect(news).to_be_hidden()
    before = phone.locator("main").inner_text()
    course = play(*players, game, 1)
    mover = players[0].lines(game)[-1].entry.by
    expect(news).to_contain_text(f"{mover} has moved.")
    assert before in phone.locator("main").inner_text()
    news.get_by_role("link").tap()
    expect(phone.locator("body")).to_have_attribute("data-seq", str(course.seq))
    expect(news).to_be_hidden()


def test_a_reader_without_a_key_loads_no_module(service: Service, players: tuple[Player, Player], phone: Page) -> None:
    """Six requests at most, each to the service, and no credentials in any."""
    game = begin(*players)
    asked: list[Request] = []
    phone.on("request", lambda request: asked.append(request))  # noqa: PLW0108 # Playwright takes no method of a list
    phone.goto(f"{service.url}/g/{game}")
    phone.wait_for_timeout(300)
    files = [each.url for each in asked if "/v1/" not in each.url]
    assert len(files) <= 6
    assert not any("/pages/" in each or "/client/" in each for each in files)
    assert all(each.url.startswith(service.url) for each in asked)
    assert not any({"cookie", "authorization"} & {*each.headers} for each in asked)


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
