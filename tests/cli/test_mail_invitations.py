"""`hkoji new --invite NAME --mail ADDRESS`: the certificate is verified, and the other seat is said to be held."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.cli.output import Exit
from hkoji.client.client import Client
from hkoji.client.service import Service as ClientService
from hkoji.errors import NetworkError
from hkoji.game.held_keys import Gateway, certify
from hkoji.log.private_key import PrivateKey
from tests.support import loops
from tests.support.homes import Homes, accept, homes_of
from tests.support.service import serving

NEW = ("new", "--invite", "bob", "--mail", "Bob@example.org")


@contextmanager
def made_in(folder: Path) -> Iterator[Homes]:
    """Homes of alice and carol, who are registered."""
    with serving(folder / "data", forked=True, settings={"mail": "play@hkoji.example"}) as service:
        yield Homes(folder, service).registered("alice", "carol")


homes = homes_of(made_in)
unchanged = homes_of(made_in, scope="module")


def files(home: Path) -> dict[str, bytes]:
    """All files of a home."""
    return {str(each.relative_to(home)): each.read_bytes() for each in home.rglob("*") if each.is_file()}


def opened(homes: Homes) -> list[Any]:
    """The open games of alice."""
    return [each["game"] for each in homes("alice", "games", "--json").json]


def test_a_friend_is_invited_by_mail_and_the_host_is_told_what_that_proves(homes: Homes) -> None:
    done = homes("alice", *NEW, "--lang", "it", "--json")
    assert done.code == 0
    assert done.json["held"] is True
    assert done.json["invite"] == "bob"
    assert "bob" in done.err
    log = homes("alice", "log", done.json["game"]).out
    assert "example.org" not in log.lower()
    assert not any(b"example.org" in text.lower() for text in files(homes.folder / "alice").values())
    store = SqliteStore(homes.service.data / "hkoji.sqlite3")
    try:
        box = loops.run(store.mailbox_at("bob@example.org"))
    finally:
        store.close()
    assert box is not None
    assert (box.name, box.lang) == ("bob", "it")
    assert box.held_key in log


def test_a_clock_that_is_too_short_for_letters_invites_nobody(homes: Homes) -> None:
    database = homes.service.data / "hkoji.sqlite3"
    for words in (("--clock", "10m"), ("--clock", "2h"), ("--expires", "300d")):
        done = homes("alice", *NEW, *words)
        assert done.code == Exit.MOVE, done.err
    with closing(sqlite3.connect(database)) as tables:
        for table in ("mailbox", "mail_invitation", "held_key", "game"):
            assert tables.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    assert opened(homes) == []
    # Carol can have the name and the mailbox.
    assert homes("carol", *NEW).code == 0


def test_the_proof_of_a_held_seat_is_shown_before_the_game_is_opened(homes: Homes) -> None:
    with patch.object(Client, "new", side_effect=NetworkError("https://hkoji.example", "away")) as new:
        done = homes("alice", *NEW)
    assert new.call_count == 1
    assert done.code != 0
    said = " ".join(done.err.split())
    assert "bob plays by mail: the service signs for bob." in said
    assert "It can sign what bob has not written, and nobody can prove that." in said
    assert opened(homes) == []


def test_a_known_mail_player_is_invited_by_name(homes: Homes) -> None:
    assert homes("alice", *NEW).code == 0
    key = accept(homes)
    done = homes("carol", "new", "--invite", "bob", "--json")
    assert done.code == 0
    assert done.json["held"] is True
    assert "bob plays by mail" in done.err
    assert key in homes("carol", "log", done.json["game"]).out


def test_a_player_with_an_own_key_is_invited_as_before(homes: Homes) -> None:
    done = homes("alice", "new", "--invite", "carol", "--json")
    assert (done.code, done.json["held"]) == (0, False)
    assert "by mail" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("new", "--mail", "bob@example.org"),
        ("new", "--invite", "bob", "--mail", "bob"),
        ("new", "--invite", "bob", "--mail", "bob@example.org\nBcc: eve@example.org"),
        (*NEW, "--link"),
        ("new", "--invite", "alice", "--mail", "bob@example.org"),
    ],
)
def test_options_that_do_not_fit_open_nothing(unchanged: Homes, words: tuple[str, ...]) -> None:
    done = unchanged("alice", *words)
    assert done.code == Exit.USAGE
    assert opened(unchanged) == []


def other_key(gateway: Gateway, service: ClientService) -> Gateway:
    signer = PrivateKey.from_seed(b"\x05" * 32)
    origin = str(service.pins.origin)
    return certify(signer, address=gateway.address, at=gateway.at, key=gateway.key, name="bob", origin=origin)


def other_origin(gateway: Gateway, _: ClientService) -> Gateway:
    return gateway._replace(origin="https://elsewhere.example")


def exchanged_key(gateway: Gateway, _: ClientService) -> Gateway:
    return gateway._replace(key=PrivateKey.from_seed(b"\x06" * 32).public)


def other_address(gateway: Gateway, _: ClientService) -> Gateway:
    return gateway._replace(address="00" * 32)


@pytest.mark.parametrize("lie", [other_key, other_origin, exchanged_key, other_address])
def test_a_false_certificate_opens_nothing(homes: Homes, lie: Any) -> None:
    real = ClientService.invite_by_mail

    def lying(self: ClientService, request: dict[str, str]) -> Gateway:
        made: Gateway = lie(real(self, request), self)
        return made

    before = files(homes.folder / "alice")
    with patch.object(ClientService, "invite_by_mail", lying):
        done = homes("alice", *NEW)
    assert done.code == Exit.AUDIT
    assert "the certificate of the key that the service holds for bob is false" in done.err
    assert opened(homes) == []
    kept = {name: text for name, text in files(homes.folder / "alice").items() if name in before}
    assert {name for name in before if kept[name] != before[name] and "games" in name} == set()


def test_the_certificate_of_another_name_opens_nothing(homes: Homes) -> None:
    real = ClientService.invite_by_mail

    def lying(self: ClientService, request: dict[str, str]) -> Gateway:
        return real(self, {**request, "name": "robert"})

    with patch.object(ClientService, "invite_by_mail", lying):
        done = homes("alice", *NEW)
    assert done.code == Exit.AUDIT
    assert opened(homes) == []


def test_a_command_that_broke_off_is_continued_with_the_same_key(homes: Homes) -> None:
    real = ClientService.submit

    def lost(self: ClientService, submission: Any) -> Any:
        real(self, submission)
        raise NetworkError("http://127.0.0.1", "lost")

    with patch.object(ClientService, "submit", lost):
        assert homes("alice", *NEW).code == Exit.NETWORK
    done = homes("alice", *NEW, "--json")
    assert done.code == 0, done.err
    assert done.json["status"] == "open"
    assert opened(homes) == [done.json["game"]]
    # That invitation has opened its game. Another one is refused, and nothing is opened.
    assert homes("alice", *NEW).code != 0
    assert opened(homes) == [done.json["game"]]


def test_a_mailbox_that_takes_no_letters_is_shown_before_and_after_the_game_is_joined(homes: Homes) -> None:
    game = homes("alice", *NEW, "--json").json["game"]
    store = SqliteStore(homes.service.data / "hkoji.sqlite3")
    try:
        box = loops.run(store.mailbox_at("bob@example.org"))
        assert box is not None
        for command in ("show", "clock"):
            assert homes("alice", command, game, "--json").json["silent"] == {}
            assert "not arriving" not in homes("alice", command, game).out
        loops.run(store.change_mailbox(replace(box, paused="2026-12-03T08:00:00Z")))
    finally:
        store.close()
    for command in ("show", "clock"):
        assert homes("alice", command, game, "--json").json["silent"] == {"bob": "2026-12-03T08:00:00Z"}
        assert "bob: mail is not arriving since" in " ".join(homes("alice", command, game).out.split())
    # The client asked the service nothing about it, so it is not known.
    assert homes("alice", "show", game, "--offline", "--json").json["silent"] == {}


def test_no_more_is_asked_about_a_game_that_waits_for_somebody_with_an_own_key(homes: Homes) -> None:
    game = homes.new("alice", "--invite", "carol")
    with patch.object(ClientService, "clock", side_effect=AssertionError):
        assert homes("alice", "show", game).code == 0


def test_a_service_without_mail_says_so(tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True) as service:
        made = Homes(tmp_path, service)
        assert made("alice", "init", "alice").code == 0
        assert made("alice", "register", "--server", service.url).code == 0
        done = made("alice", *NEW)
        assert done.code == Exit.MOVE
        assert "sends no mail" in done.err
        assert "nothing was changed; ask the operator of the service" in done.err
        own = made("alice", "mail", "on", "alice@example.org")
        assert own.code == Exit.MOVE
        assert "nothing was changed; ask the operator of the service" in own.err
        operator = made("operator", "admin", "mail", "add", "bob", "bob@example.org", "--data", str(service.data))
        assert operator.code == Exit.MOVE
        assert "sends no mail" in operator.err
        assert 'nothing was changed; set `mail`, as docs/hosting.md says under "Mail"' in operator.err
        assert "--config" in operator.err
        shown = made("operator", "admin", "mail", "show", "bob", "--data", str(service.data))
        assert (shown.code, "bob" in shown.err) == (Exit.USAGE, True)
