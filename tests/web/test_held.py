"""A host who plays by mail, and a guest in a page: it is said for whom the service signs, and they play to the end.

The service and its mail process are real; the host answers letters. A page that is told of a held key by another
service signs nothing.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hkoji_server.store.sqlite.store import SqliteStore
from playwright.sync_api import Page, expect

from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.game.held_keys import certify
from hkoji.log import sshsig
from hkoji.log.line import Line, format_log, parse_log
from hkoji.log.link_key import link_key
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from tests.lab.mail.mail_world import UNHURRIED, MailWorld
from tests.support import loops
from tests.support.adversary import follow
from tests.support.guests import part
from tests.support.mail.in_process import MemoryPostOffice
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.reading import ACCEPT, command_address, offered
from tests.support.metrics import free_port
from tests.support.page_player import PagePlayer, page_player
from tests.support.service import Player, Service
from tests.web.test_invite import Heard, said

pytestmark = pytest.mark.usefixtures("asked_about_names")

HELD = PrivateKey.from_seed(b"\x08" * 32)
_QUIET = 60.0
"""After so many seconds in which nothing happens, a game is stuck."""


class Post:
    """A service that plays by mail, and the players' provider."""

    def __init__(self, folder: Path) -> None:
        door = ("127.0.0.1", free_port())
        self.office = MemoryPostOffice(lambda: door)
        self.world = MailWorld(folder, door, ("127.0.0.1", self.office.port), UNHURRIED, wait=0)
        self.world.start_mail()

    def close(self) -> None:
        self.world.stop()
        self.office.close()

    @property
    def service(self) -> Service:
        return self.world.service

    def hkoji(self, who: str, *words: str) -> Any:  # Any: JSON
        """Runs a command with `--json` for a player with a home, and returns what it has printed."""
        return json.loads(self.world.hkoji(*words, "--json", home=who))

    def log(self, game: str) -> tuple[Line, ...]:
        return parse_log(self.service.ask("GET", f"/v1/games/{game}/log").body)

    def turn(self, game: str) -> str | None:
        """The player who owes the next entry; None at the end."""
        name: str | None = self.service.ask("GET", f"/v1/games/{game}").json["to_move"]
        return name

    def holds(self, game: str, folder: Path) -> None:
        """Both audits hold the log."""
        file, key = folder / "log", folder / "server.pub"
        file.write_text(format_log(self.log(game)))
        key.write_text(f"{self.service.ask('GET', '/v1/service').json['key']}\n")
        code, text = self.world.audited(file, f"server={key}")
        assert code == 0, text


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    post = Post(tmp_path_factory.mktemp("post"))
    yield post
    post.close()


@pytest.fixture(scope="module")
def service(post: Post) -> Service:
    """The one that plays by mail."""
    return post.service


class MailHost(NamedTuple):
    """A host who has only a mailbox, and the letter that says how to begin a game."""

    player: MailboxPlayer
    welcome: Letter

    def offer(self, post: Post, name: str) -> str:
        """Invites a player, and returns the game."""
        order = f"new hanamikoji {name} {name}@players.example 3d/14d"
        self.player.write(command_address(self.welcome), "a game", order)
        return str(until(lambda: post.service.ask("GET", f"/v1/games?player={name}").json["games"])[0]["game"])


@pytest.fixture(scope="module")
def mail_host(post: Post) -> MailHost:
    player = MailboxPlayer(post.office.open("host"))
    post.world.hkoji("admin", "mail", "add", player.name, player.mailbox.address, "--data", post.world.data)
    player.answer(player.next_letter(), ACCEPT["en"])
    return MailHost(player, player.next_letter())


def until(found: Callable[[], Any]) -> Any:  # Any: what `found` returns
    """Waits for a value that is true."""
    end = time.monotonic() + _QUIET
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value


def reply(post: Post, game: str, host: MailboxPlayer, chance: random.Random) -> None:
    """The host answers letters until it is the guest's turn, or the end."""
    end = time.monotonic() + _QUIET
    while post.turn(game) == host.name:
        assert time.monotonic() < end, post.world.log[-3000:]
        if asking := [each for each in letters(host.mailbox)[host.known :] if offered(each)]:
            host.known = len(letters(host.mailbox))
            host.answer(asking[-1], chance.choice(offered(asking[-1])))
            end = time.monotonic() + _QUIET
        time.sleep(0.05)


def play(post: Post, game: str, host: MailboxPlayer, page: PagePlayer, moves: int = 1000) -> int:
    """Plays to the end, or so many moves of the page; the host by mail. Returns how many the page has made."""
    chance = random.Random(5)
    for made in range(moves):
        reply(post, game, host, chance)
        page.game(game, "refresh")
        if post.turn(game) is None:
            return made
        page.game(game, "move", chance.choice(page.game(game, "view")["legal"]))
    return moves


