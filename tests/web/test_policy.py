"""Pages keep other people's texts and scripts out: by their policy, and because all values stay text."""

from __future__ import annotations

import re
import secrets

import pytest
from hkoji_server.web.rendering import Reader, rendered
from hkoji_server.web.static_files import POLICY
from playwright.sync_api import Page, Route, expect

from hkoji.log import sshsig
from hkoji.log.statement import make_registration
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import part
from tests.support.service import AT, Player, Service, begin
from tests.support.strict_html import StrictPage
from tests.support.visits import Faults
from tests.web.test_check import LOG, choose
from tests.web.test_without_scripts import BROWSER, open_page

pytestmark = pytest.mark.usefixtures("asked_about_names")

DESIGNED = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types hkoji; manifest-src 'self'"
)
MARKUP = "<img src=x onerror=globalThis.hit=1>"
EVIL = f"{MARKUP} \u202etxt.exe\u2066 & \u200b end"
NO_SUCH = "0" * 32


def is_untouched(page: Page) -> bool:
    """Whether a page has made no element and run no script of somebody's text."""
    return bool(page.evaluate("!('hit' in globalThis) && !document.querySelector('img[src=x], b.evil')"))


# --- the policy -------------------------------------------------------------------------------------------------------


def test_nothing_sets_a_cookie_and_all_have_the_policy(service: Service, host: Player) -> None:
    assert POLICY == DESIGNED
    paths = ("/", f"/g/{host.new()}", f"/i/{NO_SUCH}", f"/p/{host.name}", "/rules/hanamikoji", "/check", "/me")
    for path in paths:
        answer = open_page(service, path)
        assert answer.status == 200, path
        assert "set-cookie" not in answer.headers
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-cache"
        assert "Accept-Language" in answer.headers["vary"]
        assert set(re.findall(r'(?:src|href)="([^"/?#][^"]*)', answer.body.decode())) == set(), path


ELSEWHERE = "http://127.0.0.1:9/"
HARM = {
    "document.body.innerHTML = '<img src=x onerror=globalThis.hit=1>'": "require-trusted-types-for",
    "document.body.setAttribute('onclick', 'globalThis.hit = 1')": "require-trusted-types-for",
    "add('script', { text: 'globalThis.hit = 1' })": "require-trusted-types-for",
    f"add('script', {{ src: '{ELSEWHERE}' }})": "require-trusted-types-for",
    "eval('globalThis.hit = 1')": "require-trusted-types-for",
    "new Worker('/v1/games')": "require-trusted-types-for",
    "trustedTypes.createPolicy('other', {})": "trusted-types",
    "trustedTypes.createPolicy('hkoji', { createHTML: text => text })": "trusted-types",
    "add('a', { href: 'javascript:globalThis.hit=1' }).click()": "script-src-elem",
    "document.body.setAttribute('style', 'color: red')": "style-src-attr",
    "add('style', { textContent: 'body { color: red }' })": "style-src-elem",
    f"add('link', {{ rel: 'stylesheet', href: '{ELSEWHERE}' }})": "style-src-elem",
    f"add('img', {{ src: '{ELSEWHERE}' }})": "img-src",
    f"fetch('{ELSEWHERE}')": "connect-src",
    f"new WebSocket('{ELSEWHERE}')": "connect-src",
    f"add('form', {{ action: '{ELSEWHERE}', method: 'post' }}).submit()": "form-action",
    f"add('iframe', {{ src: '{ELSEWHERE}' }})": "frame-src",
    f"document.head.prepend(make('base', {{ href: '{ELSEWHERE}' }}))": "base-uri",
}
COUNT = """globalThis.violations = [];
addEventListener('securitypolicyviolation', event => violations.push(event.effectiveDirective))"""
TRY = """directive => new Promise(done => {
    const make = (name, values) => Object.assign(document.createElement(name), values);
    const add = (name, values) => document.body.appendChild(make(name, values));
    addEventListener('securitypolicyviolation', event => {
        if (event.effectiveDirective === directive) done(true);
    });
    setTimeout(done, 3000, false);
    setTimeout(() => { HARM }); // later, since the browser lets the driver itself do more
})"""


