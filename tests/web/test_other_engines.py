"""Firefox and WebKitGTK: a friend joins by a link there, and plays."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.service import Player
from tests.support.webdriver import Window
from tests.web.test_join import invite

HANAMIKOJI = Hanamikoji(max_rounds=1)
MINE = "[data-role=mine] "
CHOSEN = "return document.querySelector('[data-role=notation]').textContent"
LAST = "return document.body.dataset.last"


@pytest.fixture(params=["firefox", "webkit"])
def browser(request: pytest.FixtureRequest) -> Iterator[Window]:
    window: Window = request.getfixturevalue(request.param)
    yield window
    window.goto("about:blank")  # else it asks for news until other tests need it


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


def verify(host: Player, game: str, name: str, key: PrivateKey, moves: list[str]) -> None:
    """A game has ended, the player of this key has made these moves in it, and the audit holds it."""
    lines = host.lines(game)
    assert lines[-1].entry.kind == "end"
    made = [line.entry.body["action"] for line in lines if (line.entry.by, line.entry.kind) == (name, "move")]
    assert made == [HANAMIKOJI.public(each) for each in moves]
    assert audit(format_log(lines), {name: key.public}).ok


def test_a_friend_joins_by_a_link_and_plays(host: Player, browser: Window) -> None:
    name, chance = f"bob-{secrets.token_hex(3)}", random.Random(5)
    link = invite(host, HANAMIKOJI)
    game = link.partition("/i/")[2].partition("#")[0]
    key = join(browser, link, name)
    host.seed(game)
    course = host.course(game)
    offer = next(each for each in course.state.legal_actions() if each[0] == "3")
    assert host.send(host.make_move(course, offer)).status == 201
    moves = [move(browser, chance) for _ in range(2) if its_turn(browser) == "turn"]
    assert [each[0] in signs for each, signs in zip(moves, ("-", "1234"), strict=True)] == [True, True]
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201
    verify(host, game, name, key, moves)
