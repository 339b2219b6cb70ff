"""A page waits for the opponent while days pass by the clock of the service, in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from playwright.sync_api import Page, Route

from hkoji.game.agreement import DAY
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import bring_guest, load_anew, seated
from tests.support.service import Player, serving
from tests.support.time_by_hand import ServedClock
from tests.support.visits import Faults
from tests.web.test_game_actions import clock


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
