"""All that a player can do beside moves on the page of a game, in Chromium; and what is left when the page is left."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from hkoji.audit.evidence_audit import audit_file
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, Series, parse_time_control
from hkoji.log.public_key import parse_public_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import DAYS, load_anew, part, seated
from tests.support.page_modules import run_module
from tests.support.service import Player, Service, begin, play
from tests.support.timed_games import a_wish, state
from tests.support.visits import Faults, leave

COVERED = """() => {
  scrollTo(0, 0);
  const box = document.getElementById('news').getBoundingClientRect();
  return [...document.querySelectorAll('a, button, summary, textarea, input')].filter(each => {
    const { bottom, left, right, top } = each.getBoundingClientRect();
    return !each.closest('#news') && each.checkVisibility() && box.width &&
      left < box.right && right > box.left && top < box.bottom && bottom > box.top;
  }).map(each => each.outerHTML);
}"""
"""The controls of the top of the page that lie under the bar of news."""

SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const { value } of list.getEntries()) sum += value })
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => done(sum), 500);
})"""
"""How much has moved by itself since the page was opened, as browsers measure it."""

pytestmark = pytest.mark.usefixtures("asked_about_names")


@pytest.fixture(scope="module")
def tab_of_all(guest_browser: tuple[Player, BrowserContext]) -> Page:
    page = guest_browser[1].new_page()
    page.set_viewport_size({"width": 360, "height": 640})
    return page


@pytest.fixture
def table(tab_of_all: Page, faults: Faults) -> Iterator[Page]:
    """A tab of the guest's browser, as large as a phone, that tests of this file share: another one is dear."""
    faults.watch(tab_of_all)
    yield tab_of_all
    leave(tab_of_all)
    tab_of_all.unroute_all()


def do(where: Page | Locator, name: str) -> Locator:
    return where.locator(f"[data-do={name}]")


def press(where: Locator, name: str) -> None:
    """Presses a button, where it may have to be opened, and waits for the page that follows."""
    page = where.page
    if not do(where, name).is_visible():
        where.locator("> summary").click()
    with page.expect_navigation():
        do(where, name).click()
    part(page, "more").wait_for(state="attached")


def clock(host: Player, game: str) -> dict[str, object]:
    answer: dict[str, object] = host.service.ask("GET", f"/v1/games/{game}/clock").json
    return answer


def look(page: Page, host: Player, game: str) -> None:
    """Opens the page of a game that was prepared, where the page has the guest's seat."""
    page.goto(f"{host.origin()}/g/{game}?side=guest")
    part(page, "more").wait_for(state="attached")


def reply(host: Player, game: str, action: str | None = None) -> None:
    """The host makes a move, by default the first legal one."""
    course = host.course(game)
    assert host.send(host.make_move(course, action or course.state.legal_actions()[0])).status == 201


def resign(host: Player, game: str) -> None:
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201


def test_time_is_given_and_a_game_is_called_off_by_both(host: Player, guest: Player, table: Page) -> None:
    game = seated(table, host, guest, Hanamikoji(first="host"))
    before = clock(host, game)["deadline"]
    table.locator("[data-role=more] > summary").click()
    part(table, "give").locator("select").select_option("3")
    press(part(table, "more"), "give")
    gifts = clock(host, game)["gifts"]
    assert isinstance(gifts, list)
    assert [each["seconds"] for each in gifts] == [3 * DAY]
    assert clock(host, game)["deadline"] != before
    expect(table.locator("#play .said")).to_have_text(f"{guest.name} has given more time.")
    press(part(table, "more"), "annul")
    assert clock(host, game)["annul"] == [guest.name]
    press(part(table, "more"), "withdraw")
    assert clock(host, game)["annul"] == []
    assert state(host, game, a_wish(host, game)).status == 201
    press(part(table, "more"), "annul")  # this page does not know yet that it would agree
    assert clock(host, game)["annul"] == [host.name]
    expect(do(part(table, "more"), "annul")).to_be_hidden()
    expect(part(table, "agree")).to_contain_text("asks to call the game off")
    press(part(table, "agree"), "annul")
    assert host.course(game).finished
    assert part(table, "hand").is_hidden()


