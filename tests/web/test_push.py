"""Notices in a browser, in Chromium: a stand-in for the browser's push service, and the service worker for real.

A real subscription needs a push service on the internet. Here the page gets one whose address leads to this test, which
opens the pushes and gives them to Chromium's service worker.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, Worker, expect

from hkoji.game import entry_kinds
from tests.support.conditions import until
from tests.support.push_service import Browser as ToldBrowser
from tests.support.push_service import proof_of
from tests.support.receiver import Receiver, answers, receiver
from tests.support.service import Answer, Player, Service, serving
from tests.support.visits import PHONE, Faults, close, context, leave
from tests.web.test_without_scripts import open_page

PUSHES = """if (location.protocol !== 'about:') {
localStorage.number ??= '0';
const made = () => localStorage.made ? JSON.parse(localStorage.made) : null;
const subscription = ({ key, endpoint }) => ({
    endpoint, toJSON: () => ({ endpoint, expirationTime: null, keys: KEYS }),
    unsubscribe: async () => { delete localStorage.made; return true; },
});
PushManager.prototype.getSubscription = async () => made() && subscription(made());
PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || made()) throw new DOMException('there is one', 'InvalidStateError');
    const endpoint = 'ENDPOINT' + ++localStorage.number;
    localStorage.made = JSON.stringify({ key: applicationServerKey, endpoint });
    return subscription(made());
};
if (localStorage.denied) Object.defineProperty(Notification, 'permission', { value: 'denied' });
if (localStorage.standalone) matchMedia = query => ({ matches: query === '(display-mode: standalone)' });
if (localStorage.impossible) delete globalThis.PushManager;
}"""
SHOW = """
async ([name, lang]) => {
    const base = document.body.dataset.static;
    const { visit } = await import(base + 'pages/here.js'), push = await import(base + 'pages/push.js');
    const words = await (await fetch(`${base}words.${lang}.json`)).json();
    const here = visit({ body: document.body, base, lang, words }), { session } = here;
    await session.meet();
    if (!session.me) {
        await session.keepKey(crypto.getRandomValues(new Uint8Array(32)), name);
        await session.register();
    }
    const place = Object.assign(document.createElement('section'), { id: 'place' });
    document.getElementById('main').prepend(place, Object.assign(document.createElement('p'), { id: 'says' }));
    Object.assign(globalThis, { session, push, tend: () => push.tend(session, lang) });
    await push.show(here, place);
}
"""
CHANNELS = """
async () => (await session.json('GET', '/v1/me/channels', undefined, { login: true })).channels
"""
NUMBERS = itertools.count(10)
SHOWN = """
async () => (await (await navigator.serviceWorker.ready).getNotifications())
    .map(({ title, body, tag, lang, data }) => ({ title, body, tag, lang, data }))
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may push to this machine."""
    settings = {"webhook_private": "true", "limit_player": "off"}
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True, settings=settings) as started:
        yield started


class PushedPage:
    """The page of a player who can be told, with the push service of the browser."""

    name: str
    _seen: int

    def __init__(self, page: Page, service: Service, hook: Receiver) -> None:
        self.page, self.hook = page, hook
        self.browser = ToldBrowser(hook, "/push/")
        self.url = service.url
        keys, endpoint = json.dumps(self.browser.keys), self.browser.endpoint
        page.add_init_script(PUSHES.replace("KEYS", keys).replace("ENDPOINT", endpoint))
        page.context.grant_permissions(["notifications"], origin=service.url)
        self._registration: dict[str, str] = {}
        self._devtools: CDPSession = page.context.new_cdp_session(page)
        self._devtools.on("ServiceWorker.workerRegistrationUpdated", self._note)
        self._devtools.send("ServiceWorker.enable")

    def _note(self, told: dict[str, Any]) -> None:  # Any: JSON
        for each in told["registrations"]:
            if not each["isDeleted"]:
                self._registration[each["scopeURL"]] = each["registrationId"]

    def begin_anew(self) -> None:
        """Forgets all that the browser keeps, also its service worker; then it is another player's."""
        leave(self.page)
        self._devtools.send("Storage.clearDataForOrigin", {"origin": self.url, "storageTypes": "all"})
        self._registration.clear()
        self._seen, self.hook.behave, self.name = 0, answers(201), f"p{next(NUMBERS)}"
        self.hook.posts.clear()

    def look(self, lang: str = "en") -> None:
        """Opens a page without a script of its own, and shows how notices stand."""
        self.page.goto(f"{self.url}/rules/hanamikoji")
        self.page.evaluate(SHOW, [self.name, lang])

    @property
    def said(self) -> list[str]:
        """The lines of the place, and the text of its button."""
        return self.page.locator("#place > *").all_inner_texts()

    def press(self) -> None:
        self.page.locator("#place button").click()

    def pass_on(self) -> Any:  # Any: JSON
        """Gives the next push to the service worker, as the browser does. Returns its text."""
        self.hook.wait_for(self._seen + 1, 20)
        received = self.hook.posts[self._seen]
        self._seen += 1
        assert proof_of(received).key == self.page.evaluate("session.service.push")
        text = self.browser.open(received.body)
        self.deliver(text.decode())
        return json.loads(text)

    def deliver(self, text: str) -> None:
        """Gives a text to the service worker as a push."""
        end = time.monotonic() + 20
        while f"{self.url}/" not in self._registration and time.monotonic() < end:
            self.page.wait_for_timeout(50)
        given = {"origin": self.url, "registrationId": self._registration[f"{self.url}/"], "data": text}
        self._devtools.send("ServiceWorker.deliverPushMessage", given)

    def wait_for(self, text: str) -> None:
        self.page.get_by_text(text).wait_for()

    def shown(self, count: int = 1) -> list[dict[str, Any]]:  # Any: JSON
        """The notifications, as soon as there are so many."""
        end = time.monotonic() + 20
        found: list[dict[str, Any]] = []
        while len(found) < count and time.monotonic() < end:
            found = self.page.evaluate(SHOWN)
            self.page.wait_for_timeout(50)
        return found

    @property
    def worker(self) -> Worker:
        """The service worker that runs now."""
        return self.page.context.service_workers[-1]

    @property
    def channels(self) -> list[dict[str, Any]]:  # Any: JSON
        found: list[dict[str, Any]] = self.page.evaluate(CHANNELS)
        return found

    @property
    def subscribed(self) -> str | None:
        found: str | None = self.page.evaluate("localStorage.made ?? null")
        return found and str(json.loads(found)["endpoint"])

    def begin(self) -> None:
        """Has the player told in this browser."""
        self.look()
        self.press()
        self.confirm()

    def confirm(self) -> None:
        """Passes the first push of a channel on, which confirms it."""
        assert self.pass_on()["event"] == "confirm"
        self.wait_for("Stop notices here")


