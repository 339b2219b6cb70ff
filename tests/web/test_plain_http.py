"""An address without https that is not this machine: the page of a link shows, offers no seat, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.support.service import Player, Service, serving
from tests.support.visits import Faults
from tests.web.test_invite import Heard
from tests.web.test_join import invite


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Service]:
    """A service that calls itself by a name that is not this machine's."""
    with serving(tmp_path / "data", forked=True, options=("--origin", "http://far.example")) as started:
        yield started


@pytest.fixture
def page(far: Service, phone: Page, faults: Faults) -> Page:
    """A page in a browser that finds this name here."""
    faults.expect("Cross-Origin-Opener-Policy")  # a browser heeds it on safe addresses only, and says so
    faults.expect("/events")  # nobody waits for news here

    def answer(route: Route) -> None:
        with suppress(Error):  # the page is just being left
            if "/events" in route.request.url:
                route.abort()
            else:
                route.fulfill(response=route.fetch(url=route.request.url.replace("http://far.example", far.url)))

    phone.route("http://far.example/**", answer)
    return phone


def test_nobody_can_play_without_https(far: Service, page: Page) -> None:
    host = Player(far, "alice").register()
    link, heard = invite(host), Heard(page)
    assert link.startswith("http://far.example/i/")
    page.goto(link)
    says = page.locator("#invite-says")
    expect(says).to_contain_text("This address is not safe for playing")
    expect(says).to_contain_text(f"hkoji join '{link}'")
    assert page.url == link  # with its code, to be copied whole
    for place in ("#invite-name", "#me-save", "#invite-join"):
        assert not page.locator(place).is_visible()
    assert heard.posts == []
    assert not heard.says(link[-32:])
    assert page.evaluate("() => sessionStorage.length") == 0
    game = link.split("/i/")[1][:32]
    page.goto(f"http://far.example/g/{game}")  # anybody can watch
    expect(page.locator("main")).to_contain_text("The game waits for whoever has its link to join.")


def test_only_a_browser_that_does_not_know_such_keys_is_too_old(service: Service, onlooker: Page) -> None:
    onlooker.goto(f"{service.url}/rules/hanamikoji")
    fails = """async name => {
        const { obstacle } = await import(`${document.body.dataset.static}shared.js`);
        crypto.subtle.generateKey = () => Promise.reject(new DOMException('', name));
        return obstacle();
    }"""
    assert onlooker.evaluate(fails, "NotSupportedError") == "needs-ed25519"
    assert onlooker.evaluate(fails, "OperationError") is None
