"""The front page of a browser with a key: new games by link and by name, invitations, links; and pages of players."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hkoji.game.setup import Invite
from tests.support.guests import bring_guest
from tests.support.homes import Homes
from tests.support.service import Player, Service

pytestmark = pytest.mark.usefixtures("asked_about_names")

TOKEN = "JSON.parse(Object.entries(sessionStorage).find(([name]) => name.startsWith('hkoji-token'))[1]).token"
"""The token of the page's login."""


@pytest.fixture
def origin(service: Service) -> str:
    return Player(service, "nobody").origin()


@pytest.fixture
def name(service: Service, phone: Page) -> str:
    """A player whose key is in the browser of the page."""
    return bring_guest(phone, service).name


def test_a_new_game_by_link_is_joined_by_the_command(
    service: Service, origin: str, name: str, phone: Page, tmp_path: Path
) -> None:
    phone.goto(origin)
    phone.locator("#new-game").wait_for()
    phone.select_option("#new-game [name=ruleset]", label="Geisha's Road")
    phone.select_option("#new-game [name=clock]", index=1)
    phone.click("#new-game button")
    phone.wait_for_url("**/g/*")
    expect(phone.locator("[data-role=link]")).to_be_visible()
    link = phone.locator("[data-role=address]").input_value()
    game = link.split("/i/")[1][:32]
    phone.goto(origin)
    expect(phone.locator("#own-games li")).to_contain_text("Nobody has joined yet")
    homes = Homes(tmp_path, service).registered(friend := f"friend-{secrets.token_hex(3)}")
    assert homes(friend, "join", link, "--yes").code == 0
    phone.goto(origin)  # the host's part of the shuffle goes out with the list
    expect(phone.locator("#own-games li")).to_contain_text(friend)
    service.ask("GET", f"/v1/games/{game}/log?after=3&wait=20")
    assert [line.entry.kind for line in Player(service, name).lines(game)[:5]] == [
        "offer", "open", "join", "seed", "seed",
    ]  # fmt: skip
    offer = service.ask("GET", f"/v1/games/{game}").json
    assert (offer["ruleset"]["name"], offer["agreement"]["clock"]["move"]) == ("geishas-road", 86_400)
    assert offer["agreement"]["rated"]


@pytest.mark.long
def test_a_game_for_a_player_is_taken_back_and_one_that_is_unwanted_declined(
    service: Service, origin: str, name: str, phone: Page
) -> None:
    other = Player(service, f"other-{secrets.token_hex(3)}").register().login()
    phone.goto(origin)
    phone.locator("#new-game").wait_for()
    phone.fill("#new-game [name=name]", f"{other.name}x")
    phone.click("#new-game button")
    expect(phone.locator("#new-game .wrong")).to_contain_text("Nobody here is called")
    phone.fill("#new-game [name=name]", other.name)
    phone.click("#new-game button")
    expect(phone.locator("[data-role=turn]")).to_have_text(f"The game waits for {other.name} to join.")
    expect(phone.locator("[data-role=link]")).to_be_hidden()
    (opened,) = service.ask("GET", f"/v1/games?player={name}").json["games"]
    assert opened["invite"] == other.name
    with phone.expect_navigation():
        phone.click("[data-do=cancel]")
    assert service.ask("GET", f"/v1/games/{opened['game']}").json["status"] == "cancelled"

    game = other.new(invite=Invite(name))
    phone.goto(origin)
    expect(phone.locator("#own-games li")).to_contain_text(f"{other.name} invites you")
    phone.click("#own-games a")
    expect(phone.locator("[data-role=asked]")).to_contain_text("No clock")
    with phone.expect_navigation():
        phone.click("[data-do=decline]")
    (lapse,) = [line.entry for line in other.lines(game) if line.entry.kind == "lapse"]
    assert lapse.body["reason"] == "declined"


def test_a_key_is_compared_and_a_player_is_blocked_at_the_name(
    service: Service, origin: str, name: str, phone: Page
) -> None:
    other = Player(service, f"other-{secrets.token_hex(3)}").register().login()
    phone.goto(f"{origin}/p/{other.name}")
    phone.click("[data-do=compare]")
    expect(phone.locator("#says")).to_contain_text("You have compared")
    phone.click("[data-do=block]")
    expect(phone.locator("[data-do=unblock]")).to_be_visible()
    phone.goto(f"{origin}/me")
    expect(phone.locator("#blocks li")).to_contain_text(other.name)
    expect(phone.locator("#pins li")).to_contain_text("compared by you")
    phone.select_option("#invites", "known")
    expect(phone.locator("#says")).to_contain_text("Done")
    phone.click("[data-do=unblock]")
    expect(phone.locator("#blocks li")).to_have_count(0)
    stranger = Player(service, f"stranger-{secrets.token_hex(3)}").register().login()
    with pytest.raises(AssertionError, match="not-accepted"):
        stranger.new(invite=Invite(name))
    token = phone.evaluate(TOKEN)
    assert service.ask("GET", "/v1/me/settings", token=token).json == {"invites": "known", "known": [other.name]}
    other.new(invite=Invite(name))  # the player's choice knows whose keys were compared
