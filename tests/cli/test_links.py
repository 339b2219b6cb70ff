"""`hkoji new --link` and `hkoji join LINK`, at a real service: what two people type who have only a way to talk."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server import admin

from hkoji.cli.output import Exit
from hkoji.log.public_key import parse_public_key
from tests.support import shell_audit
from tests.support.home_shell import HomeShell, arrive, begin, kinds, second_home
from tests.support.service import Service, serving
from tests.support.shell_audit import tools
from tests.trust.relay import relaying

__all__ = ["tools"]

PRINTED = re.compile(r"hkoji join '((http://127\.0\.0\.1:[0-9]+)/i/([0-9a-f]{32})#([0-9a-f]{32}))'\n")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("links") / "data", forked=True) as running:
        yield running


_NUMBER = iter(range(10**6))


@pytest.fixture
def alice(service: Service, tmp_path: Path) -> HomeShell:
    return arrive(service, tmp_path / "a", f"alice{next(_NUMBER)}")


@pytest.fixture
def dora(tmp_path: Path) -> HomeShell:
    """Somebody who has a name, and has registered nowhere."""
    shell = HomeShell(tmp_path / "n")
    shell.run("init", f"dora{next(_NUMBER)}")
    return shell


def standing(shell: HomeShell) -> dict[str, str]:
    """How each key that a player knows is known, by name."""
    return {each["name"]: each["known"] for each in shell.json("keys")}


def test_two_friends_and_a_link(service: Service, alice: HomeShell, dora: HomeShell, tmp_path: Path) -> None:
    host, guest = (shell.json("whoami")["name"] for shell in (alice, dora))
    made = alice.run("new", "--link")
    found = PRINTED.fullmatch(made.stdout)
    assert found is not None
    _, url, game, code = found.groups()
    assert url == service.url
    assert "Send the line above to one friend" in made.stderr
    assert f"without installing anything: {url}/i/{game}#{code}\n" in made.stderr
    assert "The line is safer than the page" in made.stderr
    for query in ("?status=open", "", f"?player={host}", f"?prefix={game[:8]}"):
        assert game not in service.ask("GET", f"/v1/games{query}").body.decode()
    (own,) = alice.json("games")
    assert (own["game"], own["by_link"], own["invite"]) == (game, True, None)

    done = dora.run("join", made.stdout.strip())  # the whole line, as it was printed
    assert "you play at" not in done.stderr
    assert f"You are now registered at {service.url} as {guest}." in done.stderr
    assert f"{host} opened this game; the key of {host} is " in done.stderr
    assert "Game: Hanamikoji. The host starts; no round limit." in done.stderr
    assert dora.json("whoami")["server"] == service.url
    alice.run("show", game)
    assert kinds(dora, game) == ["offer", "open", "join", "seed", "seed"]
    assert standing(alice) == {guest: "link", "server": "seen"}
    assert standing(dora) == {host: "link", "server": "link"}
    assert dora.run("keys").stdout.count("introduced by link") == 2
    assert game in service.ask("GET", "/v1/games?status=playing").body.decode()

    log = tmp_path / "game.jsonl"
    log.write_text(alice.run("log", game).stdout)
    keys = {host: alice.json("key")["key"], guest: dora.json("key")["key"]}
    dora.run("audit", str(log), *(word for name, key in keys.items() for word in ("--key", f"{name}={key}")))
    assert shell_audit.run(log, {name: parse_public_key(key) for name, key in keys.items()}).returncode == 0
    files = [path for path in service.data.rglob("*") if path.is_file()]
    assert files
    for path in (*files, service.log):
        assert code.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--origin", "http://games.example"), "In a browser a friend can only watch"),
        (
            ("--origin", "https://games.example"),
            "Or in a browser, without installing anything: https://games.example/i/",
        ),
        (("--origin", "https://games.example", "--no-web"), ""),
    ],
)
def test_a_host_is_told_whether_a_friend_can_play_in_a_browser(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    with serving(tmp_path / "data", forked=True, options=options) as other:
        host = HomeShell(tmp_path / "host")
        host.run("init", "henry")
        host.run("register", "--server", other.url, "--origin", options[1])
        told = host.run("new", "--link").stderr
        assert (said in told, "browser" in told) == (True, bool(said))


def test_the_code_is_in_no_request(service: Service, dora: HomeShell, tmp_path: Path) -> None:
    """Everything that both clients send goes through a relay, which writes it down. The link has the origin."""
    host = HomeShell(tmp_path / "host")
    host.run("init", f"henry{next(_NUMBER)}")
    with relaying(service.url, tmp_path / "record") as relay:
        host.run("register", "--server", relay.url, "--origin", service.url)
        link = host.json("new", "--link")["link"]
        address, code = link.split("#")
        assert address.startswith(f"{service.url}/i/")
        way = f"{relay.url}{address.removeprefix(service.url)}#{code}"
        assert (
            f"the service at {relay.url} says its address is {service.url}"
            in dora.run("join", way, code=Exit.AUDIT).stderr
        )
        game = json.loads(dora.run("join", way, "--origin", service.url, "--json").stdout)["game"]
        assert host.json("show", game)["status"] == "playing"
        assert "POST /v1/players" in relay.paths
        assert relay.paths.count(f"POST /v1/games/{game}/entries") == 4
        assert code not in relay.record.read_text()


def test_the_link_is_shown_again_until_somebody_has_joined(alice: HomeShell, dora: HomeShell) -> None:
    made = alice.json("new", "--link")
    game, link = made["game"], made["link"]
    assert alice.json("show", game)["link"] == alice.json("show", game, "--offline")["link"] == link
    assert alice.run("show", game).stdout.endswith(f"\nhkoji join '{link}'\n")
    dora.run("join", "-", stdin=f"hkoji join '{link}'\n")
    assert "link" not in alice.json("show", game)
    assert link not in alice.run("show", game).stdout
    assert "link" not in dora.json("show", game)


def test_a_game_without_link_has_none(alice: HomeShell) -> None:
    made = alice.json("new")
    assert made["link"] is None
    assert "link" not in alice.json("show", made["game"])


def test_a_link_introduces_the_service_of_a_game_that_was_seen_before(
    service: Service, alice: HomeShell, tmp_path: Path
) -> None:
    made, bob = alice.json("new", "--link"), arrive(service, tmp_path / "b", f"bob{next(_NUMBER)}")
    bob.run("show", made["game"])
    assert set(standing(bob).values()) == {"seen"}
    bob.run("join", made["link"])
    assert set(standing(bob).values()) == {"link"}
    alice.fails(Exit.MOVE, "join", made["link"])
    assert standing(alice)["server"] == "seen"  # an own link introduces nobody


def test_a_second_home_of_the_host_finds_the_game_and_has_no_link(service: Service, alice: HomeShell) -> None:
    game = alice.json("new", "--link")["game"]
    other = second_home(service, alice)
    shown = other.json("show", game[:8])
    assert shown["game"] == game
    assert "link" not in shown


def test_not_with_an_invitation(alice: HomeShell, dora: HomeShell) -> None:
    name = alice.json("whoami")["name"]
    assert "exclude each other" in alice.fails(Exit.USAGE, "new", "--link", "--invite", f"x{name}")
    assert alice.json("games") == []


# --- joining ----------------------------------------------------------------------------------------------------------


def test_a_link_again_changes_nothing(alice: HomeShell, dora: HomeShell) -> None:
    link = alice.json("new", "--link")["link"]
    first = dora.json("join", link)
    again = dora.run("join", link, "--json")
    assert json.loads(again.stdout)["game"] == first["game"]
    assert "is registered" not in again.stderr
    assert kinds(dora, first["game"]) == ["offer", "open", "join", "seed"]
    other = HomeShell(dora.home.with_name("o"))
    other.run("init", f"olga{next(_NUMBER)}")
    used = other.fails(Exit.CONFLICT, "join", link)
    assert "somebody has already used this link" in used
    assert "ask your friend for a new one" in used
    assert not (other.home / "tokens.json").exists()
    assert other.json("whoami")["server"] is None  # not even registered


def test_an_own_link_and_one_without_the_link(alice: HomeShell, dora: HomeShell, service: Service) -> None:
    made = alice.json("new", "--link")
    assert "you host this game" in alice.fails(Exit.MOVE, "join", made["link"])
    bob = arrive(service, dora.home.with_name("p"), f"bob{next(_NUMBER)}")
    assert "only to whoever has its link" in bob.fails(Exit.MOVE, "join", made["game"])
    wrong = made["link"][:-1] + ("0" if made["link"][-1] != "0" else "1")
    assert "this link does not match the game; it may be mistyped" in bob.fails(Exit.AUDIT, "join", wrong)
    assert "this link does not match the game; it may be mistyped" in dora.fails(Exit.AUDIT, "join", wrong)
    assert kinds(alice, made["game"]) == ["offer", "open"]
    assert not (dora.home / "pins.json").exists()
    alice.run("cancel", made["game"])
    for shell in (dora, bob):
        assert "over" in shell.run("join", made["link"], code=Exit.TURN).stderr
    assert dora.json("whoami")["server"] is None


def test_the_clock_is_compared_before_the_player_registers(alice: HomeShell, dora: HomeShell) -> None:
    link = alice.json("new", "--link", "--clock", "2d")["link"]
    assert "another clock" in dora.run("join", link, "--clock", "3d", code=Exit.MOVE).stderr
    assert dora.json("whoami")["server"] is None
    dora.run("join", link, "--clock", "2d")


def test_a_link_needs_a_player(alice: HomeShell, tmp_path: Path) -> None:
    link = alice.json("new", "--link")["link"]
    nobody = HomeShell(tmp_path / "nobody")
    assert "hkoji init NAME" in nobody.fails(Exit.KEY, "join", link)
    assert not nobody.home.exists() or list(nobody.home.iterdir()) == []


def test_a_guest_with_the_hosts_name_chooses_another(service: Service, alice: HomeShell, tmp_path: Path) -> None:
    link, name = alice.json("new", "--link")["link"], alice.json("whoami")["name"]
    other = HomeShell(tmp_path / "other")
    other.run("init", name)
    told = other.fails(Exit.USAGE, "join", link)
    assert f"the host of the game is called {name}, like you" in told
    assert "hkoji init NAME" in told
    assert not (other.home / "pins.json").exists()
    other.run("init", f"{name}-2")
    other.run("join", link)
    again = second_home(service, alice)
    assert "you host this game" in again.fails(Exit.MOVE, "join", alice.json("new", "--link")["link"])


def test_the_default_service_stays(alice: HomeShell, tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True, settings={"registration": "code"}) as other:
        own = alice.json("whoami")["server"]
        code = admin.invite(other.data, 2, None)["code"]
        host = HomeShell(tmp_path / "h")
        host.run("init", "henry")
        host.run("register", "--server", other.url, "--code", code)
        link = host.json("new", "--link")["link"]
        assert "only with a code" in alice.run("join", link, code=Exit.KEY).stderr
        joined = alice.run("join", link, "--code", "-", "--json", stdin=code)
        game = json.loads(joined.stdout)["game"]
        assert alice.json("whoami")["server"] == own
        assert game not in alice.run("games", "--json").stdout
        assert f"you play at {own}" in joined.stderr  # the clock runs in a game that is in no list
        assert f"hkoji register --server {other.url}" in joined.stderr
        assert alice.json("show", game)["host"] == "henry"
        host.run("show", game)
        assert {each["server"] for each in alice.json("keys")} == {own, other.url}


def test_a_line_as_a_mail_program_makes_it(alice: HomeShell, dora: HomeShell) -> None:
    link = alice.json("new", "--link")["link"]
    dora.run("join", "-", stdin=f"  hkoji  join ‘{link}’\r\n")
    for form in (f"<{link}>", f'"{link}"', f"hkoji join {shlex.quote(link)}"):
        dora.run("join", form)


def test_options_of_a_link_are_not_for_an_id(alice: HomeShell, service: Service, tmp_path: Path) -> None:
    game = alice.json("new")["game"]
    bob = arrive(service, tmp_path / "bob", f"bob{next(_NUMBER)}")
    assert "for the service of a link" in bob.fails(Exit.USAGE, "join", game, "--code", "x")
    assert begin(alice, bob)


def test_the_page_of_a_link(service: Service, alice: HomeShell) -> None:
    """The same bytes for every game: nobody learns whether there is one. It loads nothing from elsewhere."""
    game = alice.json("new", "--link")["game"]
    one, none = (service.ask("GET", f"/i/{each}") for each in (game, "0" * 32))
    assert (one.status, one.body) == (none.status, none.body) == (200, one.body)
    assert set(one.headers) == set(none.headers)
    page = one.body.decode()
    assert one.headers["content-type"] == "text/html; charset=utf-8"
    assert one.headers["content-security-policy"].startswith("default-src 'none'")
    assert "set-cookie" not in one.headers
    assert not re.search(r"<style| on[a-z]+=|http-equiv|(src|href)=\"(?!/[a-z\"]|\?lang=)", page)
    assert len(re.findall("<script", page)) == 1
    assert re.search(r'<script type="module" src="/static/[0-9a-f]{16}/start.js"></script>', page)
    assert "hkoji join 'ADDRESS'" in page
    for bad in ("2714", "0" * 33, "G" * 32, "../v1/service"):
        assert service.ask("GET", f"/i/{bad}").status in (400, 404)
