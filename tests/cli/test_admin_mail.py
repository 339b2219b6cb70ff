"""`hkoji admin mail add`, `show`, `lock`, `unlock` and `erase`, beside a service that runs."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.store.mail_values import EVENTS_OF

from hkoji.cli.output import Exit
from hkoji.game.held_keys import read_gateway, require_strong_gateway, verify_gateway
from hkoji.log.public_key import parse_public_key
from tests.support.homes import Homes, accept, homes_of
from tests.support.service import serving


@contextmanager
def made_in(folder: Path) -> Iterator[Homes]:
    """Homes beside a service at which only the operator registers players."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HKOJI_SERVER_MAIL", "play@hkoji.example")
        with serving(folder / "data", forked=True, settings={"registration": "closed"}) as service:
            yield Homes(folder, service)


homes = homes_of(made_in)
unchanged = homes_of(made_in, scope="module")


def admin(homes: Homes, *words: str) -> Any:
    """The result of a command of the operator."""
    return homes("operator", "admin", "mail", *words, "--data", str(homes.service.data), "--json")


def rows(homes: Homes, *tables: str) -> dict[str, list[Any]]:
    """The rows of tables."""
    with sqlite3.connect(homes.service.data / "hkoji.sqlite3") as database:
        found = {table: sorted(database.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    database.close()
    return found


def test_the_operator_invites_somebody_who_then_plays(homes: Homes) -> None:
    made = admin(homes, "add", "bob", "Bob@example.org", "--lang", "it")
    assert made.code == 0
    assert (made.json["name"], made.json["address"], made.json["state"]) == ("bob", "Bob@example.org", "invited")
    assert made.json["lang"] == "it"
    (letter,) = rows(homes, "outbox")["outbox"]
    assert letter[:3] == ("", 0, "invited")
    assert made.json["letter"] is True
    assert admin(homes, "add", "bob", "Bob@example.org", "--lang", "it").json["letter"] is False
    again = ("admin", "mail", "add", "bob", "Bob@example.org", "--data", str(homes.service.data))
    assert "No other letter goes out." in homes("operator", *again).out
    assert rows(homes, "outbox")["outbox"] == [letter]
    key = accept(homes)
    shown = admin(homes, "show", "bob").json
    assert (shown["state"], shown["key"]) == ("active", key)
    found = homes.service.ask("GET", "/v1/players/bob").json
    gateway = require_strong_gateway(read_gateway(found["held"]))
    server = parse_public_key(homes.service.ask("GET", "/v1/service").json["key"])
    verify_gateway(gateway, "bob", server)
    assert gateway.key.text == key


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "bob", "no address"), Exit.MOVE),
        (("add", "bob", "play@hkoji.example"), Exit.MOVE),
        (("add", "Bob", "bob@example.org"), Exit.MOVE),
        (("add", "server", "bob@example.org"), Exit.FAILURE),
        (("show", "bob"), Exit.USAGE),
        (("lock", "bob"), Exit.USAGE),
        (("erase", "bob", "--yes"), Exit.USAGE),
    ],
)
def test_an_impossible_request_changes_nothing(unchanged: Homes, words: tuple[str, ...], code: Exit) -> None:
    before = rows(unchanged, "mailbox", "held_key", "channel", "outbox")
    assert admin(unchanged, *words).code == code
    assert rows(unchanged, "mailbox", "held_key", "channel", "outbox") == before


def test_an_invited_mailbox_is_not_locked(homes: Homes) -> None:
    assert admin(homes, "add", "bob", "bob@example.org").code == 0
    for word in ("lock", "unlock"):
        assert admin(homes, word, "bob").code == Exit.KEY
    assert admin(homes, "show", "bob").json["state"] == "invited"