@pytest.fixture(scope="module")
def pushed_page(service: Service, whole_chromium: Browser) -> Iterator[PushedPage]:
    opened = context(whole_chromium, PHONE)
    with receiver() as hook:
        yield PushedPage(opened.new_page(), service, hook)
        close(opened)


@pytest.fixture
def told(pushed_page: PushedPage, faults: Faults) -> PushedPage:
    """The page of a player of its own; all tests of this file share the browser and its push service."""
    faults.watch(pushed_page.page)
    pushed_page.begin_anew()
    return pushed_page


def test_a_press_makes_a_channel_that_the_first_push_confirms(told: PushedPage) -> None:
    told.look()
    assert told.said == [
        "This browser can tell you when it is your turn, also while no page is open.",
        "Notify me here",
    ]
    assert told.subscribed is None  # never by itself
    told.press()
    told.confirm()
    (channel,) = told.channels
    assert (channel["kind"], channel["off"], channel["confirmed"] is None) == ("push", None, False)
    assert told.subscribed == told.browser.endpoint + "1"
    (shown,) = told.shown()
    assert shown["title"] == "Notices arrive in this browser"
    told.look()
    assert told.said[1] == "Stop notices here"
    told.press()
    told.wait_for("Notify me here")
    assert (told.channels, told.subscribed) == ([], None)


STRANGE: tuple[str | dict[str, Any], ...] = (  # Any: JSON
    *("", "{", "null", "7", '"turn"', "[]"),
    *({"event": event} for event in ("something new", "__proto__", "toString", None, {"toString": 1})),
    *({"lang": lang} for lang in ("__proto__", "constructor", "tlh", "no language!", 7)),
    {"event": "other", "game": "../../evil", "deadline": "soon", "opponent": "x" * 3000},
)