def test_news_is_named_covers_nothing_and_waits_for_what_is_half_done(host: Player, guest: Player, tab: Page) -> None:
    tab.add_init_script("const real = setInterval; setInterval = (work, pause) => real(work, pause / 50)")
    game, news, text = host.new(Hanamikoji(first="host")), tab.locator("#news"), tab.locator("#talk textarea")
    guest.join(game)
    guest.seed(game)
    look(tab, host, game)
    text.press_sequentially("half a ")
    host.seed(game)
    expect(news).to_contain_text("There is something new.")
    text.press_sequentially("thought")
    with tab.expect_navigation():
        text.blur()
    expect(part(tab, "hand").locator("> *").first).to_be_visible()
    expect(text).to_have_value("half a thought")
    reply(host, game)
    expect(part(tab, "turn")).to_have_text("It is your turn")  # nothing was half done
    for n in range(9):
        assert host.say(game, f"message {n}").status == 201
    expect(news).to_contain_text(f"{host.name} has written.")
    expect(part(tab, "talks")).to_have_text(re.compile(r"\b9$"))
    part(tab, "talks").click()
    expect(tab.locator("#talk li").last).to_be_in_viewport()
    expect(tab.locator("#talk li time").last).to_have_text(re.compile(r"\d"))
    text.focus()
    assert state(host, game, a_wish(host, game)).status == 201
    expect(news).to_contain_text(f"{host.name} asks to call the game off.")
    resign(host, game)
    expect(news).to_contain_text(f"{host.name} has resigned.")
    assert host.say(game, "the last message").status == 201
    expect(part(tab, "talks")).to_have_text(re.compile(r"\b10$"))
    expect(news).to_contain_text(f"{host.name} has resigned.")
    assert tab.evaluate(COVERED) == []
    with tab.expect_navigation():
        news.get_by_role("link").click()
    expect(part(tab, "over")).to_be_visible()
    expect(text).to_have_value("half a thought")


def test_a_page_that_is_loading_itself_anew_takes_no_press(host: Player, guest: Player, table: Page) -> None:
    """A message sent just then could arrive, and its draft would be left."""
    game = seated(table, host, guest, Hanamikoji(first="host"))
    table.fill("#talk textarea", "only once")
    table.locator("#talk button").hover()
    table.locator("#talk textarea").blur()
    table.route(f"**/g/{game}*", lambda _: None)  # the new page does not come
    reply(host, game)
    table.wait_for_function("() => document.body.inert")
    table.mouse.down()
    table.mouse.up()
    assert host.service.ask("GET", f"/v1/games/{game}/talk", token=host.token).json["messages"] == []


def test_a_round_that_has_ended_leaves_the_hand_in_reach(host: Player, guest: Player, table: Page) -> None:
    """On a phone its score stands in one line above the hand, and opens to the table; later it stands below."""
    game = begin(host, guest, GeishasRoad(), DAYS)
    look(table, host, game)  # a round that ends later is new to this browser
    course = play(host, guest, game, 16)
    while course.state.round < 2 or course.actor != 0:
        course = play(host, guest, game, 1)
    load_anew(table)
    since, hand = part(table, "since"), part(table, "hand")
    expect(since.locator("summary")).to_contain_text("round 1: ")
    with table.expect_navigation():  # the page shows the opponent's move by itself
        play(host, guest, game, 1)
    expect(since.locator("summary")).to_contain_text("round 1: ")
    expect(since.locator(".board")).to_be_hidden()
    expect(hand).to_be_in_viewport(ratio=1)
    since.locator("summary").click()
    expect(since.locator(".board")).to_be_visible()
    load_anew(table)
    expect(since.locator("summary")).to_have_text("Since your last move")
    follows = "(since, hand) => Boolean(hand.compareDocumentPosition(since) & Node.DOCUMENT_POSITION_FOLLOWING)"
    assert since.evaluate(follows, hand.element_handle())


