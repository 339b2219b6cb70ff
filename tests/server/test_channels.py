"""Channels over plain HTTP: how a player makes, confirms, tests and removes them, and what nobody else learns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games.notice_rules import EVENTS
from hkoji_server.service.notices.guarded_post import UNREACHABLE
from hkoji_server.service.players.limits import CODES, TESTS

from hkoji.cli.commands import arguments
from tests.support.receiver import Receiver, answers, hook, receiver
from tests.support.service import Answer, Player
from tests.support.service_in_process import Inside, inside

__all__ = ["hook"]

PATH = "/v1/me/channels"
SETTINGS: dict[str, Any] = {"digest": [], "format": "json", "quiet": None, "zone": "+00:00"}  # Any: JSON
SECRET = "T0KEN-in-the-path"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", webhook_private=True) as service:
        yield service


def address(hook: Receiver, path: str = SECRET) -> str:
    return f"http://127.0.0.1:{hook.port}/{path}"


def add(player: Player, target: str, **given: Any) -> Answer:  # Any: JSON
    body = {"kind": "webhook", "target": target, "settings": SETTINGS, **given}
    return player.service.ask("POST", PATH, body, player.token)


def listed(player: Player) -> Any:  # Any: JSON
    answer = player.service.ask("GET", PATH, token=player.token)
    assert answer.status == 200
    return answer.json["channels"]


def confirm(player: Player, channel: str, code: str) -> Answer:
    return player.service.ask("POST", f"{PATH}/{channel}/confirm", {"code": code}, player.token)


def check(player: Player, channel: str) -> Answer:
    return player.service.ask("POST", f"{PATH}/{channel}/test", token=player.token)


def code_of(hook: Receiver) -> str:
    return str(json.loads(hook.posts[-1].body)["code"])


def confirmed(player: Player, hook: Receiver, path: str = SECRET) -> str:
    """A new channel that works."""
    made = add(player, address(hook, path))
    assert made.status == 201, made
    assert confirm(player, made.json["id"], code_of(hook)).status == 200
    return str(made.json["id"])


def refused(answer: Answer, status: int, code: str) -> str:
    """The reason that a problem document gives."""
    assert (answer.status, answer.json["code"]) == (status, code), answer
    assert answer.json["hint"]
    return str(answer.json["detail"])


# --- making and confirming --------------------------------------------------------------------------------------------


def test_a_channel_is_made_confirmed_tested_and_removed(
    service: Inside, players: tuple[Player, Player], hook: Receiver
) -> None:
    alice, _ = players
    settings = {"digest": ["08:00"], "format": "json", "quiet": {"from": "22:00", "until": "07:00"}, "zone": "+01:00"}
    made = add(alice, address(hook), events=["over", "turn"], settings=settings)
    assert made.status == 201
    channel = made.json["id"]
    assert made.json == {
        "id": channel,
        "kind": "webhook",
        "target": f"http://127.0.0.1:{hook.port}/...",
        "events": ["turn", "over"],
        "settings": settings,
        "created": "2026-11-20T12:00:00Z",
        "confirmed": None,
        "failures": 0,
        "off": None,
    }
    first = json.loads(hook.posts[0].body)
    assert (first["event"], first["id"], first["game"]) == ("confirm", f"confirm.{channel}", None)
    assert f"hkoji notify confirm {channel} {first['code']} " in first["text"]
    assert alice.name in first["text"]
    assert "http://inside" in first["text"]
    service.clock.pass_by(60)
    told = confirm(alice, channel, f" {first['code'].upper()} ")
    assert told.json == {**made.json, "confirmed": "2026-11-20T12:01:00Z"}
    assert confirm(alice, channel, "anything").json == told.json
    assert check(alice, channel).json == told.json
    assert json.loads(hook.posts[1].body)["event"] == "test"
    assert listed(alice) == [told.json]
    assert service.ask("DELETE", f"{PATH}/{channel}", token=alice.token).status == 204
    assert listed(alice) == []
    assert len(hook.posts) == 2


def test_only_the_digest_of_a_code_is_kept(service: Inside, players: tuple[Player, Player], hook: Receiver) -> None:
    assert add(players[0], address(hook)).status == 201
    code = code_of(hook)
    assert len(code) == 10
    files = [file.read_bytes() for file in service.data.iterdir()]
    assert any(SECRET.encode() in each for each in files)
    assert not any(code.encode() in each for each in files)


def test_a_wrong_code_changes_nothing_and_few_can_be_tried(players: tuple[Player, Player], hook: Receiver) -> None:
    alice, _ = players
    made = add(alice, address(hook)).json
    code = code_of(hook)
    for wrong in ["", "x", code[:-1], code + "2", "2222222222"][: CODES.count]:
        assert made["id"] in refused(confirm(alice, made["id"], wrong), 403, "forbidden")
    assert listed(alice) == [made]
    refused(confirm(alice, made["id"], code), 429, "too-many-requests")
    assert listed(alice) == [made]
    again = add(alice, address(hook)).json  # another code, which can be tried as often
    assert listed(alice) == [again]
    assert code_of(hook) != code
    refused(confirm(alice, again["id"], code), 403, "forbidden")
    assert confirm(alice, again["id"], code_of(hook)).status == 200


def test_a_code_is_good_for_a_day(service: Inside, players: tuple[Player, Player], hook: Receiver) -> None:
    alice, _ = players
    made = add(alice, address(hook)).json
    service.clock.pass_by(24 * 3600 + 1)
    alice.login()
    refused(confirm(alice, made["id"], code_of(hook)), 404, "not-found")
    assert listed(alice) == []


def test_channels_that_wait_in_vain_take_no_place(
    service: Inside, players: tuple[Player, Player], hook: Receiver
) -> None:
    alice, _ = players
    for number in range(3):
        assert add(alice, address(hook, str(number))).status == 201
    refused(add(alice, address(hook, "3")), 409, "too-many-channels")
    assert len(hook.posts) == len(listed(alice)) == 3
    service.clock.pass_by(24 * 3600 + 1)
    alice.login()
    assert add(alice, address(hook, "3")).status == 201
    assert len(listed(alice)) == 1


def test_an_address_has_one_channel(players: tuple[Player, Player], hook: Receiver) -> None:
    alice, bob = players
    channel = confirmed(alice, hook)
    kept = listed(alice)
    refused(add(alice, address(hook), events=["talk"]), 409, "exists")
    assert listed(alice) == kept
    assert len(hook.posts) == 1
    assert confirmed(bob, hook) != channel  # of each player


def test_without_a_first_notice_there_is_no_channel(players: tuple[Player, Player], hook: Receiver) -> None:
    alice, _ = players
    tried = (301, 302, 307, 308, 400, 404, 410, 500, 503)
    for status in tried:
        hook.behave = answers(status, Location="/elsewhere")
        assert str(status) in refused(add(alice, address(hook)), 422, "not-delivered")
        assert listed(alice) == []
    assert len(hook.posts) == len(tried)


def test_nobody_learns_from_a_refusal_what_the_service_can_reach(players: tuple[Player, Player]) -> None:
    with receiver() as hook:
        port = hook.port
    said = set()
    for found in ([], ["127.0.0.1"], ["10.0.0.1", "93.184.215.14"], ["93.184.215.14"]):
        addresses = [(2, 1, 6, "", (each, port)) for each in found]
        with patch("socket.getaddrinfo", return_value=addresses) as asked:  # no name server is asked
            said.add(refused(add(players[0], f"http://hook.example:{port}/"), 422, "not-delivered"))
        asked.assert_called_once()
    assert said == {f"nothing could be delivered: {UNREACHABLE}"}
    assert listed(players[0]) == []


def test_the_operator_decides_whether_private_addresses_may_be_used(tmp_path: Path, hook: Receiver) -> None:
    with inside(tmp_path / "data") as service:
        alice = Player(service, "alice").register()
        for target in (address(hook), f"https://127.0.0.1:{hook.port}/", "https://127.0.0.1/", "https://[::1]/"):
            refused(add(alice, target), 400, "malformed")
        refused(add(alice, "https://localhost/"), 422, "not-delivered")
        assert (listed(alice), hook.connections) == ([], 0)


NOT_UNDERSTOOD: list[tuple[dict[str, Any], int, str]] = [
    ({"kind": "pager"}, 400, "malformed"),
    ({"kind": "mail", "events": None}, 422, "illegal"),  # it sends no mail
    ({"events": []}, 400, "malformed"),
    ({"target": "ftp://127.0.0.1/"}, 400, "malformed"),
    ({"target": "x" * 2000}, 400, "invalid"),
    ({"settings": {}}, 400, "malformed"),
    ({"settings": {**SETTINGS, "more": 1}}, 400, "not-understood"),
    ({"more": 1}, 400, "invalid"),
]


def test_a_request_that_is_not_understood_is_refused(players: tuple[Player, Player], hook: Receiver) -> None:
    for given, status, code in NOT_UNDERSTOOD:
        answer = add(players[0], **{"target": address(hook), **given})
        assert (answer.status, answer.json["code"]) == (status, code), (given, answer)
        assert answer.json["hint"]
        assert (listed(players[0]), hook.posts) == ([], [])


# --- testing ----------------------------------------------------------------------------------------------------------


def test_a_channel_that_was_given_up_works_again_once_a_test_arrives(
    service: Inside, players: tuple[Player, Player], hook: Receiver
) -> None:
    alice, _ = players
    channel = confirmed(alice, hook)
    with closing(sqlite3.connect(service.data / "hkoji.sqlite3")) as connection:
        connection.execute("UPDATE channel SET failures = 10, off = '2026-11-20T11:00:00Z'")
        connection.commit()
    hook.turns = [answers(500)]
    refused(check(alice, channel), 422, "not-delivered")
    assert (listed(alice)[0]["failures"], listed(alice)[0]["off"]) == (10, "2026-11-20T11:00:00Z")
    assert check(alice, channel).status == 200
    assert (listed(alice)[0]["failures"], listed(alice)[0]["off"]) == (0, None)


def test_nothing_is_tested_before_it_is_confirmed(players: tuple[Player, Player], hook: Receiver) -> None:
    made = add(players[0], address(hook)).json
    refused(check(players[0], made["id"]), 422, "illegal")
    assert len(hook.posts) == 1


def test_a_player_makes_and_tests_only_so_many_channels_in_an_hour(
    players: tuple[Player, Player], hook: Receiver
) -> None:
    """Making and removing channels again and again is no way to send more."""
    alice, bob = players
    for _ in range(TESTS.count - 1):
        made = add(alice, address(hook)).json
    assert confirm(alice, made["id"], code_of(hook)).status == 200
    assert check(alice, made["id"]).status == 200
    kept = listed(alice)
    assert int(refused_wait(check(alice, made["id"]))) > 0
    assert int(refused_wait(add(alice, address(hook, "other")))) > 0
    assert (len(hook.posts), listed(alice)) == (TESTS.count, kept)
    assert add(bob, address(hook)).status == 201  # others are not held up


def refused_wait(answer: Answer) -> str:
    refused(answer, 429, "too-many-requests")
    return answer.headers["retry-after"]


# --- others -----------------------------------------------------------------------------------------------------------


def test_a_channel_is_its_players_own(service: Inside, players: tuple[Player, Player], hook: Receiver) -> None:
    alice, bob = players
    made = add(alice, address(hook)).json
    code, kept = code_of(hook), listed(alice)
    for each in (
        confirm(bob, made["id"], code),
        check(bob, made["id"]),
        service.ask("DELETE", f"{PATH}/{made['id']}", token=bob.token),
        service.ask("DELETE", f"{PATH}/{'0' * 16}", token=alice.token),
    ):
        refused(each, 404, "not-found")
    for path in ("", f"/{made['id']}/confirm", f"/{made['id']}/test"):
        body = {"code": code} if path.endswith("confirm") else None
        assert service.ask("POST", PATH + path, body).status in (400, 401)
    assert service.ask("DELETE", f"{PATH}/{made['id']}").status == 401
    assert (listed(alice), listed(bob), len(hook.posts)) == (kept, [], 1)


def test_an_address_is_in_no_answer(service: Inside, players: tuple[Player, Player], hook: Receiver) -> None:
    """The path behind the host is a secret of some receivers: with it, anybody can post there."""
    alice, bob = players
    channel = confirmed(alice, hook)
    said = [
        add(alice, address(hook)),
        check(alice, channel),
        confirm(alice, channel, "x"),
        *(service.ask("GET", path, token=each.token) for path in (PATH, "/v1/me/games") for each in players),
        add(bob, address(hook)),
        service.ask("GET", f"/v1/players/{alice.name}"),
    ]
    hook.behave = answers(500)
    said += [check(alice, channel), add(bob, address(hook))]
    for answer in said:
        assert SECRET.encode() not in answer.body
        assert SECRET not in str(answer.headers)


def test_the_command_line_names_all_events() -> None:
    assert arguments.EVENTS == EVENTS