def test_a_locked_mailbox_gets_no_letters_until_it_is_unlocked(homes: Homes) -> None:
    admin(homes, "add", "bob", "bob@example.org")
    accept(homes)
    assert admin(homes, "unlock", "bob").code == Exit.MOVE
    for _ in range(2):
        assert admin(homes, "lock", "bob").json["state"] == "suspended"
        (channel,) = rows(homes, "channel")["channel"]
        assert channel[4].split() == []
    assert admin(homes, "unlock", "bob").json["state"] == "active"
    (channel,) = rows(homes, "channel")["channel"]
    assert tuple(channel[4].split()) == EVENTS_OF["active"]


def test_erasing_asks_and_leaves_no_address(homes: Homes) -> None:
    admin(homes, "add", "bob", "bob@example.org")
    key = accept(homes)
    before = rows(homes, "mailbox", "channel")
    assert admin(homes, "erase", "bob").code == Exit.USAGE
    assert rows(homes, "mailbox", "channel") == before
    assert admin(homes, "erase", "bob", "--yes").code == 0
    tables = ("mailbox", "channel", "certificate", "mail_invitation", "reply", "incoming", "outbox")
    assert "example.org" not in repr(rows(homes, *tables))
    assert homes.service.ask("GET", "/v1/players/bob").json["key"] == key
    assert admin(homes, "show", "bob").code == Exit.USAGE


def test_a_mailbox_is_moved_once_the_new_one_agrees(homes: Homes) -> None:
    admin(homes, "add", "bob", "bob@example.org")
    refused = admin(homes, "move", "bob", "bob@example.net")
    assert "has not accepted yet" in refused.err
    accept(homes)
    before = rows(homes, "mailbox", "certificate", "held_key")
    asked = admin(homes, "move", "bob", "Bob@example.net")
    assert asked.code == 0
    assert asked.json["address"] == "bob@example.org"
    after = rows(homes, "mailbox", "certificate", "held_key")
    # Nothing has changed but that somebody is asked.
    assert [row for row in after["mailbox"] if "bob@example.org" in row] == before["mailbox"]
    assert (after["certificate"], after["held_key"]) == (before["certificate"], before["held_key"])
    assert admin(homes, "show", "bob").json["address"] == "bob@example.org"
    (letter,) = [row for row in rows(homes, "outbox")["outbox"] if "confirm" in row]
    assert letter
    assert asked.json["letter"] is True


KILLED = """
import os, signal, sys
from pathlib import Path
from hkoji_server import mailbox_admin
mailbox_admin._shown = lambda box: os.kill(os.getpid(), signal.SIGKILL)
mailbox_admin.move(Path(sys.argv[1]), "bob", "Bob@example.net")
"""
"""The command, killed when it has asked and has not said so."""


def test_a_mailbox_is_asked_once_if_the_command_is_killed_and_repeated(homes: Homes) -> None:
    admin(homes, "add", "bob", "bob@example.org")
    accept(homes)
    data = str(homes.service.data)
    assert subprocess.run([sys.executable, "-c", KILLED, data], check=False).returncode == -signal.SIGKILL
    asked = rows(homes, "mailbox", "certificate", "held_key", "outbox", "reply")
    assert len([row for row in asked["outbox"] if "confirm" in row]) == 1
    assert admin(homes, "move", "bob", "bob@EXAMPLE.net").json["letter"] is False
    said = homes("operator", "admin", "mail", "move", "bob", "bob@example.net", "--data", data)
    assert said.code == 0
    assert "was asked before whether it is to be the mailbox of bob" in said.out
    assert "No other letter goes out." in said.out
    assert rows(homes, "mailbox", "certificate", "held_key", "outbox", "reply") == asked
    # Somebody else is another question.
    assert admin(homes, "move", "bob", "bob@example.com").json["letter"] is True


@pytest.mark.parametrize("address", ["bob@example.org", "BOB@example.org", "play@hkoji.example", "no address"])
def test_a_mailbox_is_not_moved_to_what_is_none(homes: Homes, address: str) -> None:
    admin(homes, "add", "bob", "bob@example.org")
    accept(homes)
    before = rows(homes, "mailbox", "outbox", "certificate")
    refused = admin(homes, "move", "bob", address)
    assert refused.code != 0
    assert rows(homes, "mailbox", "outbox", "certificate") == before