def test_evidence_has_own_cards_only_if_asked_and_a_player_resigns_after_a_second_question(
    service: Service, host: Player, guest: Player, table: Page, tmp_path: Path
) -> None:
    game = seated(table, host, guest, Hanamikoji())
    keys = {"server": service.ask("GET", "/v1/service").json["key"]}
    for name in filter(None, host.course(game).setup.names):
        keys[name] = service.ask("GET", f"/v1/players/{name}").json["key"]
    table.locator("[data-role=more] > summary").click()
    for cards in (False, True):
        if cards:
            part(table, "cards").locator("input").check()
        with table.expect_download() as download:
            do(table, "evidence").click()
        download.value.save_as(tmp_path / "evidence")
        text = (tmp_path / "evidence").read_text()
        assert ('{"view":' in text) == cards
        assert not audit_file(text, {name: parse_public_key(key) for name, key in keys.items()}).findings
    part(table, "resign").locator("summary").click()
    expect(do(table, "resign")).to_have_text("Resign for good?")
    assert not host.course(game).finished
    press(part(table, "more"), "resign")
    assert host.course(game).finished
    expect(part(table, "over")).to_be_visible()
    expect(part(table, "turn")).to_contain_text("You lost.")
    expect(table.locator("#moves")).not_to_contain_text("#1")
    for hand in table.locator(".table > .who .hold").all():  # each card shows its letter and a part of its picture
        widths = hand.evaluate("e => [...e.children].slice(1).map((x, n) => x.offsetLeft - e.children[n].offsetLeft)")
        assert min(widths) > 16


@pytest.mark.long
def test_a_rematch_is_asked_for_taken_back_and_named_where_the_opponent_asks(
    host: Player, guest: Player, table: Page
) -> None:
    """After the last game of a series it is outside the series, which is over."""
    game = begin(host, guest, Hanamikoji(), DAYS._replace(series=Series(3, secrets.token_hex(16), 3)))
    resign(host, game)
    look(table, host, game)
    with table.expect_navigation(url="**/g/*"):
        do(table, "rematch").click()
    expect(part(table, "turn")).to_have_text(f"The game waits for {host.name} to join.")
    expect(table.locator(".who strong").first).to_have_text(f"{host.name} (asked)")
    (waiting,) = host.service.ask("GET", "/v1/me/games?waiting=true", token=host.token).json["games"]
    assert (waiting["agreement"]["rematch"], waiting["agreement"]["series"]) == (game, None)
    score = ", ".join(sorted([f"{guest.name} 1", f"{host.name} 0"]))
    expect(table.locator("#says")).to_contain_text(f"The series is over: {score}.")
    with table.expect_navigation():
        do(table, "cancel").click()
    assert host.service.ask("GET", "/v1/me/games?waiting=true", token=host.token).json["games"] == []
    asked = host.new(invite=entry_kinds.Invite(guest.name), agreement=DAYS._replace(rematch=game))
    table.goto(f"{host.origin()}/g/{game}?side=guest")
    expect(do(table, "rematch")).to_have_text(f"Rematch: {host.name} has asked")
    table.goto(host.origin())
    expect(table.locator(f"#own-games a[href='/g/{asked}']")).to_contain_text(f"Rematch: {host.name} has asked")