PUSH = """
async texts => {
    const shown = [], { registration } = self, show = registration.showNotification.bind(registration);
    registration.showNotification = async (title, options) => {
        await show(title, options);
        shown.push([title, options.body]);
    };
    for (const data of texts) {
        const event = new PushEvent('push', { data }), done = [];
        event.waitUntil = work => done.push(work);
        onpush(event);
        await Promise.all(done);
    }
    delete registration.showNotification;
    return shown;
}
"""
"""Gives texts to the service worker one after another: a notification that is closed may end a newer one of its tag."""


def test_the_service_worker_words_each_push_even_if_it_cannot_be_read(told: PushedPage) -> None:
    """A browser takes the permission of a page that shows nothing."""
    told.begin()
    game = "27" * 16
    said = {"event": "turn", "game": game, "opponent": "bob", "deadline": "2026-11-25T10:30:00Z", "lang": "en", "v": 1}
    told.deliver(json.dumps(said))
    found = [each for each in told.shown(2) if each["data"] == game]
    assert [(each["title"], each["lang"]) for each in found] == [("It is your turn", "en")]
    assert found[0]["body"].startswith("Against bob\nUntil ")
    assert "10:30" in found[0]["body"]  # the browser of this test is in UTC
    told.deliver(json.dumps({**said, "event": "remind2", "lang": "it"}))
    until(lambda: any(each["title"] == "Il tuo tempo sta per finire" for each in told.shown()))
    found = [each for each in told.shown() if each["data"] == game]
    assert [each["title"] for each in found] == ["Il tuo tempo sta per finire"]  # in place of the earlier one
    told.deliver(json.dumps({**said, "event": "release"}))
    until(lambda: any(each["title"].startswith("Your program owes a card") for each in told.shown()))
    found = [each for each in told.shown() if each["data"] == game]
    assert [each["body"].splitlines()[0] for each in found] == ["Against bob"]  # in place of the earlier one, too
    texts = [strange if isinstance(strange, str) else json.dumps(strange) for strange in STRANGE]
    told.deliver(texts[1])
    until(lambda: "There is news of your games" in [each["title"] for each in told.shown()])
    assert told.worker.evaluate(PUSH, texts) == [["There is news of your games", ""]] * len(texts)


VISIT = """
async game => {
    const visited = [];
    Object.defineProperty(clients, 'openWindow', { value: async path => visited.push(path), configurable: true });
    WindowClient.prototype.focus = async function () { visited.push('focus ' + new URL(this.url).pathname); };
    await visit(game);
    return visited;
}
"""


def test_a_press_on_a_notification_opens_the_game_and_no_other_address(told: PushedPage, faults: Faults) -> None:
    faults.expect("404")  # there is no such game
    told.begin()
    worker = told.worker
    assert worker.evaluate(VISIT, "0f" * 16) == [f"/g/{'0f' * 16}"]
    for strange in ("", None, "0F" * 16, "0f" * 17, f"{'0f' * 16}\n", "../me", "//evil.example", {"x": 1}):
        assert worker.evaluate(VISIT, strange) == ["/"]
    told.page.goto(f"{told.url}/g/{'0f' * 16}")
    assert worker.evaluate(VISIT, "0f" * 16) == [f"focus /g/{'0f' * 16}"]


@pytest.mark.long
def test_a_subscription_that_has_changed_is_replaced_at_the_next_visit_and_one_that_was_removed_ends(
    told: PushedPage, faults: Faults
) -> None:
    told.begin()
    (before,) = told.channels
    told.page.evaluate("localStorage.made = JSON.stringify({ key: 'x', endpoint: 'https://elsewhere.example/' })")
    told.look()
    done = told.page.evaluate_handle("({ done: tend() })")
    told.pass_on()
    told.page.evaluate("({ done }) => done", done)
    (after,) = told.channels
    assert (after["id"] != before["id"], after["confirmed"] is None) == (True, False)
    assert told.subscribed == told.browser.endpoint + "2"
    told.page.evaluate("tend()")  # nothing has changed
    assert [each["id"] for each in told.channels] == [after["id"]]
    assert len(told.hook.posts) == 2
    faults.expect("404")
    told.page.evaluate(
        "async id => session.json('DELETE', `/v1/me/channels/${id}`, undefined, { login: true })", after["id"]
    )
    told.look()
    assert told.said[1] == "Notify me here"
    assert told.subscribed is None