def test_a_host_by_mail_plays_a_whole_game_with_a_page(post: Post, mail_host: MailHost, tmp_path: Path) -> None:
    with page_player(post.service.url, tmp_path / "page") as page:
        page.arrive("bob")
        game = mail_host.offer(post, "bob")
        page.game(game, "refresh")
        assert ["held-player", {"name": "host", "entry": 2}] in page.do("remarks")
        page.game(game, "join", {"seen": page.do("state", game=game)["last"]["head"]})
        assert play(post, game, mail_host.player, page) >= 4
        assert page.do("state", game=game)["status"] == "over"
    by_host = [line.entry for line in post.log(game) if line.entry.by == "host"]
    assert all("mail" in entry.body for entry in by_host if entry.kind == "move")
    assert post.log(game)[-1].entry.kind == "end"
    post.holds(game, tmp_path)


@pytest.mark.long
def test_a_page_says_that_the_host_plays_by_mail(post: Post, mail_host: MailHost, guest: Player, tab: Page) -> None:
    game, heard = mail_host.offer(post, guest.name), Heard(tab)
    tab.goto(f"{post.service.url}/g/{game}")
    expect(part(tab, "says")).to_contain_text("host plays by mail, and the service signs for host.")
    expect(part(tab, "asked").get_by_role("button", name="Join")).to_be_visible()
    assert [each for each in heard.posts if "/login" not in each] == []
    assert [line.entry.kind for line in post.log(game)] == ["offer", "open"]


def test_a_host_who_lets_the_service_sign_too_is_reported(post: Post, tmp_path: Path) -> None:
    alice = MailboxPlayer(post.office.open("alice"))
    post.world.hkoji("init", "alice", home="alice")
    post.world.hkoji("register", "--server", post.service.url, home="alice")
    post.hkoji("alice", "mail", "on", alice.mailbox.address)
    alice.answer(alice.next_letter(), "yes")
    until(lambda: post.hkoji("alice", "mail", "show")["confirmed"])
    opened = post.hkoji("alice", "new", "--link", "--clock", "3d/14d")
    with page_player(post.service.url, tmp_path / "page") as page:
        game = page.arrive("carol").join(opened["link"])
        shown = post.hkoji("alice", "show", game)  # her program begins the game
        assert [line.entry.kind for line in post.log(game)][2:6] == ["join", "seed", "delegate", "seed"]
        page.game(game, "refresh")
        assert ["held-since", {"name": "alice", "entry": 5}] in page.do("remarks")
        post.hkoji("alice", "move", game, shown["legal"][0])  # no letter about this turn was sent after the `delegate`
        assert play(post, game, alice, page, moves=2) == 2
        assert any("mail" in line.entry.body for line in post.log(game) if line.entry.by == "alice")
        page.game(game, "resign")
    until(lambda: post.turn(game) is None)
    assert "resign" in [line.entry.kind for line in post.log(game)]
    post.holds(game, tmp_path)


def held_link(service: Service, page: Page, origin: str) -> tuple[str, str]:
    """The link of a game whose host has only a key that the service at `origin` holds, and the host.

    No letter makes such a link, so the page gets the log of a service that does.
    """
    store = SqliteStore(service.data / "hkoji.sqlite3")
    try:
        identity = loops.run(store.identity())
        assert identity is not None
        key = PrivateKey.from_openssh(identity[0].encode())
    finally:
        store.close()
    host, code = Player(service, f"carol-{secrets.token_hex(3)}"), secrets.token_hex(16)
    game, link = host.register().offer(), link_key(code)
    host.key = HELD
    invite = entry_kinds.LinkInvite(link.public, host.sign_by_link(link, game, 0))
    (offer,) = host.lines(game)
    assert offer.receipt is not None
    at = offer.receipt.receipt.at
    gateway = certify(key, address="ab" * 32, at=at, key=HELD.public, name=host.name, origin=origin)
    claim = MailClaim("ab" * 32, MailGrade.TOKEN)
    body = entry_kinds.Open(entropy_commit(game, 0, host.entropy), HELD.public, invite, gateway, claim)
    line = follow(key, offer, body, host.name, HELD, at=at)
    log = format_log([offer, line._replace(sig=HELD.sign(sshsig.GATEWAY, line.entry.message))])
    page.route(f"**/v1/games/{game}/log*", lambda route: route.fulfill(body=log, content_type="application/jsonl"))
    return f"{service.url}/i/{game}#{code}", host.name


def test_a_link_of_a_host_by_mail_says_so_before_the_join(service: Service, guest: Player, tab: Page) -> None:
    link, name = held_link(service, tab, guest.origin())
    tab.goto(link)
    expect(tab.locator("#invite-held")).to_have_text(f"{name} plays by mail, and the service signs for {name}.")
    expect(tab.locator("#invite-go")).to_be_visible()


@pytest.mark.long
def test_a_key_that_another_service_holds_is_refused(service: Service, tab: Page) -> None:
    link, name = held_link(service, tab, "https://other.example")
    heard = Heard(tab)
    tab.goto(link)
    said(tab, "https://other.example")
    said(tab, name)
    for each in ("#invite-name", "#invite-go"):
        expect(tab.locator(each)).to_be_hidden()
    assert heard.posts == []
