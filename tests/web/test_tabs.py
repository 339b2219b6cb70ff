"""Tabs of one browser take turns: one entry for a place whoever acts first, and one stream of news for all of them."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import Page

from tests.support.service import Player, Service
from tests.support.visits import Faults
from tests.web.test_crash import reply
from tests.web.test_invite import Heard, make_key
from tests.web.test_join import invite

LOAD = """async base => {
  const [{ Session }, { Game }, { inWorker }, { follow }] = await Promise.all(
    ['client/session.js', 'client/game.js', 'shared.js', 'client/news.js'].map(name => import(base + name)));
  const session = new Session({ origin: location.origin, check: inWorker(base) });
  await session.meet();
  Object.assign(globalThis, { session, Game, follow });
}"""
MOVE = """async ([id, action]) => {
  const game = new Game(session, id);
  try { await game.move(action); return 'moved' } catch (error) { return error.key ?? String(error) }
}"""


def joined(host: Player, page: Page) -> str:
    """Joins a game of the host in a browser, and returns the game."""
    link = invite(host)
    page.goto(link)
    make_key(page, f"bob-{secrets.token_hex(3)}")
    page.click("#save-password button")
    page.click("#invite-go")
    page.wait_for_url("**/g/*")
    game = link.split("/i/")[1][:32]
    host.seed(game)
    return game


def tab(page: Page, game: str) -> Page:
    """One more tab of the same browser, which has loaded the client."""
    other = page.context.new_page()
    other.goto(f"{page.url.split('/g/')[0]}/check")
    other.evaluate(LOAD, other.evaluate("document.body.dataset.static"))
    return other


@pytest.fixture(autouse=True)
def asked_about_names(faults: Faults) -> None:
    faults.expect("404 .*/v1/players/|Transition was aborted")


def test_two_tabs_make_one_move(service: Service, phone: Page) -> None:
    host = Player(service, f"host-{secrets.token_hex(3)}").register()
    game = joined(host, phone)
    one, two = tab(phone, game), tab(phone, game)
    reply(host, game)
    legal = one.evaluate("async id => (await new Game(session, id).view()).legal", game)
    before = host.lines(game)[-1].entry.seq
    for each, action in ((one, legal[0]), (two, legal[-1])):
        each.evaluate(f"given => {{ globalThis.said = ({MOVE})(given) }}", [game, action])
    said = sorted(each.evaluate("() => globalThis.said") for each in (one, two))
    assert said == ["moved", "not-legal-now"]
    mine = [line.entry for line in host.lines(game) if line.entry.seq > before and line.entry.by.startswith("bob")]
    assert len(mine) == 1
    assert one.evaluate("() => session.store.list('outbox')") == []


def test_eight_tabs_hold_one_stream(service: Service, phone: Page) -> None:
    host = Player(service, f"host-{secrets.token_hex(3)}").register()
    game = joined(host, phone)
    heard = Heard(phone)
    tabs = [tab(phone, game) for _ in range(8)]
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


def test_a_closed_tab_gives_the_stream_to_another(service: Service, phone: Page) -> None:
    host = Player(service, f"host-{secrets.token_hex(3)}").register()
    game = joined(host, phone)
    one, two = tab(phone, game), tab(phone, game)
    for each in (one, two):
        each.evaluate("() => { globalThis.heard = []; follow(session, entry => globalThis.heard.push(entry.seq)) }")
        each.wait_for_timeout(200)
    one.close()
    reply(host, game)
    seq = host.lines(game)[-1].entry.seq
    two.wait_for_function("seq => globalThis.heard.includes(seq)", arg=seq)
