"""A page comes from the service, so it plays no sealed game: it says so, signs nothing, and lets everybody watch."""

from __future__ import annotations

import secrets

from playwright.sync_api import Page, expect

from hkoji.game.entry_kinds import LinkInvite, Open
from hkoji.log.link_key import link_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest
from tests.support.sealed_service import ServedTable
from tests.support.service import Player, Service


def test_the_page_of_a_link_says_that_a_sealed_game_is_played_by_a_program(
    service: Service, host: Player, phone: Page
) -> None:
    guest = Player(service, f"guest-{secrets.token_hex(3)}").register()
    table = ServedTable((host, guest), GeishasRoad())
    code = secrets.token_hex(16)
    host.entropy, key = table.entropy[0], link_key(code)
    _, opened, _ = table.due()
    assert isinstance(opened, Open)
    signed = LinkInvite(key.public, host.sign_by_link(key, table.game, 0))
    assert table.posted(0, opened._replace(invite=signed)).status == 201
    posts: list[str] = []
    phone.on("request", lambda request: posts.append(request.url) if request.method != "GET" else None)
    phone.goto(f"{host.origin()}/i/{table.game}#{code}")
    said = phone.locator("#invite-says")
    expect(said).to_contain_text("This is a sealed game: it can only be played with the program hkoji")
    expect(said).to_contain_text(f"hkoji join '{host.origin()}/i/{table.game}#{code}' --sealed")
    assert posts == []


def test_a_browser_with_a_players_key_shows_the_game_and_plays_nothing(
    service: Service, host: Player, phone: Page
) -> None:
    guest = bring_guest(phone, service)
    table = ServedTable((host, guest), Hanamikoji())
    table.go_on(3)  # now the guest owes the seed, which the page of a game that is not sealed sends by itself
    for path in ("/", f"/g/{table.game}?side=guest"):
        phone.goto(f"{host.origin()}{path}")
        phone.locator("body[data-ready]").wait_for()
    expect(phone.locator("#play")).to_contain_text("This is a sealed game (beta)")
    table.read()
    assert len(table.lines) == 4
    while table.course.state.round == 0 or table.course.actor != 1:
        table.go_on()
    phone.reload()
    phone.locator("body[data-ready]").wait_for()
    expect(phone.locator("[data-role=hand]")).to_have_count(0)
    expect(phone.locator("#play")).to_contain_text("here the game can only be watched")


def test_the_page_of_an_open_sealed_game_says_how_it_is_joined(service: Service, host: Player, phone: Page) -> None:
    guest = Player(service, f"guest-{secrets.token_hex(3)}").register()
    table = ServedTable((host, guest), Hanamikoji())
    table.go_on()
    phone.goto(f"{host.origin()}/g/{table.game}")
    expect(phone.locator("#play code")).to_have_text(f"hkoji join {table.game[:8]} --sealed")
    while table.course.joinable:
        table.go_on()
    phone.reload()
    expect(phone.locator("#play code")).to_have_text(f"hkoji show {table.game[:8]}")