def test_the_policy_stops_what_has_got_into_a_page(service: Service, onlooker: Page, faults: Faults) -> None:
    """One page has all of it tried, each with a violation of its own."""
    faults.expect(".")
    onlooker.goto(f"{service.url}/check")
    expect(onlooker.locator("#file")).to_be_enabled()
    onlooker.evaluate(COUNT)
    for harm, directive in HARM.items():
        assert onlooker.evaluate(TRY.replace("HARM", harm), directive), harm
        assert is_untouched(onlooker), harm
        assert onlooker.url == f"{service.url}/check", harm
    assert sorted(onlooker.evaluate("violations")) == sorted(HARM.values())


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/g/x", 404),
        (f"/g/{NO_SUCH}", 404),
        ("/i/%3Cscript%3E", 404),
        ("/p/nobody", 404),
        ("/p/%3Cimg%20src=x%3E", 404),
        ("/rules/chess", 404),
        ("/g/%22%3E%3Cscript%3Ealert(1)%3C/script%3E", 404),
    ],
)
def test_an_error_is_a_page_for_a_browser_and_a_problem_for_a_program(service: Service, path: str, status: int) -> None:
    shown = open_page(service, path, {**BROWSER, "Accept-Language": "it"})
    assert (shown.status, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["content-security-policy"] == POLICY
    page = StrictPage(shown.body.decode())
    assert [name for name, _, _ in page.attributes].count("script") == 2, "the script of the page, and no other"
    assert "img" not in page.values("src")
    assert page.values("lang")[0] == "it"
    told = open_page(service, path, {"Accept": "application/json"})
    assert (told.status, told.headers["content-type"]) == (status, "application/problem+json")


def test_markup_in_values_stays_text() -> None:
    nasty = "<script>alert(1)</script>\"'&amp;"
    page = StrictPage(
        rendered("error.html", Reader("en"), page="error", text=nasty, hint=nasty, links=[(nasty, nasty)])
    )
    assert nasty in page.texts
    assert nasty in page.values("href")


def test_a_service_takes_no_markup_in_a_name_or_a_move(service: Service, host: Player) -> None:
    stranger = Player(service, "somebody")
    text = make_registration(at=AT, key=stranger.key.public, name=stranger.name, origin=host.origin()).text
    evil = text.replace("somebody", MARKUP)
    refused = stranger.ask("/v1/players", {"text": evil, "sig": stranger.signed(evil, sshsig.REGISTER)})
    assert (refused.status, service.ask("GET", "/v1/players/somebody").status) == (400, 404)
    game = begin(host, Player(service, f"guest-{secrets.token_hex(3)}").register())
    before = host.lines(game)
    text = host.make_move(host.course(game), "1A").entry.text
    evil = text.replace('"1', f'"{MARKUP}')
    refused = host.ask(f"/v1/games/{game}/entries", {"entry": evil, "sig": host.signed(evil, sshsig.ENTRY)})
    assert (refused.status, refused.json["code"]) == (400, "malformed")
    assert host.lines(game) == before


def test_messages_names_and_errors_of_others_stay_text(host: Player, guest: Player, tab: Page, faults: Faults) -> None:
    """Errors and lists come from a service that lies."""
    faults.expect("422")
    game = begin(host, guest, Hanamikoji(first="guest"))
    assert host.say(game, EVIL).status == 201
    tab.goto(f"{host.origin()}/g/{game}?side=guest")
    said = tab.locator("#talk li [data-role=text]")
    expect(said).to_have_text("<img src=x onerror=globalThis.hit=1> [U+202E]txt.exe[U+2066] & [U+200B] end")
    assert is_untouched(tab)
    tab.locator("#talk textarea").fill("grazie\nè")
    tab.locator("#talk form button").click()
    expect(tab.locator("#talk li")).to_have_count(2)
    kept = host.service.ask("GET", f"/v1/games/{game}/talk", token=host.token).json["messages"]
    assert [each["name"] == host.name for each in kept] == [True, False]
    expect(said.last).to_have_text("grazie\nè", use_inner_text=True)

    tab.route("**/entries", lambda route: route.fulfill(status=422, json={"code": EVIL, "detail": EVIL}))
    part(tab, "kinds").locator("button").first.click()
    part(tab, "hand").locator("button").nth(2).click()
    part(tab, "send").locator("button").click()
    expect(part(tab, "says")).to_contain_text("<img src=x")
    assert is_untouched(tab)
    tab.unroute("**/entries")

    def lie(route: Route) -> None:
        answer = route.fetch()
        games = [{**each, "host": EVIL, "to_move": EVIL} for each in answer.json()["games"]]
        route.fulfill(response=answer, json={**answer.json(), "games": games})

    tab.route("**/v1/me/games*", lie)
    tab.goto(host.origin())
    own = tab.locator("#own-games li", has=tab.locator(f"a[href*='{game}']"))
    expect(own).to_contain_text("<img src=x")
    assert is_untouched(tab)


@pytest.mark.parametrize("word", [b"alice", b"hanamikoji", b"move", b"3EFG"])
def test_markup_in_a_log_stays_text(service: Service, onlooker: Page, word: bytes) -> None:
    assert word in LOG
    onlooker.goto(f"{service.url}/check")
    choose(onlooker, LOG.replace(word, f"{MARKUP}<b class=evil>".encode()))
    expect(onlooker.locator("#result")).to_contain_text("entry")
    assert is_untouched(onlooker)