def test_nothing_private_is_left_when_the_page_is_left(
    host: Player, guest: Player, table: Page, faults: Faults
) -> None:
    game = begin(host, guest, Hanamikoji(), DAYS)
    assert host.say(game, "our secret").status == 201
    look(table, host, game)
    view = table.url
    hand = part(table, "hand").locator("> *").count()
    assert hand in (6, 7)
    expect(table.locator(".who:has(.you:visible)")).to_contain_text(guest.name)
    expect(table.locator("#talk li")).to_have_count(1)
    faults.expect("422|400|ERR_FAILED")
    table.fill("#talk textarea", "€" * 400)
    table.click("#talk button")
    expect(table.locator("#talk .wrong")).to_contain_text("1200 bytes")  # beside what it is about
    table.route("**/v1/games/**", lambda route: route.abort())
    table.evaluate("() => { document.dispatchEvent(new Event('visibilitychange')); }")  # it looks for news
    expect(table.locator("#says.wrong")).to_have_text(re.compile("."))  # not beside a form, which this is not about
    expect(table.locator("#talk .wrong")).to_contain_text("1200 bytes")
    table.unroute("**/v1/games/**")
    left = "() => document.querySelectorAll('[data-role=hand], #talk li, .down > *').length"
    assert table.evaluate("() => { dispatchEvent(new PageTransitionEvent('pagehide')); }") is None
    assert table.evaluate(left) == 0
    table.goto("about:blank")
    table.go_back(wait_until="commit")
    assert table.url == view
    expect(part(table, "hand").locator("> *")).to_have_count(hand)
    html = host.service.ask("GET", f"/g/{game}").body.decode()
    assert "our secret" not in html
    assert json.dumps(game)[1:-1] in html


@pytest.mark.long
def test_equal_cards_are_all_offered_and_a_move_that_was_refused_is_not_signed_twice(
    host: Player, guest: Player, table: Page, faults: Faults
) -> None:
    """It is chosen again where the page is loaded anew; in the end the own closed cards name their action."""
    twins: list[str] = []
    while not twins:  # nearly every hand has two equal cards
        game = begin(host, guest, Hanamikoji(first="host"), DAYS)
        legal = host.course(game).state.legal_actions()
        twins = [each for each in legal if each[0] == "3" and len(set(each)) < 4]
    reply(host, game, twins[0])
    look(table, host, game)
    choices, button = part(table, "choices").locator("button"), part(table, "send").locator("button")
    expect(choices).to_have_count(3)
    choices.last.click()
    assert part(table, "choices").locator("[aria-pressed=true]").count() == 1
    expect(button).to_be_enabled()
    with table.expect_navigation():
        button.click()
    expect(part(table, "turn")).to_have_text("It is your turn")
    expect(part(table, "give")).to_be_hidden()
    sent: list[str] = []

    def refuse(route: Route) -> None:
        sent.append(route.request.post_data or "")
        route.fulfill(status=409, json={"code": "conflict", "detail": "the game has moved on"})

    faults.expect("409")
    table.route("**/entries", refuse)
    part(table, "kinds").locator("[data-kind='2']").click()
    for _ in range(2):
        part(table, "hand").locator("button:enabled[aria-pressed=false]").first.click()
    expect(button).to_be_enabled()
    words, before = button.inner_text(), host.head(game)[0]
    button.click()
    expect(part(table, "says")).to_contain_text("The game has moved on")
    assert host.head(game)[0] == before
    table.unroute("**/entries")
    table.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    load_anew(table)
    expect(button).to_be_enabled()
    assert button.inner_text() == words
    button.click()
    expect(part(table, "turn")).to_contain_text("is to move")
    assert host.head(game)[0] > before
    entries = {text for text in sent if '"entry":' in text}
    assert len(entries) == 1  # the same bytes again
    closed = table.locator(".who.near .down").get_by_role("group", name="trade-off")
    expect(closed.get_by_role("img")).to_have_count(2)


def test_nothing_moves_by_itself_and_a_button_is_dead_for_a_moment_after_each_change(
    host: Player, guest: Player, table: Page
) -> None:
    game = seated(table, host, guest, Hanamikoji(first="guest"))
    part(table, "send").wait_for()
    assert table.evaluate(SHIFTS) < 0.03
    before = host.head(game)
    table.evaluate(
        """() => {
        const part = role => document.querySelector(`[data-role=${role}]`);
        part('kinds').querySelector('button').click();
        part('hand').querySelector('button').click();
        part('send').querySelector('button').click();
    }"""
    )
    assert part(table, "notation").inner_text() != ""
    expect(part(table, "send").locator("button")).to_be_enabled()  # some time later
    assert host.head(game) == before


