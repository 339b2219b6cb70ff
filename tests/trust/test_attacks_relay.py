"""Somebody between a player and a service gets no login: the player's real commands, a real service, a real relay.

A login is a signature over a text that the service made. Somebody who gets a player to sign it for another service, by
passing its text on, reads that player's hand there. So each test looks at what the relay has in the end.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hkoji_server import admin

from tests.support.forked import run_forked
from tests.support.service import Service, serving
from tests.trust.relay import Relay, relaying


class Shell:
    """The command in one player's home, with its answers as JSON."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "HKOJI_HOME": str(home), "NO_COLOR": "1"}

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_forked((*words, "--json"), env=self.environment, stdin=stdin)

    def __call__(self, *words: str, stdin: str = "") -> Any:  # Any: JSON
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, (words, done)
        return json.loads(done.stdout)

    def fails(self, code: int, *words: str, stdin: str = "") -> str:
        """The error of a command that fails with `code`, and changes nothing in the home."""
        before = self.files()
        done = self.run(*words, stdin=stdin)
        assert (done.returncode, done.stdout) == (code, ""), (words, done)
        assert self.files() == before
        return done.stderr

    def files(self) -> dict[str, bytes]:
        return {
            str(each.relative_to(self.home)): each.read_bytes()
            for each in sorted(self.home.rglob("*"))
            if each.is_file() and each.name != "lock"
        }


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "data", forked=True) as running:
        yield running


@pytest.fixture
def relay(service: Service, tmp_path: Path) -> Iterator[Relay]:
    with relaying(service.url, tmp_path / "relay.jsonl") as running:
        yield running


@pytest.fixture
def alice(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path / "alice")
    shell("init", "alice")
    return shell


@pytest.fixture
def bob(tmp_path: Path, service: Service) -> Shell:
    shell = Shell(tmp_path / "bob")
    shell("init", "bob")
    shell("register", "--server", service.url)
    return shell


def begin(host: Shell, guest: Shell) -> str:
    """A game up to the host's first decision."""
    game = str(host("new")["game"])
    guest("join", game)
    assert host("show", game)["hand"]
    return game


def got_nothing(relay: Relay) -> bool:
    """Whether the relay has seen requests, but nothing that was signed, no login and no code."""
    return not relay.tokens and {path for path in relay.paths if not path.startswith("GET ")} == set()


def reads_the_hand(relay: Relay, service: Service, game: str) -> bool:
    """Whether one of the logins that the relay has shows it cards at the service."""
    path = f"/v1/games/{game}/view?after=0"
    return any(service.ask("GET", path, token=token).status == 200 for token in relay.tokens)


def test_a_relay_of_another_service(service: Service, relay: Relay, alice: Shell, bob: Shell) -> None:
    said = alice.fails(8, "register", "--server", relay.url)
    assert relay.url in said
    assert service.url in said
    assert "--origin" in said
    assert got_nothing(relay)
    assert not (alice.home / "pins.json").exists()
    alice.fails(2, "games")
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    alice.fails(8, "register", "--server", relay.url)
    assert got_nothing(relay)
    alice.fails(8, "register", "--server", relay.url, "--origin", relay.url)
    assert got_nothing(relay)
    assert alice("show", game)["hand"]
    # An address that the user has confirmed is used, and has what a service has: that is what the words are for.
    alice("register", "--server", relay.url, "--origin", service.url)
    alice("games")
    assert reads_the_hand(relay, service, game)


def test_a_relay_in_the_settings(service: Service, relay: Relay, alice: Shell, bob: Shell) -> None:
    """Nothing that the player is logged in with at the service goes to the other address."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    move = alice("show", game)["legal"][0]
    files = (alice.home / "config.json", alice.home / "games" / game / "secrets.json")
    for file in files:
        file.write_text(file.read_text().replace(service.url, relay.url))
    for words in (("games",), ("next",), ("new",), ("show", game), ("move", game, move), ("wait", game)):
        assert f"hkoji register --server {relay.url}" in alice.fails(4, *words)
    alice.fails(8, "register", "--server", relay.url)
    assert got_nothing(relay)
    for file in files:
        file.write_text(file.read_text().replace(relay.url, service.url))
    assert alice("move", game, move)["move"]


def test_a_relay_of_a_recovery(service: Service, relay: Relay, alice: Shell, tmp_path: Path) -> None:
    """Anybody who has the code can give the name to a key of their own."""
    alice("register", "--server", service.url)
    code = admin.revoke_keys(service.data, "alice")
    again = Shell(tmp_path / "again")
    again.fails(8, "recover", "alice", "--yes", "--server", relay.url, stdin=code)
    assert got_nothing(relay)
    assert not (again.home / "config.json").exists()
    assert again("recover", "alice", "--yes", "--server", service.url, stdin=code)["name"] == "alice"


def test_a_relay_of_a_signed_move(service: Service, relay: Relay, alice: Shell, bob: Shell, tmp_path: Path) -> None:
    """A signed move goes with the openings of its face-down cards."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    secret = next(each for each in alice("show", game)["legal"] if each.startswith("1"))
    entry = json.dumps(alice("sign", game, secret))
    stranger = Shell(tmp_path / "stranger")
    stranger.fails(8, "submit", "-", "--server", relay.url, stdin=entry)
    alice.fails(8, "submit", "-", "--server", relay.url, stdin=entry)
    assert got_nothing(relay)
    stranger("submit", "-", "--server", relay.url, "--origin", service.url, stdin=entry)
    assert bob("show", game)["seq"] == 5


