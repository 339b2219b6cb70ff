"""A friend opens a link in a browser, makes a key and joins; and all that can be wrong with a link is said."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, Route, expect

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY
from hkoji.log.link_key import link_key
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from tests.support.adversary import HostileService, chosen_cards
from tests.support.guests import DAYS, bring_guest
from tests.support.lying_server import LyingServer, lying_server
from tests.support.page_player import RefusedByPageError, page_player
from tests.support.service import HKOJI, Player, Service, serving
from tests.support.time_by_hand import ServedClock
from tests.support.times import now
from tests.support.visits import Faults, empty
from tests.web.test_join import invite

pytestmark = pytest.mark.usefixtures("asked_about_names")


class Heard:
    """The requests of a page."""

    def __init__(self, page: Page) -> None:
        self.all: list[Request] = []
        page.context.on("request", self._hear)

    def _hear(self, request: Request) -> None:
        self.all.append(request)

    @property
    def posts(self) -> list[str]:
        return [each.url for each in self.all if each.method != "GET"]

    @property
    def paths(self) -> list[str]:
        return [urlsplit(each.url).path for each in self.all]

    def says(self, code: str) -> bool:
        """Whether any request has the code of a link, in its address, headers or body."""
        return any(code in f"{each.url}{each.headers}{each.post_data}" for each in self.all)


def said(page: Page, text: str) -> None:
    expect(page.locator("#invite-says")).to_contain_text(text)


def make_key(page: Page, name: str) -> None:
    page.fill("#invite-name input[name=name]", name)
    page.click("#invite-name button")
    page.locator("#save-file").wait_for()


def test_a_friend_joins_by_a_link_and_by_the_next_with_the_same_key(
    service: Service, host: Player, phone: Page, tmp_path: Path
) -> None:
    link, name = invite(host, GeishasRoad(first="random")), f"bob-{secrets.token_hex(3)}"
    heard = Heard(phone)
    phone.goto(link)
    expect(phone.locator("#invite-who")).to_have_text(f"{host.name} invites you to Geisha's Road")
    expect(phone.locator("#invite-clock")).to_have_text(
        "3 days for each turn. A reserve of 14 days for the whole game."
    )
    expect(phone.locator("#invite-options")).to_contain_text("Chance decides who begins.")
    phone.click("#invite-more summary")
    expect(phone.locator("#invite-slowest")).to_have_text("At the slowest, a round takes 82 days.")
    expect(phone.locator("section.about h2")).to_have_text("Geisha's Road")
    expect(phone.locator(".fan")).to_have_count(0)  # its seven cards are those of the other game
    assert heard.posts == []  # nothing is used up by looking
    make_key(phone, name)
    assert heard.posts == []
    with phone.expect_download() as download:
        phone.click("#save-file")
    assert download.value.suggested_filename == f"{name}.key"
    download.value.save_as(tmp_path / "key")
    assert phone.url == link  # the code stays in the address until there is a receipt
    phone.click("#invite-go")
    game = link.split("/i/")[1][:32]
    phone.wait_for_url(f"**/g/{game}*")
    assert [line.entry.kind for line in host.lines(game)] == ["offer", "open", "join", "seed"]
    key = PrivateKey.from_openssh((tmp_path / "key").read_bytes())
    assert host.lines(game)[2].entry.body["key"] == key.public.text
    assert service.ask("GET", f"/v1/players/{name}").json["key"] == key.public.text
    assert not heard.says(link[-32:])
    phone.goto(link, wait_until="commit")  # the way back is the same link
    phone.wait_for_url(f"**/g/{game}*")

    second = invite(host)
    phone.goto(second.replace("#", "?fbclid=x#"))  # as a program adds it that has passed the link on
    expect(phone.locator("#invite-go")).to_have_text(f"Join as {name}")
    assert not phone.locator("#invite-name").is_visible()
    assert not phone.locator("#save-file").is_visible()  # asked once, before the first game
    phone.click("#invite-go")
    phone.wait_for_url("**/g/*")
    assert host.lines(second.split("/i/")[1][:32])[2].entry.by == name


def test_a_taken_name_is_asked_for_again_and_a_proved_copy_leaves_none_in_the_browser(
    host: Player, phone: Page
) -> None:
    """Then somebody else uses the link while the friend looks at it."""
    link = invite(host)
    phone.goto(link)
    heard = Heard(phone)
    phone.fill("#invite-name input[name=name]", host.name)
    phone.click("#invite-name button")
    expect(phone.locator("#invite-says.wrong")).to_contain_text("This name is taken.")
    assert heard.posts == []
    make_key(phone, f"bob-{secrets.token_hex(3)}")
    phone.click("button[data-do=save-have]")
    said(phone, "Good.")
    expect(phone.locator(".wrong")).to_have_count(0)
    assert not phone.locator("#save-file").is_visible()  # the seed is gone, and with it all ways to copy it
    game, code = link.split("/i/")[1].split("#")
    Player(host.service, f"other-{secrets.token_hex(3)}").register().join(game, link_key(code))
    phone.click("#invite-go")
    said(phone, "This link has been used.")
    assert phone.url == link


def cancelled(host: Player) -> str:
    link = invite(host)
    game = link.split("/i/")[1][:32]
    assert host.send(host.entry(game, host.head(game), entry_kinds.Cancel())).status == 201
    return link


def used(host: Player) -> str:
    link = invite(host)
    game, code = link.split("/i/")[1].split("#")
    Player(host.service, f"other-{secrets.token_hex(3)}").register().join(game, link_key(code))
    return link


def mistyped(host: Player) -> str:
    return invite(host)[:-32] + "0" * 32


def without_code(host: Player) -> str:
    return invite(host).partition("#")[0]


BAD: dict[str, tuple[Callable[[Player], str], str]] = {
    "used": (used, "This link has been used. Was it you?"),
    "cancelled": (cancelled, "The host has taken this invitation back."),
    "mistyped": (mistyped, "This link does not fit the game."),
    "without code": (without_code, "The address has no code"),
}


def test_a_link_that_cannot_be_used(host: Player, phone: Page) -> None:
    heard = Heard(phone)
    for name, (make, text) in BAD.items():
        link = make(host)
        before = host.lines(link.split("/i/")[1][:32])
        phone.goto(link)
        said(phone, text)
        assert not phone.locator("#invite-name").is_visible(), name
        assert not phone.locator("#invite-go").is_visible(), name
        assert heard.posts == [], name
        assert host.lines(link.split("/i/")[1][:32]) == before, name


@contextmanager
def lied_to(page: Page, service: Service) -> Iterator[LyingServer]:
    """The pages are those of the service, and the answers to them those of another one at the same address."""
    with lying_server(HostileService()) as lying:
        behind, lying.url = lying.url, service.url

        def answer(route: Route) -> None:
            route.fulfill(response=route.fetch(url=route.request.url.replace(service.url, behind)))

        page.context.route("**/v1/**", answer)
        yield lying
        page.context.unroute("**/v1/**", answer)
        page.goto("about:blank")


def test_a_dealer_that_lets_the_service_choose_the_cards_and_another_service_at_a_known_address(
    service: Service, host: Player, phone: Page
) -> None:
    with lied_to(phone, service) as lying, chosen_cards():
        link = invite(Player(lying, "alice").register())
        phone.goto(link)
        said(phone, "so the service alone could choose the cards. Nothing was signed.")
        assert not phone.locator("#invite-name").is_visible()
        assert [method for method, _ in lying.asked[-3:]] == ["GET"] * 3
        assert len(lying.service.games[link.split("/i/")[1][:32]].lines) == 2
    empty(phone)
    phone.goto(invite(host))
    make_key(phone, f"bob-{secrets.token_hex(3)}")
    with lied_to(phone, service) as lying:
        link = invite(Player(lying, "alice").register())
        before = len(lying.asked)
        phone.goto(link)
        said(phone, f"Its key is now {lying.service.key.public.fingerprint}. Nothing was signed.")
        assert not phone.locator("#invite-go").is_visible()
        assert {method for method, _ in lying.asked[before:]} == {"GET"}


def test_a_link_that_has_expired(tmp_path: Path) -> None:
    """At first the client knows it from the time alone, later from the entry with which the service ends the game."""
    clock, settings = ServedClock(tmp_path / "clock"), {"outage_after": str(30 * DAY)}
    with (
        serving(tmp_path / "data", forked=True, prepare=clock.prepare, settings=settings) as service,
        page_player(service.url, tmp_path / "page") as page,
    ):
        host = Player(service, "alice").register()
        link = invite(host, agreement=DAYS._replace(expires=now(14 * DAY)))
        game = link.split("/i/")[1][:32]
        page.arrive("bob")
        shown = page.do("link", text=link)
        assert shown["closed"] is None
        clock.pass_by(14 * DAY + 2)
        page.posts()
        with pytest.raises(RefusedByPageError, match="link-expired"):
            page.game(game, "join", {"seen": shown["head"]})
        assert [line.entry.kind for line in host.lines(game)] == ["offer", "open"]
        assert page.posts() == []
        clock.pass_by(DAY)
        late = Player(service, "carol").register()
        refused = late.send_join(game, late.sign_by_link(link_key(link[-32:]), game, 1)).json["code"]
        while len(host.lines(game)) == 2:  # the service ends it
            time.sleep(0.2)
        assert refused in ("time-over", "game-over")  # before or after that
        assert [line.entry.kind for line in host.lines(game)] == ["offer", "open", "lapse", "end"]
        assert page.do("link", text=link)["closed"] == "expired"


@pytest.mark.long
def test_a_link_that_expires_while_its_page_is_open(host: Player, phone: Page) -> None:
    page = phone
    link, heard = invite(host, agreement=DAYS._replace(expires=now(DAY))), Heard(page)
    page.goto(link)
    make_key(page, f"bob-{secrets.token_hex(3)}")
    page.click("#save-ways summary")
    page.click("#save-password button")
    page.evaluate("seconds => { const { now } = Date; Date.now = () => now() + 1000 * seconds }", DAY + 60)
    page.click("#invite-go")
    said(page, "This invitation has expired.")
    assert heard.posts == []  # no name was taken either


@pytest.mark.parametrize("registration", ["code", "closed"])
@pytest.mark.long
def test_a_service_that_asks_new_players_for_a_code(
    tmp_path: Path, phone: Page, faults: Faults, registration: str
) -> None:
    data, page = tmp_path / "data", phone
    faults.expect("403")
    with serving(data, forked=True) as first:
        host, port = Player(first, "alice").register(), first.port
        link = invite(host)
    with serving(data, forked=True, port=port, settings={"registration": registration}):
        page.goto(link)
        if registration == "closed":
            said(page, "This service takes no new players.")
            assert not page.locator("#invite-name").is_visible()
            page.click("#invite-bring a")
            expect(page.locator("#me-make")).to_contain_text("Nobody can register here now.")
            page.goto(host.origin(), wait_until="networkidle")
            expect(page.locator("#new-key")).to_have_text("Bring your key")
            assert "hkoji register" not in page.content()
            assert not page.locator("#home").is_visible()  # nothing was begun that could be finished
            page.goto("about:blank")
            return
        page.fill("#invite-name input[name=name]", "bob")
        page.click("#invite-name button")
        said(page, "This service asks new players for a code")
        words = [str(HKOJI), "admin", "invite", "--data", str(data)]
        code = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]
        page.fill("#invite-name input[name=code]", "wrong")
        make_key(page, "bob")
        page.click("#save-ways summary")
        page.click("#save-password button")
        page.click("#invite-go")
        said(page, "the code is not one of this service's")
        expect(page.locator("#invite-name input[name=name]")).to_have_value("bob")
        page.reload()
        page.fill("#invite-name input[name=code]", code)
        make_key(page, "bob")
        page.click("[data-do=save-have]")
        page.click("#invite-go")
        page.wait_for_url("**/g/*")
        page.goto("about:blank")  # it asks this service no more


_ANDROID: Final = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9{}) AppleWebKit/537.36 (KHTML, like Gecko) {}Chrome/140.0.0.0 "
)
_IPHONE: Final = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
INSIDE: Final = (
    _ANDROID.format("; wv", "Version/4.0 ") + "Mobile Safari/537.36",
    _ANDROID.format("", "") + "Mobile Safari/537.36 Telegram-Android/11.9.0",
    _IPHONE + "Safari Line/15.12.0",
    _IPHONE + "Mobile/15E148",
)
"""The names of browsers inside other programs: any and a certain one of Android, a certain one and any of an iPhone."""
BROWSERS: Final = (
    _ANDROID.format("", "") + "Mobile Safari/537.36",
    _IPHONE + "CriOS/140.0.0.0 Mobile/15E148 Safari/604.1",
)


AGAIN: Final = """async () => {
  const { body } = document, { lang, static: base } = body.dataset;
  const words = await (await fetch(`${base}words.${lang}.json`)).json();
  await (await import(`${base}pages/invite.js`)).run({ base, body, lang, words });
}"""
"""Does once more in a page of an invitation what it did first."""


@pytest.mark.long
def test_a_browser_inside_another_program_is_told_to_leave_it(host: Player, phone: Page) -> None:
    """A key there may be lost, so the link is copied whole, with its code, into another browser."""
    link, hint = invite(host), phone.locator("#invite-elsewhere")
    phone.context.grant_permissions(["clipboard-read", "clipboard-write"])
    names = phone.context.new_cdp_session(phone)
    phone.goto(link)
    phone.locator("#invite-name").wait_for()  # the player may stay
    assert not hint.is_visible()
    for agent in (*BROWSERS, *INSIDE):
        names.send("Emulation.setUserAgentOverride", {"userAgent": agent})
        assert phone.evaluate("navigator.userAgent") == agent
        phone.evaluate(AGAIN)
        assert phone.locator("#invite-name").is_visible()
        assert hint.is_visible() == (agent in INSIDE), agent
    phone.goto("about:blank")
    phone.goto(link)
    hint.locator("button").tap()
    said(phone, "Copied.")
    assert phone.evaluate("() => navigator.clipboard.readText()") == link
    names.detach()


@pytest.mark.long
def test_a_newer_database_is_opened_as_it_is(service: Service, host: Player, phone: Page) -> None:
    """A later version of the page, in another tab or before, has added a store."""
    guest, link = bring_guest(phone, service), invite(host)
    stores = phone.evaluate(UPGRADE)
    assert {"later", "meta", "outbox"} <= {*stores}
    phone.goto(link)
    expect(phone.locator("#invite-go")).to_have_text(f"Join as {guest.name}")
    phone.click("#invite-go")
    phone.wait_for_url("**/g/*")
    assert [line.entry.kind for line in host.lines(link.split("/i/")[1][:32])] == ["offer", "open", "join", "seed"]
    assert phone.evaluate(UPGRADE) == stores


UPGRADE: Final = """async () => {
  const [{ name }] = await indexedDB.databases();
  const asked = indexedDB.open(name, 2);
  asked.onupgradeneeded = () => asked.result.createObjectStore('later');
  const database = await new Promise((done, fail) => {
    asked.onsuccess = () => done(asked.result);
    asked.onerror = asked.onblocked = fail;
  });
  database.close();
  return [...database.objectStoreNames];
}"""


@pytest.mark.long
def test_the_page_speaks_italian(host: Player, phone: Page) -> None:
    page, agent = phone, phone.evaluate("navigator.userAgent")
    language = page.context.new_cdp_session(page)
    language.send("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": "it-IT"})
    page.goto(invite(host))
    expect(page.locator("#invite-who")).to_have_text(f"{host.name} ti invita a Hanamikoji")
    expect(page.locator("#invite-clock")).to_have_text(
        "3 giorni per ogni turno. Una riserva di 14 giorni per tutta la partita."
    )
    page.click("[hreflang=en]")  # the link carries the code
    expect(page.locator("#invite-who")).to_have_text(f"{host.name} invites you to Hanamikoji")
    language.detach()
