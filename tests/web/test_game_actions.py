"""All that a player can do beside moves on the page of a game, in Chromium; and what is left when the page is left."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from hkoji.audit.evidence_audit import audit_file
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, Series, parse_time_control
from hkoji.log.public_key import parse_public_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import DAYS, bring_guest, load_anew, part, seated
from tests.support.service import Player, Service, play, serving
from tests.support.time_by_hand import ServedClock
from tests.support.timed_games import a_wish, state
from tests.support.visits import Faults

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


def test_time_is_given_while_the_opponent_owes(host: Player, guest: Player, tab: Page) -> None:
    game = seated(tab, host, guest, Hanamikoji(first="host"))
    before = clock(host, game)["deadline"]
    tab.locator("[data-role=more] > summary").click()
    part(tab, "give").locator("select").select_option("3")
    press(part(tab, "more"), "give")
    gifts = clock(host, game)["gifts"]
    assert isinstance(gifts, list)
    assert [each["seconds"] for each in gifts] == [3 * DAY]
    assert clock(host, game)["deadline"] != before
    expect(tab.locator("#play .said")).to_have_text(f"{guest.name} has given more time.")
    host.send(host.make_move(host.course(game), host.course(game).state.legal_actions()[0]))
    load_anew(tab)
    expect(part(tab, "turn")).to_have_text("It is your turn")
    expect(part(tab, "give")).to_be_hidden()


def test_a_wish_to_call_off_is_withdrawn_and_two_end_the_game(host: Player, guest: Player, tab: Page) -> None:
    game = seated(tab, host, guest, Hanamikoji())
    name = host.course(game).setup.names[1]
    press(part(tab, "more"), "annul")
    assert clock(host, game)["annul"] == [name]
    press(part(tab, "more"), "withdraw")
    assert clock(host, game)["annul"] == []
    assert state(host, game, a_wish(host, game)).status == 201
    press(part(tab, "more"), "annul")  # this page does not know yet that it would agree
    assert clock(host, game)["annul"] == [host.name]
    expect(do(part(tab, "more"), "annul")).to_be_hidden()
    expect(part(tab, "agree")).to_contain_text("asks to call the game off")
    press(part(tab, "agree"), "annul")
    assert host.course(game).finished
    assert part(tab, "hand").is_hidden()


def test_news_is_named_covers_nothing_and_keeps_what_is_half_done(host: Player, guest: Player, tab: Page) -> None:
    tab.add_init_script("const real = setInterval; setInterval = (work, pause) => real(work, pause / 50)")
    game, news = seated(tab, host, guest, Hanamikoji(first="host")), tab.locator("#news")
    assert host.send(host.make_move(host.course(game), host.course(game).state.legal_actions()[0])).status == 201
    expect(part(tab, "turn")).to_have_text("It is your turn")  # nothing was half done
    for n in range(9):
        assert host.say(game, f"message {n}").status == 201
    expect(news).to_contain_text(f"{host.name} has written.")
    expect(part(tab, "talks")).to_have_text(re.compile(r"\b9$"))
    part(tab, "talks").click()
    expect(tab.locator("#talk li").last).to_be_in_viewport()
    expect(tab.locator("#talk li time").last).to_have_text(re.compile(r"\d"))
    text = tab.locator("#talk textarea")
    text.fill("half a thought")
    assert state(host, game, a_wish(host, game)).status == 201
    expect(news).to_contain_text(f"{host.name} asks to call the game off.")
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201
    expect(news).to_contain_text(f"{host.name} has resigned.")
    assert host.say(game, "the last message").status == 201
    expect(part(tab, "talks")).to_have_text(re.compile(r"\b10$"))
    expect(news).to_contain_text(f"{host.name} has resigned.")
    assert tab.evaluate(COVERED) == []
    with tab.expect_navigation():
        news.get_by_role("link").click()
    expect(part(tab, "over")).to_be_visible()
    expect(text).to_have_value("half a thought")


def test_the_deal_waits_for_a_message_that_is_being_written(host: Player, guest: Player, tab: Page) -> None:
    tab.add_init_script("const real = setInterval; setInterval = (work, pause) => real(work, pause / 50)")
    game = host.new(Hanamikoji())
    guest.join(game)
    guest.seed(game)
    tab.goto(f"{host.origin()}/g/{game}?side=guest")
    text = tab.locator("#talk textarea")
    text.press_sequentially("half a ")
    host.seed(game)
    expect(tab.locator("#news")).to_contain_text("There is something new.")
    text.press_sequentially("thought")
    with tab.expect_navigation():
        text.blur()
    expect(part(tab, "hand").locator("> *").first).to_be_visible()
    expect(text).to_have_value("half a thought")


def test_a_player_resigns_after_a_second_question(host: Player, guest: Player, tab: Page) -> None:
    game = seated(tab, host, guest, Hanamikoji())
    tab.locator("[data-role=more] > summary").click()
    part(tab, "resign").locator("summary").click()
    expect(do(tab, "resign")).to_have_text("Resign for good?")
    assert not host.course(game).finished
    press(part(tab, "more"), "resign")
    assert host.course(game).finished
    expect(part(tab, "over")).to_be_visible()
    expect(part(tab, "turn")).to_contain_text("You lost.")
    expect(tab.locator("#moves")).not_to_contain_text("#1")
    tab.set_viewport_size({"width": 360, "height": 640})
    for hand in tab.locator(".table > .who .hold").all():  # each card shows its letter and a part of its picture
        widths = hand.evaluate("e => [...e.children].slice(1).map((x, n) => x.offsetLeft - e.children[n].offsetLeft)")
        assert min(widths) > 16


def test_a_round_that_has_ended_leaves_the_hand_in_reach(host: Player, guest: Player, tab: Page) -> None:
    """On a phone its score stands in one line above the hand, and opens to the table; later it stands below."""
    tab.set_viewport_size({"width": 360, "height": 640})
    game = seated(tab, host, guest, GeishasRoad())
    while (course := host.course(game)).state.round < 2 or course.actor != 0:
        play(host, guest, game, 1)
    load_anew(tab)
    since, hand = part(tab, "since"), part(tab, "hand")
    expect(since.locator("summary")).to_contain_text("round 1: ")
    with tab.expect_navigation():  # the page shows the opponent's move by itself
        play(host, guest, game, 1)
    expect(since.locator("summary")).to_contain_text("round 1: ")
    expect(since.locator(".board")).to_be_hidden()
    expect(hand).to_be_in_viewport(ratio=1)
    since.locator("summary").click()
    expect(since.locator(".board")).to_be_visible()
    load_anew(tab)
    expect(since.locator("summary")).to_have_text("Since your last move")
    follows = "(since, hand) => Boolean(hand.compareDocumentPosition(since) & Node.DOCUMENT_POSITION_FOLLOWING)"
    assert since.evaluate(follows, hand.element_handle())


def test_evidence_has_own_cards_only_if_asked(
    service: Service, host: Player, guest: Player, tab: Page, tmp_path: Path
) -> None:
    game = seated(tab, host, guest, Hanamikoji())
    keys = {"server": service.ask("GET", "/v1/service").json["key"]}
    for name in filter(None, host.course(game).setup.names):
        keys[name] = service.ask("GET", f"/v1/players/{name}").json["key"]
    tab.locator("[data-role=more] > summary").click()
    for cards in (False, True):
        if cards:
            part(tab, "cards").locator("input").check()
        with tab.expect_download() as download:
            do(tab, "evidence").click()
        download.value.save_as(tmp_path / "evidence")
        text = (tmp_path / "evidence").read_text()
        assert ('{"view":' in text) == cards
        assert not audit_file(text, {name: parse_public_key(key) for name, key in keys.items()}).findings


@pytest.mark.parametrize(("number", "follows"), [(2, 3), (3, None)])
def test_a_rematch_is_the_next_game_of_a_series_until_that_is_over(
    host: Player, guest: Player, tab: Page, number: int, follows: int | None
) -> None:
    series = Series(3, secrets.token_hex(16), number)
    game = seated(tab, host, guest, Hanamikoji(), DAYS._replace(series=series))
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201
    load_anew(tab)
    with tab.expect_navigation(url="**/g/*"):
        do(tab, "rematch").click()
    expect(part(tab, "turn")).to_have_text(f"The game waits for {host.name} to join.")
    expect(tab.locator(".who strong").first).to_have_text(f"{host.name} (asked)")
    (waiting,) = host.service.ask("GET", "/v1/me/games?waiting=true", token=host.token).json["games"]
    assert waiting["agreement"]["rematch"] == game
    assert waiting["agreement"]["series"] == (follows and series._replace(number=follows).to_json())
    score = ", ".join(sorted([f"{guest.name} 1", f"{host.name} 0"]))
    expect(tab.locator("#says")).to_contain_text("" if follows else f"The series is over: {score}.")
    press_cancel = do(tab, "cancel")
    with tab.expect_navigation():
        press_cancel.click()
    assert host.service.ask("GET", "/v1/me/games?waiting=true", token=host.token).json["games"] == []
    asked = host.new(invite=entry_kinds.Invite(guest.name), agreement=DAYS._replace(rematch=game))
    tab.goto(f"{host.origin()}/g/{game}?side=guest")
    expect(do(tab, "rematch")).to_have_text(f"Rematch: {host.name} has asked")
    tab.goto(host.origin())
    expect(tab.locator(f"#own-games a[href='/g/{asked}']")).to_contain_text(f"Rematch: {host.name} has asked")


def test_nothing_private_is_left_when_the_page_is_left(host: Player, guest: Player, tab: Page, faults: Faults) -> None:
    game = seated(tab, host, guest, Hanamikoji())
    view = tab.url
    assert host.say(game, "our secret").status == 201
    load_anew(tab)
    hand = part(tab, "hand").locator("> *").count()
    assert hand in (6, 7)
    expect(tab.locator(".who:has(.you:visible)")).to_contain_text(guest.name)
    expect(tab.locator("#talk li")).to_have_count(1)
    faults.expect("422|400|ERR_FAILED")
    tab.fill("#talk textarea", "€" * 400)
    tab.click("#talk button")
    expect(tab.locator("#talk .wrong")).to_contain_text("1200 bytes")  # beside what it is about
    tab.route("**/v1/games/**", lambda route: route.abort())
    tab.evaluate("() => { document.dispatchEvent(new Event('visibilitychange')); }")  # it looks for news
    expect(tab.locator("#says.wrong")).to_have_text(re.compile("."))  # not beside a form, which this is not about
    expect(tab.locator("#talk .wrong")).to_contain_text("1200 bytes")
    tab.unroute("**/v1/games/**")
    left = "() => document.querySelectorAll('[data-role=hand], #talk li, .down > *').length"
    assert tab.evaluate("() => { dispatchEvent(new PageTransitionEvent('pagehide')); }") is None
    assert tab.evaluate(left) == 0
    tab.goto("about:blank")
    tab.go_back(wait_until="commit")
    assert tab.url == view
    expect(part(tab, "hand").locator("> *")).to_have_count(hand)
    html = host.service.ask("GET", f"/g/{game}").body.decode()
    assert "our secret" not in html
    assert json.dumps(game)[1:-1] in html


def test_a_move_that_was_refused_is_chosen_again_and_not_signed_twice(
    host: Player, guest: Player, tab: Page, faults: Faults
) -> None:
    faults.expect("409")
    game = seated(tab, host, guest, Hanamikoji(first="guest"))
    sent: list[str] = []

    def refuse(route: Route) -> None:
        sent.append(route.request.post_data or "")
        route.fulfill(status=409, json={"code": "conflict", "detail": "the game has moved on"})

    tab.route("**/entries", refuse)
    part(tab, "kinds").locator("button").first.click()
    part(tab, "hand").locator("button").nth(2).click()
    button = part(tab, "send").locator("button")
    expect(button).to_be_enabled()
    words = button.inner_text()
    button.click()
    expect(part(tab, "says")).to_contain_text("The game has moved on")
    assert host.head(game)[0] == len(host.lines(game)) - 1
    tab.unroute("**/entries")
    tab.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    load_anew(tab)
    expect(button).to_be_enabled()
    assert button.inner_text() == words
    before = host.head(game)[0]
    button.click()
    expect(part(tab, "turn")).to_contain_text("is to move")
    assert host.head(game)[0] > before
    entries = {text for text in sent if '"entry":' in text}
    assert len(entries) == 1  # the same bytes again


def test_equal_cards_are_all_offered_and_own_closed_cards_name_their_action(
    host: Player, guest: Player, tab: Page
) -> None:
    twins: list[str] = []
    while not twins:  # nearly every hand has two equal cards
        game = seated(tab, host, guest, Hanamikoji(first="host"))
        legal = host.course(game).state.legal_actions()
        twins = [each for each in legal if each[0] == "3" and len(set(each)) < 4]
    assert host.send(host.make_move(host.course(game), twins[0])).status == 201
    load_anew(tab)
    choices, send = part(tab, "choices").locator("button"), part(tab, "send").locator("button")
    expect(choices).to_have_count(3)
    choices.last.click()
    assert part(tab, "choices").locator("[aria-pressed=true]").count() == 1
    expect(send).to_be_enabled()
    with tab.expect_navigation():
        send.click()
    part(tab, "kinds").locator("[data-kind='2']").click()
    for _ in range(2):
        part(tab, "hand").locator("button:enabled[aria-pressed=false]").first.click()
    expect(send).to_be_enabled()
    with tab.expect_navigation():
        send.click()
    closed = tab.locator(".who.near .down").get_by_role("group", name="trade-off")
    expect(closed.get_by_role("img")).to_have_count(2)


def test_nothing_moves_when_the_players_part_comes(host: Player, guest: Player, tab: Page) -> None:
    tab.set_viewport_size({"width": 360, "height": 640})
    seated(tab, host, guest, Hanamikoji(first="guest"))
    load_anew(tab)
    part(tab, "send").wait_for()
    assert tab.evaluate(SHIFTS) < 0.03


def test_a_button_is_dead_for_a_moment_after_each_change(host: Player, guest: Player, tab: Page) -> None:
    game = seated(tab, host, guest, Hanamikoji(first="guest"))
    before = host.head(game)
    tab.evaluate(
        """() => {
        const part = role => document.querySelector(`[data-role=${role}]`);
        part('kinds').querySelector('button').click();
        part('hand').querySelector('button').click();
        part('send').querySelector('button').click();
    }"""
    )
    assert part(tab, "notation").inner_text() != ""
    expect(part(tab, "send").locator("button")).to_be_enabled()  # some time later
    assert host.head(game) == before


def test_an_open_game_is_joined_on_its_page(service: Service, host: Player, guest: Player, tab: Page) -> None:
    game = host.new()
    tab.goto(f"{service.url}/g/{game}")
    expect(do(tab, "join")).to_be_visible()
    expect(do(tab, "decline")).to_be_hidden()
    do(tab, "join").click()
    expect(part(tab, "turn")).to_contain_text("You have a seat")
    assert host.course(game).setup.names == (host.name, guest.name)


def test_a_guest_sees_the_agreement_of_the_log_before_joining(
    service: Service, host: Player, guest: Player, tab: Page
) -> None:
    """The service says other terms in its page than those that the host has signed."""
    lies: list[str] = []
    game = host.new(agreement=Agreement(parse_time_control("1h")))

    def lie(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("1 hour", "14 days")
        lies.append(text := text.replace('<dd id="invite-clock">', '<dd id="invite-clock">14 days in reserve.'))
        route.fulfill(response=answer, body=text)

    tab.route(f"**/g/{game}", lie)
    tab.goto(f"{service.url}/g/{game}")
    expect(part(tab, "asked").locator("#invite-clock")).to_have_text("1 hour for each turn.")
    expect(part(tab, "asked")).to_contain_text(f"{host.name} invites you to Hanamikoji")
    assert [lie.count("14 days") for lie in lies] == [2]
    expect(tab.locator("main")).not_to_contain_text("14 days")
    do(tab, "join").click()
    expect(part(tab, "turn")).to_contain_text("You have a seat")
    assert host.course(game).setup.names == (host.name, guest.name)


def test_an_invitation_by_name_is_declined(service: Service, host: Player, guest: Player, tab: Page) -> None:
    game = host.new(invite=entry_kinds.Invite(guest.name, None))
    tab.goto(f"{service.url}/g/{game}")
    with tab.expect_navigation():
        do(tab, "decline").click()
    expect(part(tab, "asked")).to_have_count(0)
    assert host.course(game).finished


def test_strangers_see_the_board_and_nothing_to_do(service: Service, host: Player, guest: Player, tab: Page) -> None:
    game = host.new(invite=entry_kinds.Invite("somebody-else", None))
    tab.goto(f"{service.url}/g/{game}")
    tab.wait_for_load_state("networkidle")
    expect(part(tab, "mine")).to_have_count(0)
    expect(part(tab, "more")).to_have_count(0)


def test_a_waiting_page_asks_for_signed_heads(tmp_path: Path, visitor: Callable[..., Page], faults: Faults) -> None:
    """Each five minutes while the page is visible, and once when the time of the opponent is over."""
    faults.expect(r"401 .*/(view|talk)\?")  # the login ends while time passes, and is renewed
    service_clock, page, heads = ServedClock(tmp_path / "clock", pace=DAY), visitor(), list[str]()
    settings = {"outage_after": str(30 * DAY)}
    with serving(tmp_path / "data", forked=True, prepare=service_clock.prepare, settings=settings) as service:
        host = Player(service, "alice").register()
        page.clock.install()
        game = seated(page, host, bring_guest(page, service), Hanamikoji(first="host"))
        load_anew(page)
        page.clock.fast_forward(2000)  # once when it is opened
        page.wait_for_timeout(1000)

        def hear(route: Route) -> None:
            answer = route.fetch()
            if answer.ok:  # the login has ended meanwhile, and is renewed
                heads.append(json.loads(answer.json()["signed_head"]["text"])["at"])
            route.fulfill(response=answer)

        def looks(seconds: int, *, hidden: bool = False) -> int:
            """How often the page has looked when so much time has passed by its own clock."""
            page.evaluate("on => Object.defineProperty(document, 'hidden', { value: on, configurable: true })", hidden)
            page.clock.fast_forward(1000 * seconds)
            page.wait_for_timeout(1000)
            return len(heads)

        page.route("**/view?*", hear)
        assert looks(260) == 0
        assert looks(50) == 1
        assert looks(310, hidden=True) == 1
        deadline = datetime.fromisoformat(str(clock(host, game)["deadline"]))
        end = deadline + timedelta(seconds=121)
        service_clock.pass_by((end - service_clock()).total_seconds() - 200)
        assert looks(310) == 2
        service_clock.pass_by(200)
        assert looks(210) == 3
        assert datetime.fromisoformat(heads[1]) < deadline
        assert datetime.fromisoformat(heads[2]) >= end - timedelta(seconds=1)
        page.goto("about:blank")
