"""Firefox and WebKitGTK: a friend joins by a link there, and plays a whole game against the command."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.forked import ForkedProcess
from tests.support.homes import Homes
from tests.support.service import Player, Service
from tests.support.webdriver import Window, window

HANAMIKOJI = Hanamikoji(max_rounds=1)
MINE = "[data-role=mine] "
CHOSEN = "return document.querySelector('[data-role=notation]').textContent"
LAST = "return document.body.dataset.last"


@pytest.fixture(scope="module", params=["firefox", "webkit"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with window(request.param, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def join(browser: Window, link: str, name: str) -> PrivateKey:
    """Opens a link, makes a key, saves its file, and joins. Returns the key that is in the file."""
    browser.goto(link)
    browser.write(browser.wait("#invite-name input[name=name]"), name)
    browser.press(browser.wait("#invite-name .go"))
    browser.press(browser.wait("#save-file"))
    file = browser.until(lambda: next(browser.folder.rglob(f"{name}.key"), None), "a file with the key")
    browser.press(browser.wait("#invite-go"))
    browser.until(lambda: browser.run("return location.pathname.startsWith('/g/')"), "a seat in the game")
    return PrivateKey.from_openssh(file.read_bytes())


def its_turn(browser: Window) -> str:
    """Waits until the page asks for a move, or the game is over."""

    def state() -> str:
        if browser.run("return document.body.dataset.status") == "finished":
            return "over"
        return "turn" if browser.shown(f"{MINE}[data-role=send]") else ""

    return str(browser.until(state, "a turn, or the end"))


def move(browser: Window, chance: random.Random) -> str:
    """Composes a move by its buttons, and sends it. Returns it as the page writes it."""

    def press_any(selector: str) -> bool:
        found = browser.shown(MINE + selector)
        if found:
            browser.press(chance.choice(found))
        return bool(found)

    if not press_any("[data-role=choices] button"):
        press_any("[data-role=kinds] button[aria-pressed=false]")
        while not browser.run(CHOSEN) and not press_any("[data-role=variants] button"):
            assert press_any("[data-role=hand] button[aria-pressed=false]")
    chosen, last = browser.run(CHOSEN), browser.run(LAST)
    browser.press(browser.wait(f"{MINE}[data-role=send] button"))
    browser.until(
        lambda: browser.run("return document.body.dataset.last") not in (None, last), "a receipt for the move"
    )
    return str(chosen)


def test_a_friend_joins_by_a_link_and_plays_to_the_end(service: Service, browser: Window, tmp_path: Path) -> None:
    alice, bob = f"alice-{secrets.token_hex(3)}", f"bob-{secrets.token_hex(3)}"
    homes, chance = Homes(tmp_path, service).registered(alice), random.Random(5)
    opened = homes(alice, "new", "--link", "--max-rounds", "1", "--json").json
    game = opened["game"]
    key = join(browser, opened["link"], bob)
    environment = {**os.environ, "HKOJI_HOME": str(tmp_path / alice), "HKOJI_CONFIG": os.devnull}
    host = ForkedProcess(["bot", "run", game, "--bot", "greedy"], env=environment, stdout=tmp_path / "said")
    moves = []
    while its_turn(browser) == "turn":
        moves.append(move(browser, chance))
    assert host.wait(60) == Exit.OK
    assert {each[0] for each in moves} >= {"1", "2", "3", "4", "-"}  # each action, and answers
    lines = Player(service, bob).lines(game)
    assert lines[-1].entry.kind == "end"
    public = [each if not HANAMIKOJI.hidden(each) else HANAMIKOJI.public(each) for each in moves]
    assert [line.entry.body["action"] for line in lines if (line.entry.by, line.entry.kind) == (bob, "move")] == public
    (tmp_path / "log").write_text(format_log(lines))
    held = homes(alice, "audit", str(tmp_path / "log"), "--key", f"{bob}={key.public.text}")
    assert held.code == Exit.OK, held
