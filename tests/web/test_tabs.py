"""Tabs of one browser: one entry for a place whoever acts first, one stream of news, and no card after a log out."""

from __future__ import annotations

import json
import secrets

import pytest
from playwright.sync_api import Page, expect

from hkoji.game.setup import Invite
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest, seated
from tests.support.service import Player, Service
from tests.support.visits import Faults, leave
from tests.web.test_crash import reply
from tests.web.test_invite import Heard
from tests.web.test_keys import KEPT, press, said
from tests.web.test_keys import make_key as make_own_key

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


def tab(page: Page, game: str) -> Page:
    """One more tab of the same browser, which has loaded the client."""
    other = page.context.new_page()
    other.goto(f"{page.url.split('/g/')[0]}/rules/hanamikoji")
    other.evaluate(LOAD, other.evaluate("document.body.dataset.static"))
    return other


def test_two_tabs_make_one_move(service: Service, host: Player, phone: Page) -> None:
    game = seated(phone, host, bring_guest(phone, service), Hanamikoji())
    one, two = tab(phone, game), tab(phone, game)
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


def test_eight_tabs_hold_one_stream(service: Service, host: Player, phone: Page) -> None:
    game = seated(phone, host, bring_guest(phone, service), Hanamikoji())
    tabs = [tab(phone, game) for _ in range(8)]
    leave(phone)  # its page follows, too
    heard = Heard(phone)
    for each in tabs:
        each.evaluate("() => { globalThis.heard = []; follow(session, entry => globalThis.heard.push(entry.seq)) }")
    tabs[0].wait_for_timeout(500)
    streams = [each for each in heard.all if each.url.endswith("/v1/events")]
    assert len(streams) == 1
    answer = host.send(host.make_move(host.course(game), host.course(game).state.legal_actions()[0]))
    assert answer.status == 201
    seq = host.lines(game)[-1].entry.seq
    for each in tabs:
        each.wait_for_function("seq => globalThis.heard.includes(seq)", arg=seq)
        each.wait_for_function("() => document.title.startsWith('(1) ')")
    assert len([each for each in heard.all if each.url.endswith("/v1/events")]) == 1


def test_a_closed_tab_gives_the_stream_to_another(service: Service, host: Player, phone: Page) -> None:
    game = seated(phone, host, bring_guest(phone, service), Hanamikoji())
    one, two = tab(phone, game), tab(phone, game)
    for each in (one, two):
        each.evaluate("() => { globalThis.heard = []; follow(session, entry => globalThis.heard.push(entry.seq)) }")
        each.wait_for_timeout(200)
    one.close()
    reply(host, game)
    seq = host.lines(game)[-1].entry.seq
    two.wait_for_function("seq => globalThis.heard.includes(seq)", arg=seq)


def test_a_log_out_waits_for_a_copy_and_leaves_no_card(service: Service, phone: Page) -> None:
    host, name = Player(service, f"host-{secrets.token_hex(3)}").register(), f"bob-{secrets.token_hex(3)}"
    origin = host.origin()
    make_own_key(phone, origin, name)
    phone.click("#me-register button")
    phone.locator("#me-choices").wait_for()
    press(phone, "log-out")
    said(phone, "First show that you have a copy")
    phone.click("[data-do=save-have]")
    said(phone, "cannot be copied")
    game = host.new(Hanamikoji(), invite=Invite(name))
    phone.goto(origin)
    phone.click("#own-games a")
    phone.click("[data-do=join]")
    phone.wait_for_url(f"**/g/{game}?side=guest")
    host.seed(game)
    phone.goto("about:blank")
    phone.goto(f"{origin}/g/{game}")
    expect(phone.locator("#play [data-role=hand] > *").first).to_be_visible()
    assert any("view" in each for each in phone.evaluate(KEPT, "games"))
    phone.goto(f"{origin}/me")
    token = phone.evaluate(
        "JSON.parse(Object.entries(sessionStorage).find(([name]) => name.startsWith('hkoji-token'))[1]).token"
    )
    press(phone, "log-out")
    expect(phone.locator("#me-left")).to_be_visible()
    assert phone.evaluate(KEPT, "games") == phone.evaluate(KEPT, "openings") == []
    assert not [each for each in phone.evaluate(KEPT, "evidence") if "view" in each]
    assert phone.evaluate("sessionStorage.length") == 0
    assert service.ask("GET", "/v1/me/games", token=token).status == 401
    phone.go_back(wait_until="commit")
    assert game in phone.url
    phone.wait_for_timeout(300)
    assert phone.locator("#play [data-role=hand] *").count() == 0
    phone.goto(f"{origin}/me")
    phone.click("#me-back")
    expect(phone.locator("#own-name")).to_have_text(name)
    press(phone, "forget")
    phone.wait_for_url(f"{origin}/")
    assert phone.evaluate("indexedDB.databases()") == []
    assert json.loads(service.ask("GET", f"/v1/players/{name}").body)["name"] == name


def test_a_log_out_reaches_the_other_tabs_and_takes_the_cards_of_a_refused_move_along(
    service: Service, host: Player, phone: Page, faults: Faults
) -> None:
    faults.expect("409 .*/entries")
    game = seated(phone, host, bring_guest(phone, service), Hanamikoji())
    reply(host, game)
    phone.goto(f"{phone.url.split('/g/')[0]}/g/{game}?side=guest")
    hand = phone.locator("#play [data-role=hand] > *")
    expect(hand.first).to_be_visible()
    other = tab(phone, game)
    refusal = {"status": 409, "json": {"code": "conflict"}}
    other.route("**/entries", lambda route: route.fulfill(**refusal))
    legal = other.evaluate("async id => (await new Game(session, id).view()).legal", game)
    action = next(each for each in legal if each[0] == "1")
    assert other.evaluate(MOVE, [game, action]) == "problem-conflict"
    (kept,) = phone.evaluate(KEPT, "outbox")
    assert action in kept
    assert "opening" in kept
    phone.evaluate("globalThis.stays = true")
    other.goto(f"{phone.url.split('/g/')[0]}/me")
    other.locator("#me-choices").wait_for()
    press(other, "log-out")
    expect(other.locator("#me-left")).to_be_visible()
    phone.wait_for_function("() => !globalThis.stays && document.readyState === 'complete'")
    phone.wait_for_timeout(500)
    assert hand.count() == 0
    assert phone.evaluate("sessionStorage.length") == 0
    (kept,) = phone.evaluate(KEPT, "outbox")
    assert json.loads(kept)["refused"] == "conflict"  # nothing else is signed for its place unless the player says so
    assert action not in kept
    assert "opening" not in kept