def test_an_address_that_redirects(service: Service, alice: Shell, tmp_path: Path) -> None:
    """A redirect is not followed, neither with a login nor without one."""
    with relaying(service.url, tmp_path / "relay.jsonl", "redirect") as relay:
        assert service.url in alice.fails(1, "register", "--server", relay.url)
        alice.fails(1, "register", "--server", relay.url, "--origin", service.url)
        assert got_nothing(relay)
        assert not (alice.home / "pins.json").exists()
    alice("register", "--server", service.url)
    assert alice("games") == []


@pytest.mark.parametrize("origin", ["own", "https://harmless.example"])
def test_a_relay_under_its_own_name(service: Service, alice: Shell, bob: Shell, tmp_path: Path, origin: str) -> None:
    """The player registers there, also under a name that she confirms. But it asks for logins of another."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    with relaying(service.url, tmp_path / "relay.jsonl", origin) as relay:
        confirmed = () if origin == "own" else ("--origin", origin)
        alice("register", "--server", relay.url, *confirmed)
        for words in (("games",), ("next",), ("new",)):
            assert service.url in alice.fails(8, *words)
        assert not relay.tokens
        assert "POST /v1/login" not in relay.paths
        statement = next(json.loads(each.body) for each in relay.seen if each.path == "/v1/players")
        assert service.ask("POST", "/v1/players", statement).status == 403
    alice("register", "--server", service.url)
    assert alice("show", game)["hand"]


@pytest.mark.parametrize("origin", ["own", "https://hanamikoji.example"])
def test_a_relay_as_the_new_address(service: Service, alice: Shell, bob: Shell, tmp_path: Path, origin: str) -> None:
    """It shows the service's key, and passes its proof on; but the service proves it for its own origin alone."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    with relaying(service.url, tmp_path / "relay.jsonl", origin) as relay:
        confirmed = () if origin == "own" else ("--origin", origin)
        said = alice.fails(8, "register", "--server", relay.url, "--move-games", *confirmed)
        assert f"its signature is for {service.url}" in said
        assert f"POST /v1/games/{game}/entries" not in relay.paths
        assert not relay.tokens
    assert alice("show", game)["hand"]


def test_another_service_under_a_known_origin(service: Service, alice: Shell, bob: Shell, tmp_path: Path) -> None:
    """Even if the user confirms the origin: its key is not the one of the service that has this origin."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    with serving(tmp_path / "other", forked=True, options=("--origin", service.url)) as other:
        for confirmed in ((), ("--origin", service.url)):
            assert "pretends to be the other" in alice.fails(8, "register", "--server", other.url, *confirmed)
        with pytest.raises(AssertionError):
            Shell(tmp_path / "alice")(
                "recover", "alice", "--yes", "--server", other.url, "--origin", service.url, stdin="code"
            )
        assert other.ask("GET", "/v1/players/alice").status == 404
    assert alice("show", game)["hand"]


def test_a_relay_while_a_move_waits(service: Service, relay: Relay, alice: Shell, bob: Shell) -> None:
    """A move that has no receipt yet goes out before anything is asked, with the openings of its cards."""
    alice("register", "--server", service.url)
    game = begin(alice, bob)
    secret = next(each for each in alice("show", game)["legal"] if each.startswith("1"))
    folder = alice.home / "games" / game
    signed = alice.run("sign", game, secret).stdout
    (folder / "outbox.signed").write_text(signed)
    (folder / "secrets.json").write_text((folder / "secrets.json").read_text().replace(service.url, relay.url))
    for words in (("show", game), ("move", game, secret), ("wait", game), ("cancel", game)):
        alice.fails(4, *words)
    alice.fails(4, "submit", "-", stdin=signed)
    assert got_nothing(relay)
    (folder / "secrets.json").write_text((folder / "secrets.json").read_text().replace(relay.url, service.url))
    assert alice("show", game)["seq"] == 5


def test_an_address_without_tls(tmp_path: Path, alice: Shell) -> None:
    """The service stands behind a proxy with TLS; the other address is the same host without it."""
    with serving(tmp_path / "data", forked=True, options=("--origin", "https://127.0.0.1")) as service:
        with relaying(service.url, tmp_path / "relay.jsonl") as relay:
            for named in ((), ("--origin", "http://127.0.0.1"), ("--origin", relay.url)):
                alice.fails(8, "register", "--server", relay.url, *named)
            assert got_nothing(relay)
            assert not (alice.home / "pins.json").exists()
        alice("register", "--server", service.url, "--origin", "https://127.0.0.1")
        assert alice("games") == []
