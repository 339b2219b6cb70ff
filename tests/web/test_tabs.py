"""Tabs of one browser: one entry for a place whoever acts first, one stream of news, and no card after a log out."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest
from tests.support.service import Player, Service, begin
from tests.support.visits import Faults
from tests.web.test_crash import reply
from tests.web.test_home import TOKEN
from tests.web.test_invite import Heard
from tests.web.test_keys import KEPT, press

pytestmark = pytest.mark.usefixtures("asked_about_names")

LOAD = """async base => {
  const [{ Session }, { Game }, { follow, inWorker }] = await Promise.all(
    ['client/session.js', 'client/game.js', 'shared.js'].map(name => import(base + name)));
  const session = new Session({ origin: location.origin, check: inWorker(base) });
  await session.meet();
  Object.assign(globalThis, { session, Game, follow });
}"""
MOVE = """async ([id, action]) => {
  const game = new Game(session, id);
  try { await game.move(action); return 'moved' } catch (error) { return error.key ?? String(error) }
}"""

FOLLOW = "() => { globalThis.heard = []; follow(session, entry => globalThis.heard.push(entry.game)) }"
WAITS = "async () => (await navigator.locks.query()).pending.some(each => each.name === 'hkoji-news')"
"""Follows the news; and whether a tab waits for its turn to hold the stream."""


def load(page: Page, origin: str) -> Page:
    """Loads the client into a page that does nothing by itself."""
    page.goto(f"{origin}/rules/hanamikoji")
    page.evaluate(LOAD, page.evaluate("document.body.dataset.static"))
    return page


def tab(page: Page, origin: str) -> Page:
    """One more tab of the same browser, which has loaded the client."""
    return load(page.context.new_page(), origin)


def hold_one_stream(page: Page, service: Service, host: Player, number: int) -> None:
    """So many tabs of a browser hear all news by one stream, also after the tab is closed that held it."""
    guest = bring_guest(page, service)
    heard, first = Heard(page), tab(page, service.url)  # it holds the stream
    tabs = [load(page, service.url), *(tab(page, service.url) for _ in range(number - 2))]
    with first.expect_response("**/v1/events"):
        first.evaluate(FOLLOW)
    for each in tabs:
        each.evaluate(FOLLOW)
        each.wait_for_function(WAITS)
    game = begin(host, guest, Hanamikoji(first="guest"))
    for each in (first, *tabs):
        each.wait_for_function("game => globalThis.heard.includes(game)", arg=game)
        each.wait_for_function("() => document.title.startsWith('(1) ')")
    assert heard.paths.count("/v1/events") == 1
    with page.context.expect_event("response", lambda answer: answer.url.endswith("/v1/events")):
        first.close()
    game = begin(host, guest)
    for each in tabs:
        each.wait_for_function("game => globalThis.heard.includes(game)", arg=game)
    assert heard.paths.count("/v1/events") == 2


def test_two_tabs_make_one_move(service: Service, host: Player, phone: Page) -> None:
    game = begin(host, bring_guest(phone, service), Hanamikoji())
    one, two = load(phone, service.url), tab(phone, service.url)
    reply(host, game)
    legal = one.evaluate("async id => (await new Game(session, id).view()).legal", game)
    before = host.lines(game)[-1].entry.seq
    for each, action in ((one, legal[0]), (two, legal[-1])):
        each.evaluate(f"given => {{ globalThis.said = ({MOVE})(given) }}", [game, action])
    said = sorted(each.evaluate("() => globalThis.said") for each in (one, two))
    assert said == ["moved", "not-legal-now"]
    mine = [line.entry for line in host.lines(game) if line.entry.seq > before and line.entry.by != host.name]
    assert len(mine) == 1
    assert one.evaluate("() => session.store.list('outbox')") == []


def test_tabs_hold_one_stream_and_hand_it_on(service: Service, host: Player, phone: Page) -> None:
    """Two tabs; tests/lab/browsers/tabs.py has eight."""
    hold_one_stream(phone, service, host, 2)


def test_a_log_out_leaves_no_card_in_any_tab(service: Service, host: Player, phone: Page, faults: Faults) -> None:
    """Not in another tab, not in a move that was refused, and not after Back. The key stays until it is forgotten."""
    faults.expect("409 .*/entries")
    guest = bring_guest(phone, service)
    origin, name = host.origin(), guest.name
    game = begin(host, guest, Hanamikoji())
    reply(host, game)
    other = tab(phone, origin)
    hand = "#play [data-role=hand] > *"
    for each in (phone, other):
        each.goto(f"{origin}/g/{game}?side=guest")
        expect(each.locator(hand).first).to_be_visible()
    other.evaluate(LOAD, other.evaluate("document.body.dataset.static"))
    refusal = {"status": 409, "json": {"code": "conflict"}}
    other.route("**/entries", lambda route: route.fulfill(**refusal))
    legal = other.evaluate("async id => (await new Game(session, id).view()).legal", game)
    action = next(each for each in legal if each[0] == "1")
    assert other.evaluate(MOVE, [game, action]) == "problem-conflict"
    (kept,) = phone.evaluate(KEPT, "outbox")
    assert json.loads(kept)["action"] == action
    assert "opening" in kept
    assert any("view" in each for each in phone.evaluate(KEPT, "games"))
    phone.evaluate("globalThis.stays = true")
    other.goto(f"{origin}/me")
    other.locator("#me-choices").wait_for()
    token = other.evaluate(TOKEN)
    press(other, "log-out")
    expect(other.locator("#me-left")).to_be_visible()
    phone.wait_for_function("() => !globalThis.stays && 'ready' in document.body.dataset")
    assert phone.locator(hand).count() == 0
    assert phone.evaluate("sessionStorage.length") == other.evaluate("sessionStorage.length") == 0
    assert service.ask("GET", "/v1/me/games", token=token).status == 401
    (kept,) = other.evaluate(KEPT, "outbox")
    assert json.loads(kept)["refused"] == "conflict"  # nothing else is signed for its place unless the player says so
    assert json.loads(kept)["action"] is None
    assert "opening" not in kept
    assert other.evaluate(KEPT, "games") == other.evaluate(KEPT, "openings") == []
    assert not [each for each in other.evaluate(KEPT, "evidence") if "view" in each]
    other.go_back(wait_until="commit")
    assert game in other.url
    other.wait_for_function("() => 'ready' in document.body.dataset")
    assert other.locator(hand).count() == 0
    phone.goto(f"{origin}/me")
    phone.click("#me-back")
    expect(phone.locator("#own-name")).to_have_text(name)
    press(phone, "forget")
    phone.wait_for_url(f"{origin}/")
    assert phone.evaluate("indexedDB.databases()") == []
    assert service.ask("GET", f"/v1/players/{name}").json["name"] == name