def test_a_guest_sees_the_agreement_of_the_log_before_joining_an_open_game(
    service: Service, host: Player, guest: Player, table: Page
) -> None:
    """The service says other terms in its page than those that the host has signed."""
    lies: list[str] = []
    game = host.new(agreement=Agreement(parse_time_control("1h")))

    def lie(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("1 hour", "14 days")
        lies.append(text := text.replace('<dd id="invite-clock">', '<dd id="invite-clock">14 days in reserve.'))
        route.fulfill(response=answer, body=text)

    table.route(f"**/g/{game}", lie)
    table.goto(f"{service.url}/g/{game}")
    expect(part(table, "asked").locator("#invite-clock")).to_have_text("1 hour for each turn.")
    expect(part(table, "asked")).to_contain_text(f"{host.name} invites you to Hanamikoji")
    assert [lie.count("14 days") for lie in lies] == [2]
    expect(table.locator("main")).not_to_contain_text("14 days")
    expect(do(table, "decline")).to_be_hidden()
    do(table, "join").click()
    expect(part(table, "turn")).to_contain_text("You have a seat")
    assert host.course(game).setup.names == (host.name, guest.name)


@pytest.mark.long
def test_an_invitation_by_name_is_declined_and_strangers_see_nothing_to_do(
    service: Service, host: Player, guest: Player, table: Page
) -> None:
    game = host.new(invite=entry_kinds.Invite("somebody-else", None))
    table.goto(f"{service.url}/g/{game}")
    expect(part(table, "mine")).to_have_count(0)
    expect(table.locator("body")).to_have_attribute("data-ready", "")
    expect(part(table, "more")).to_have_count(0)
    game = host.new(invite=entry_kinds.Invite(guest.name, None))
    table.goto(f"{service.url}/g/{game}")
    with table.expect_navigation():
        do(table, "decline").click()
    expect(part(table, "asked")).to_have_count(0)
    assert host.course(game).finished


@pytest.mark.long
def test_a_waiting_page_asks_for_signed_heads(host: Player, guest: Player, tab: Page) -> None:
    """Once when it is opened, and from time to time while it is visible."""
    heads: list[str] = []

    def hear(route: Route) -> None:
        answer = route.fetch()
        heads.append(json.loads(answer.json()["signed_head"]["text"])["head"])
        route.fulfill(response=answer)

    def pass_by(seconds: int, *, hidden: bool = False) -> None:
        tab.evaluate("on => Object.defineProperty(document, 'hidden', { value: on, configurable: true })", hidden)
        tab.clock.fast_forward(1000 * seconds)

    def looked(times: int) -> None:
        end = time.monotonic() + 20
        while len(heads) < times and time.monotonic() < end:
            tab.wait_for_timeout(20)
        assert heads == [host.head(game)[1]] * times

    tab.clock.install()
    game = seated(tab, host, guest, Hanamikoji(first="host"))
    tab.route("**/view?*", hear)
    pass_by(2)
    looked(1)
    pass_by(260)
    tab.wait_for_timeout(300)
    looked(1)
    pass_by(50)
    looked(2)
    pass_by(310, hidden=True)
    tab.wait_for_timeout(300)
    looked(2)
    pass_by(310)
    looked(3)


def test_a_page_looks_each_five_minutes_and_once_when_the_time_of_the_opponent_is_over() -> None:
    deadline = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    now = deadline.timestamp() - 1000
    clock = {"deadline": deadline.isoformat(), "seat": 0}
    given = {"now": now, "end": now + 1500, "slack": 120, "clock": clock}
    assert run_module("node", "watch.js", {**given, "seat": 1}) == [300, 600, 900, 1121, 1421]
    assert run_module("node", "watch.js", {**given, "seat": 0}) == []  # it waits for nobody
