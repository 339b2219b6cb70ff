"""Pages are light: what a reader loads at the first visit, and that a service without readers loads no templates."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from hkoji_server.web.static_files import static_files
from playwright.sync_api import Page, expect

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from tests.support.service import Answer, Player, Service, begin, play, serving, two_players
from tests.support.visits import Faults, leave
from tests.support.wire import wire
from tests.web.test_invite import make_key
from tests.web.test_join import invite
from tests.web.test_without_scripts import BROWSER, open_page

REQUESTS: Final = 6
BYTES: Final = 20_000
PLAYERS_REQUESTS: Final = 24
PLAYERS_BYTES: Final = 75_000
"""A player's first visit, with all that the page asks of the API until its screen is complete."""
QUIET: Final = 3_000
"""Milliseconds after which a player's page has asked for all that it shows."""
_LOADED: Final = re.compile(r'(?:src|<use[^>]* href|<link rel="(?!apple)[^>]*href)="(/[^"#]+)')
"""Only phones that put a page on the home screen load the icon of Apple's."""
_IMPORTED: Final = re.compile(r"^import[^']*'(\./[^']+)'", re.MULTILINE)


def compressed(service: Service, path: str) -> Answer:
    return open_page(service, path, {**BROWSER, "Accept-Encoding": "gzip"})


def first_visit(service: Service, path: str) -> dict[str, int]:
    """The bytes of each answer that a spectator's browser gets for a page with an empty cache."""
    page = compressed(service, path)
    plain = open_page(service, path).body.decode()
    loaded = {path: len(page.body)}
    for address in sorted(set(_LOADED.findall(plain))):
        answer = compressed(service, address)
        assert answer.status == 200, address
        assert "immutable" in answer.headers["cache-control"]
        loaded[address] = len(answer.body)
        if address.endswith(".js"):
            script = static_files().files[address.removeprefix(static_files().base)].body.decode()
            for name in _IMPORTED.findall(script):
                other = address.rpartition("/")[0] + name.removeprefix(".")
                loaded[other] = len(compressed(service, other).body)
    return loaded


def test_the_first_visit_of_a_spectator(service: Service) -> None:
    players = two_players(service)
    for ruleset in (None, GeishasRoad()):
        game = begin(*players, ruleset)
        play(*players, game)
        for path in (f"/g/{game}", f"/g/{game}?eyes=all", "/", f"/i/{game}", "/p/alice", "/rules/geishas-road"):
            loaded = first_visit(service, path)
            assert len(loaded) <= REQUESTS, loaded
            assert sum(loaded.values()) <= BYTES, loaded


def test_the_first_visit_of_a_player(tmp_path: Path, phone: Page, faults: Faults) -> None:
    """A guest joins by a link; then the same browser opens the game with an empty cache, and logs in anew."""
    faults.expect("404 .*/v1/players/")
    with wire() as between, serving(tmp_path / "data", forked=True, settings={"origin": between.url}) as service:
        between.port = service.port
        host, page = Player(service, "alice").register(), phone  # an origin of its own, and so a storage
        link = invite(host)
        game = link.split("/i/")[1][:32]
        page.goto(link)
        make_key(page, "bob")
        page.click("#save-ways summary")
        page.click("#save-password button")
        page.click("#invite-go")
        page.wait_for_url(f"**/g/{game}*")
        page.wait_for_timeout(QUIET)
        joined = between.loads()
        host.seed(game)
        page.goto("about:blank")
        page.context.new_cdp_session(page).send("Network.clearBrowserCache")
        again = page.context.new_page()
        faults.watch(again)
        again.goto(f"{between.url}/g/{game}")
        expect(again.locator("#play [data-role=hand] > *").first).to_be_visible()
        again.wait_for_timeout(QUIET)
        loads = [*joined, *between.loads()[len(joined) :]]
        leave(again)
        again.close()
    assert [load.paths[0].partition("/")[2][:1] for load in loads] == ["i", "g", "g", "g"]
    for load in loads:
        assert len(load.paths) <= PLAYERS_REQUESTS, load
        assert load.size <= PLAYERS_BYTES, load


def test_files_are_kept_for_ever_and_another_hash_is_not(service: Service) -> None:
    base = static_files().base
    for name, file in static_files().files.items():
        answer = open_page(service, f"{base}{name}", {})
        assert (answer.status, answer.body) == (200, file.body), name
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].startswith(file.media_type.partition(";")[0])
    for path in (f"/static/{'0' * 16}/start.js", f"{base}none.js", f"{base}../pages.py", f"{base}%2e%2e/pages.py"):
        answer = open_page(service, path, {})
        assert (answer.status, answer.headers["cache-control"]) == (404, "no-store"), path


def test_a_service_without_readers_loads_no_templates() -> None:
    code = "import sys, hkoji_server.app; print('jinja2' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout == "False\n"