@pytest.mark.long
def test_a_push_service_that_refuses_leaves_no_channel_and_later_turns_it_off(
    told: PushedPage, service: Service, faults: Faults
) -> None:
    faults.expect("422")
    told.hook.behave = answers(403)
    told.look()
    told.press()
    told.wait_for("403")
    assert told.said[1] == "Notify me here"
    assert told.channels == []
    told.hook.behave = answers(201)
    told.hook.posts.clear()
    told.press()
    told.confirm()
    told.hook.behave = answers(401)
    Player(service, f"{told.name}-host").register().new(invite=entry_kinds.Invite(told.name))
    assert told.pass_on()["event"] == "invited"
    until(lambda: told.channels[0]["off"] is not None)
    told.look()
    assert told.said == ["Notices do not arrive in this browser any more.", "Try again"]
    told.hook.behave = answers(201)
    told.press()
    told.confirm()
    assert [each["off"] for each in told.channels] == [None]


def test_the_script_is_at_the_root_and_keeps_nothing(service: Service) -> None:
    answer: Answer = service.ask("GET", "/sw.js")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.headers["content-type"].startswith("text/javascript")
    text = answer.body.decode()
    for word in ("'fetch'", '"fetch"', "caches", "indexedDB", "importScripts"):
        assert word not in text


@pytest.mark.long
def test_the_page_on_the_home_screen_begins_with_bringing_the_key(told: PushedPage) -> None:
    """On an iPhone it has a storage of its own, so it is there without a key."""
    told.page.goto(f"{told.url}/rules/hanamikoji")
    told.page.evaluate("localStorage.standalone = 'yes'")
    told.page.goto(f"{told.url}/")
    told.page.wait_for_url("**/me")
    told.page.locator("#me-bring").wait_for()


def test_the_manifest_has_icons_that_are_there(service: Service) -> None:
    found = re.search(r'<link rel="manifest" href="([^"]+)"', open_page(service, "/").body.decode())
    assert found is not None
    manifest = service.ask("GET", found[1])
    assert manifest.headers["content-type"].startswith("application/manifest+json")
    assert (manifest.json["start_url"], manifest.json["display"]) == ("/", "standalone")
    for icon in manifest.json["icons"]:
        answer = service.ask("GET", found[1].rpartition("/")[0] + "/" + icon["src"])
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        width, height = (int.from_bytes(answer.body[at : at + 4]) for at in (16, 20))
        assert f"{width}x{height}" == icon["sizes"]


@pytest.mark.long
def test_a_browser_that_cannot_be_told_says_so(told: PushedPage) -> None:
    """By the will of its user, or such as Safari on an iPhone, where the page is not on the home screen."""
    told.look()
    told.page.evaluate("localStorage.denied = 'yes'")
    told.look()
    assert [line[:30] for line in told.said] == ["This browser shows no notices "]
    told.page.evaluate("localStorage.impossible = 'yes'")
    told.look()
    assert [line[:31] for line in told.said] == ["This browser cannot tell you of"]
    told.page.goto(f"{told.url}/me")
    expect(told.page.locator("#push")).to_contain_text("put this page on the home screen")
    expect(told.page.locator("#says")).to_be_empty()


def test_the_button_is_on_the_page_of_the_own_key_and_a_log_out_ends_it(told: PushedPage) -> None:
    told.look()
    told.page.evaluate("session.proveCopy()")
    told.page.goto(f"{told.url}/me")
    button = told.page.locator("#push button")
    assert button.inner_text() == "Notify me here"
    button.click()
    told.hook.wait_for(1, 20)
    told.deliver(told.browser.open(told.hook.posts[0].body).decode())
    told.page.locator("#push").get_by_text("Stop notices here").wait_for()
    told.page.locator("summary", has_text="Log out").click()
    with told.page.expect_response(lambda answer: answer.request.method == "DELETE") as removed:
        told.page.locator("[data-do=log-out]").click()
    assert (removed.value.status, removed.value.url.rpartition("/")[0]) == (204, f"{told.url}/v1/me/channels")
    until(lambda: told.subscribed is None)
