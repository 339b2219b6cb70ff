"""Whole games: each ruleset by touch and by keyboard, in each engine, against a host by mail, and without a page.

All of them are played at a service that plays by mail too.
"""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from hkoji.cli.output import Exit
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.forked import ForkedProcess
from tests.support.guests import load_anew, part
from tests.support.homes import Homes
from tests.support.service import Player, Service
from tests.support.visits import DESK, PHONE
from tests.support.webdriver import Window
from tests.web import test_other_engines as others
from tests.web.test_game import HANAMIKOJI, ROAD, Press, answer_loads, joined_by_link, move, moves, tab_to, tap
from tests.web.test_held import MailHost, Post, mail_host, post, reply, service, until
from tests.web.test_join import verify_whole_game
from tests.web.test_other_engines import browser

__all__ = ["browser", "mail_host", "post", "service"]

pytestmark = pytest.mark.usefixtures("asked_about_names")


@pytest.mark.parametrize("press", [tap, tab_to])
@pytest.mark.parametrize("ruleset", [HANAMIKOJI, ROAD], ids=str)
def test_a_whole_game_is_played_one_way(
    host: Player, visitor: Callable[..., Page], ruleset: Ruleset, press: Press
) -> None:
    page = visitor(PHONE if press is tap else DESK, reduced_motion="no-preference")
    game = joined_by_link(page, host, ruleset)
    answer_loads(page, host, random.Random(5))
    host.seed(game)
    assert len(list(moves(page, host, game, press))) >= 4
    expect(part(page, "over")).to_be_visible()


def test_a_friend_plays_to_the_end_in_another_engine(service: Service, browser: Window, tmp_path: Path) -> None:
    """The host is the command, with a bot."""
    alice, bob = f"alice-{secrets.token_hex(3)}", f"bob-{secrets.token_hex(3)}"
    homes, chance = Homes(tmp_path, service).registered(alice), random.Random(5)
    opened = homes(alice, "new", "--link", "--max-rounds", "1", "--json").json
    game = opened["game"]
    key = others.join(browser, opened["link"], bob)
    environment = {**os.environ, "HKOJI_HOME": str(tmp_path / alice), "HKOJI_CONFIG": os.devnull}
    host = ForkedProcess(["bot", "run", game, "--bot", "greedy"], env=environment, stdout=tmp_path / "said")
    made = []
    while others.its_turn(browser) == "turn":
        made.append(others.move(browser, chance))
    assert host.wait(60) == Exit.OK
    assert {each[0] for each in made} >= {"1", "2", "3", "4", "-"}  # each action, and answers
    others.verify(Player(service, bob), game, bob, key, made)


def test_a_host_by_mail_plays_to_the_end(
    post: Post, mail_host: MailHost, guest: Player, tab: Page, tmp_path: Path
) -> None:
    game, chance = mail_host.offer(post, guest.name), random.Random(5)

    def answer(route: Route) -> None:
        reply(post, game, mail_host.player, chance)
        route.continue_()

    tab.goto(f"{guest.origin()}/g/{game}")
    part(tab, "asked").get_by_role("button", name="Join").click()
    until(lambda: post.turn(game) is not None)
    reply(post, game, mail_host.player, chance)
    tab.route(f"**/g/{game}*", answer)  # the page loads itself anew once for both moves
    load_anew(tab)
    while post.turn(game) is not None:
        move(tab, tab_to, chance)
    assert post.log(game)[-1].entry.kind == "end"
    expect(part(tab, "over")).to_be_visible()
    post.holds(game, tmp_path)


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad(first="random", starting_markers="random")], ids=str)
def test_the_client_plays_without_a_page(service: Service, tmp_path: Path, ruleset: Ruleset) -> None:
    verify_whole_game(service, tmp_path, ruleset)
