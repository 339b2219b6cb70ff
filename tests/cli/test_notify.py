"""`hkoji notify`, with a real receiver: what a player types, and what arrives after a move. docs/spec/http.md."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.notices import delivery

from hkoji.cli.output import Exit
from hkoji.client.transport import HttpAnswer
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.private_key import PrivateKey
from tests.support.push_service import Browser
from tests.support.receiver import Received, Receiver, answers, hook
from tests.support.service import Player, serving
from tests.support.shell import Done
from tests.support.timed_players import TimedPlayer, TimedWorld, alice, bob, timed_game, timed_world

__all__ = ["alice", "bob", "hook"]

SETTINGS: dict[str, Any] = {"digest": [], "format": "json", "quiet": None, "zone": "+00:00"}  # Any: JSON


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TimedWorld]:
    with patch.object(delivery, "NOTICE_PACE", 0.02), timed_world(tmp_path, webhook_private=True) as world:
        yield world


def address(hook: Receiver) -> str:
    return f"http://127.0.0.1:{hook.port}/T0KEN"


def confirmed(player: TimedPlayer, hook: Receiver, *options: str) -> str:
    """The id of a new channel that works, as a person makes it."""
    done = player("notify", "add", "webhook", address(hook), *options)
    assert done.code == 0, done
    found = re.search(r"hkoji notify confirm ([0-9a-f]{16}) CODE", done.out)
    assert found is not None
    done = player("notify", "confirm", found[1], json.loads(hook.posts[-1].body)["code"])
    assert done.code == 0, done
    hook.posts.clear()
    return found[1]


def posts(world: TimedWorld, hook: Receiver, count: int) -> list[Received]:
    """The posts as soon as there are `count`; without a `count`, those of some time."""
    end = time.monotonic() + (20 if count else 0.3)
    while time.monotonic() < end and (not count or len(hook.posts) < count):
        world.service.runner.run(asyncio.sleep(0.02))
    world.service.runner.run(asyncio.sleep(0.05))  # what would come too often comes now
    return hook.posts


def move(player: TimedPlayer, game: str) -> Done:
    legal = player("show", game, "--json").json["legal"]
    done = player("move", game, legal[0])
    assert done.code == 0, done
    return done


# --- after a move -----------------------------------------------------------------------------------------------------


def test_a_move_is_posted_once_a_minute_later(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, hook: Receiver
) -> None:
    game = timed_game(alice, bob)
    channel = confirmed(bob, hook)
    move(alice, game)
    world.pass_by(50)
    assert posts(world, hook, 0) == []
    world.pass_by(11)
    (received,) = posts(world, hook, 1)
    told, shown = json.loads(received.body), bob("show", game, "--json").json
    name = f"{game}.{shown['seq']}.turn.{channel}"
    assert (told["event"], told["game"], told["seq"], told["head"]) == ("turn", game, shown["seq"], shown["head"])
    assert (told["id"], received.headers["webhook-id"]) == (name, name)
    assert (told["opponent"], told["deadline"]) == ("alice", shown["clock"]["deadline"])
    message = f"{name}.{received.headers['webhook-timestamp']}.".encode() + received.body
    blob = decode_base64(received.headers["hkoji-signature"], "signature")
    sshsig.verify(blob, bob.client.service().key, sshsig.NOTICE, message, "server")


def test_a_receiver_that_is_gone_gets_nothing_more(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, hook: Receiver
) -> None:
    game = timed_game(alice, bob)
    channel = confirmed(bob, hook, "--events", "turn")
    hook.turns = [answers(410)]
    move(alice, game)
    world.pass_by(61)
    assert len(posts(world, hook, 1)) == 1
    world.pass_by(1000)
    assert len(posts(world, hook, 0)) == 1
    (listed,) = bob("notify", "list", "--json").json
    assert listed["off"] is not None
    assert "off since" in bob("notify", "list").out
    assert bob("notify", "test", channel[:4]).code == 0
    assert bob("notify", "list", "--json").json[0]["off"] is None


def test_nothing_is_posted_before_the_code_is_typed_or_after_the_channel_is_removed(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, hook: Receiver
) -> None:
    game = timed_game(alice, bob)
    made = bob("notify", "add", "webhook", address(hook), "--json").json
    move(alice, game)
    world.pass_by(100)
    assert [json.loads(each.body)["event"] for each in posts(world, hook, 0)] == ["confirm"]
    code = json.loads(hook.posts[0].body)["code"]
    assert bob("notify", "confirm", made["id"], code).code == 0
    move(bob, game)
    if not bob("show", game, "--json").json["legal"]:
        move(alice, game)
    assert bob("notify", "remove", made["id"]).code == 0
    world.pass_by(1000)
    assert len(posts(world, hook, 0)) == 1


# --- commands ---------------------------------------------------------------------------------------------------------


def test_a_channel_from_beginning_to_end(bob: TimedPlayer, hook: Receiver) -> None:
    assert bob("notify", "list").out == "You have no channels. Add one with: hkoji notify add\n"
    options = ("--events", "over,turn", "--quiet", "22:00-07:00", "--digest", "18:00,08:00", "--zone", "+01:00")
    made = bob("notify", "add", "webhook", address(hook), *options, "--json").json
    settings = {
        "digest": ["08:00", "18:00"],
        "format": "json",
        "quiet": {"from": "22:00", "until": "07:00"},
        "zone": "+01:00",
    }
    assert (made["settings"], made["events"], made["confirmed"]) == (settings, ["turn", "over"], None)
    assert made["target"] == f"http://127.0.0.1:{hook.port}/..."
    assert "waits for its code" in bob("notify", "list").out
    wrong = bob("notify", "confirm", made["id"], "wrong", "--json")
    assert (wrong.code, wrong.error["code"]) == (Exit.KEY, "forbidden")
    assert bob("notify", "list", "--json").json == [made]
    done = bob("notify", "confirm", made["id"][:5], json.loads(hook.posts[0].body)["code"])
    assert done.out == (
        f"From now on {made['target']} is told of: turn, over; not from 22:00 to 07:00; together at 08:00, 18:00 "
        "(time zone +01:00)\n"
    )
    assert bob("notify", "test", made["id"]).out == f"{made['target']} has taken a test notice.\n"
    assert bob("notify", "remove", made["id"]).out == f"Nothing is sent to {made['target']} any more.\n"
    assert bob("notify", "list", "--json").json == []
    assert len(hook.posts) == 2


@pytest.mark.parametrize(("form", "key"), [("slack", "text"), ("discord", "content")])
def test_chats_are_told_the_code_too(form: str, key: str, bob: TimedPlayer, hook: Receiver) -> None:
    made = bob("notify", "add", "webhook", address(hook), "--format", form, "--json").json
    (said,) = json.loads(hook.posts[0].body).items()
    assert said[0] == key
    found = re.search(rf"hkoji notify confirm {made['id']} ([a-z0-9]+) ", said[1])
    assert found is not None
    assert bob("notify", "confirm", made["id"], found[1]).code == 0


def test_a_browser_is_listed_tested_and_removed_like_any_channel(
    world: TimedWorld, bob: TimedPlayer, hook: Receiver
) -> None:
    browser = Browser(hook)
    key = PrivateKey.from_openssh((bob.path / "id_ed25519").read_bytes())
    person = Player(world.service, "bob", key).login()
    body = {"kind": "push", "keys": browser.keys, "settings": SETTINGS, "target": browser.endpoint}
    made = world.service.ask("POST", "/v1/me/channels", {**body, "events": ["turn"]}, person.token).json
    said = bob("notify", "list").out
    assert f"{made['id']}  push http://127.0.0.1:{hook.port}/...: waits for its code" in said
    assert bob("notify", "confirm", made["id"], browser.pushed()[0]["code"]).code == 0
    assert f"{made['id']}  push http://127.0.0.1:{hook.port}/...: turn" in bob("notify", "list").out
    assert bob("notify", "test", made["id"]).code == 0
    assert [each["event"] for each in browser.pushed()] == ["confirm", "test"]
    assert bob("notify", "remove", made["id"]).code == 0
    assert bob("notify", "list", "--json").json == []


REFUSED: list[tuple[tuple[str, ...], Exit, str]] = [
    (("add", "pager", "555"), Exit.MOVE, "invalid"),
    (("add", "mail", "bob@example.org"), Exit.MOVE, "illegal"),
    (("add", "push", "https://push.example/token"), Exit.USAGE, "usage"),
    (("add", "webhook", "http://example.org/"), Exit.FAILURE, "not-delivered"),
    (("add", "webhook", "https://example.org/#x"), Exit.MOVE, "invalid"),
    (("add", "webhook", "https://example.org/", "--events", "nothing"), Exit.MOVE, "invalid"),
    (("add", "webhook", "https://example.org/", "--events", ""), Exit.MOVE, "invalid"),
    (("add", "webhook", "https://example.org/", "--quiet", "soon"), Exit.USAGE, "usage"),
    (("add", "webhook", "https://example.org/", "--digest", "8"), Exit.USAGE, "usage"),
    (("add", "webhook", "https://example.org/", "--format", "xml"), Exit.MOVE, "invalid"),
    (("add", "webhook", "https://example.org/", "--zone", "Rome"), Exit.MOVE, "invalid"),
    (("confirm", "0", "x"), Exit.USAGE, "not-found"),
    (("test", "0"), Exit.USAGE, "not-found"),
    (("remove", ""), Exit.USAGE, "not-found"),
]


def test_an_impossible_notification_is_refused_and_changes_nothing(bob: TimedPlayer) -> None:
    for words, code, error in REFUSED:
        with patch("asyncio.BaseEventLoop.getaddrinfo", side_effect=OSError):  # no name server is asked
            done = bob("notify", *words, "--json")
        assert (done.code, done.error["code"]) == (code, error), (words, done)
        assert done.error["hint"]
        assert bob("notify", "list", "--json").json == []


def test_an_answer_of_another_form_is_not_understood(world: TimedWorld, bob: TimedPlayer, hook: Receiver) -> None:
    confirmed(bob, hook)
    damaged = ""

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/channels"):
            return answer
        (only,) = answer.json()["channels"]
        return answer._replace(body=json.dumps({"channels": [{**only, damaged: {"../x": "\x1b"}}]}).encode())

    world.tamper = tamper
    for damaged in ("id", "target", "events", "settings", "failures", "confirmed"):
        done = bob("notify", "list", "--json")
        assert (done.code, done.error["code"]) == (Exit.FAILURE, "service"), damaged


@pytest.mark.parametrize("kind", ["webhook", "push"])
def test_a_secret_address_is_in_no_line_of_the_log(kind: str, tmp_path: Path, hook: Receiver) -> None:
    """Neither when a post is taken nor when it is not, at the level that logs most."""
    settings = {"webhook_private": "true"}
    keys = Browser().keys
    with serving(tmp_path / "data", log_level="debug", forked=True, settings=settings) as service:
        alice = Player(service, "alice").register()
        body = {"kind": kind, "settings": SETTINGS, **({"keys": keys} if kind == "push" else {})}
        for status in (204, 500):
            hook.behave = answers(status)
            target = f"{address(hook)}/{status}"
            answer = service.ask("POST", "/v1/me/channels", {**body, "target": target}, alice.token)
            assert answer.status == (201 if status == 204 else 422)
        service.stop()
        said = service.log.read_text()
    assert "/v1/me/channels" in said
    assert not any(secret in said for secret in ("T0KEN", *keys.values()))
