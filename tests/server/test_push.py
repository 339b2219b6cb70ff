"""Channels to browsers: how a player makes them, what is pushed for real games, and the effect of each answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.service.games.notice_rules import TURN_WAIT
from hkoji_server.service.notices.guarded_post import UNREACHABLE, GuardedPoster
from hkoji_server.service.notices.posting import LONGEST_WAIT
from hkoji_server.service.notices.push import LONGEST_KEPT, PushCourier
from hkoji_server.service.notices.web_push import PADDED, TOKEN_SECONDS
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import make_code
from hkoji_server.store.choices import MOST_BROWSERS, MOST_CHANNELS
from hkoji_server.store.notices import outbox_row, writing

from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.couriers import Told, told
from tests.support.push_service import Browser, base64url, proof_of
from tests.support.receiver import Receiver, answers, hook
from tests.support.rows import a_kept_channel
from tests.support.sealed_service import ServedTable
from tests.support.service import AT, Answer, Player, begin, two_players
from tests.support.service_in_process import Inside, inside
from tests.support.timed_games import a_gift, move_of, state, timed

__all__ = ["hook"]

PATH = "/v1/me/channels"
SETTINGS: dict[str, Any] = {"digest": [], "format": "json", "quiet": None, "zone": "+00:00"}  # Any: JSON
DAYS = Agreement(TimeControl(3 * DAY, 0, 0, 0))
HOUR = 3600


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", webhook_private=True) as service:
        yield service


@pytest.fixture
def browser(hook: Receiver) -> Browser:
    hook.behave = answers(201)
    return Browser(hook)


def add(player: Player, browser: Browser, **given: Any) -> Answer:  # Any: JSON
    body = {"kind": "push", "target": browser.endpoint, "keys": browser.keys, "settings": SETTINGS, **given}
    return player.service.ask("POST", PATH, body, player.token)


def listed(player: Player) -> Any:  # Any: JSON
    answer = player.service.ask("GET", PATH, token=player.token)
    assert answer.status == 200
    return answer.json["channels"]


def post(player: Player, channel: str, what: str, **body: str) -> Answer:
    return player.service.ask("POST", f"{PATH}/{channel}/{what}", body or None, player.token)


def refused(answer: Answer, status: int, code: str) -> str:
    """The reason that a problem document gives."""
    assert (answer.status, answer.json["code"]) == (status, code), answer
    assert answer.json["hint"]
    return str(answer.json["detail"])


# --- making and confirming --------------------------------------------------------------------------------------------


def test_a_channel_is_made_confirmed_by_its_push_tested_and_removed(
    service: Inside, players: tuple[Player, Player], browser: Browser
) -> None:
    alice, _ = players
    made = add(alice, browser, events=["over", "turn"], lang="it")
    assert made.status == 201, made
    channel = made.json["id"]
    assert made.json == {
        "id": channel,
        "kind": "push",
        "target": browser.endpoint.removesuffix(browser.path) + "/...",
        "events": ["turn", "over"],
        "settings": SETTINGS,
        "created": "2026-11-20T12:00:00Z",
        "confirmed": None,
        "failures": 0,
        "off": None,
    }
    (first,) = browser.pushed()
    assert first == {"channel": channel, "code": first["code"], "event": "confirm", "lang": "it", "v": 1}
    assert refused(post(alice, channel, "confirm", code="x"), 403, "forbidden")
    told = post(alice, channel, "confirm", code=first["code"])
    assert told.json == {**made.json, "confirmed": "2026-11-20T12:00:00Z"}
    assert post(alice, channel, "test").json == told.json
    assert browser.pushed()[1:] == [{"event": "test", "lang": "it", "v": 1}]
    assert service.ask("DELETE", f"{PATH}/{channel}", token=alice.token).status == 204
    assert listed(alice) == []


def test_the_sender_is_the_one_that_the_service_names(
    service: Inside, players: tuple[Player, Player], browser: Browser, hook: Receiver
) -> None:
    assert add(players[0], browser).status == 201
    (received,) = hook.posts
    claims, key = proof_of(received)
    assert key == service.ask("GET", "/v1/service").json["push"]
    assert claims == {
        "aud": f"http://127.0.0.1:{hook.port}",
        "exp": int(service.clock.now.timestamp()) + TOKEN_SECONDS,
    }
    assert received.headers["content-encoding"] == "aes128gcm"
    assert received.headers["content-type"] == "application/octet-stream"
    assert received.headers["ttl"] == str(DAY)


def test_an_https_origin_is_the_subject_and_the_key_stays_after_a_restart(
    tmp_path: Path, browser: Browser, hook: Receiver
) -> None:
    keys = set()
    for name in ("alice", "bob"):
        with inside(tmp_path / "data", webhook_private=True, origin="https://hanamikoji.example") as service:
            assert add(Player(service, name).register(), browser).status == 201
            keys.add(service.ask("GET", "/v1/service").json["push"])
    proofs = [proof_of(each) for each in hook.posts]
    assert {proof.key for proof in proofs} == keys
    assert len(keys) == 1
    assert [proof.claims["sub"] for proof in proofs] == ["https://hanamikoji.example"] * 2


WRONG: dict[str, dict[str, Any]] = {  # Any: JSON
    "no keys": {"keys": None},
    "one key": {"keys": {"auth": base64url(b"x" * 16)}},
    "a key more": {"keys": {**Browser().keys, "more": "x"}},
    "a short secret": {"keys": {**Browser().keys, "auth": base64url(b"x" * 15)}},
    "a point that is not on the curve": {"keys": {**Browser().keys, "p256dh": base64url(b"\4" + b"\0" * 63 + b"\1")}},
    "a key with a quote": {"keys": {**Browser().keys, "auth": '"'}},
    "a key of another kind": {"keys": {**Browser().keys, "auth": 7}},
    "an endless key": {"keys": {**Browser().keys, "p256dh": "A" * 10_000}},
    "another language": {"lang": "tlh"},
    "another scheme": {"target": "ftp://127.0.0.1/"},
    "an address with a quote": {"target": 'https://push.example/"'},
    "an address in other letters": {"target": "https://push.example/è"},
    "no address": {"target": ""},
    "no events": {"events": []},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_refused_and_changes_nothing(
    name: str, players: tuple[Player, Player], browser: Browser, hook: Receiver
) -> None:
    answer = add(players[0], browser, **WRONG[name])
    assert answer.status == 400, answer
    assert answer.json["hint"]
    assert (listed(players[0]), hook.connections) == ([], 0)


def test_a_browser_in_a_private_network_is_refused_by_the_guard(
    tmp_path: Path, browser: Browser, hook: Receiver
) -> None:
    with inside(tmp_path / "data") as service:
        alice = Player(service, "alice").register()
        for target in (browser.endpoint, "https://127.0.0.1/push", "https://10.0.0.1/", "https://[::1]/"):
            refused(add(alice, browser, target=target), 400, "malformed")
        assert UNREACHABLE in refused(add(alice, browser, target="https://localhost/push"), 422, "not-delivered")
        assert listed(alice) == []
    assert hook.connections == 0


def test_without_a_first_push_there_is_no_channel(
    players: tuple[Player, Player], browser: Browser, hook: Receiver
) -> None:
    for status in (301, 307, 400, 401, 403, 404, 410, 413, 429, 500):
        hook.behave = answers(status, Location="/elsewhere")
        assert str(status) in refused(add(players[0], browser), 422, "not-delivered")
        assert listed(players[0]) == []
    assert {each.target for each in hook.posts} == {browser.path}  # no redirect was followed


def test_a_player_has_five_browsers_beside_three_other_channels(
    players: tuple[Player, Player], browser: Browser, hook: Receiver
) -> None:
    alice, _ = players
    for number in range(MOST_CHANNELS):
        body = {"kind": "webhook", "target": f"http://127.0.0.1:{hook.port}/{number}", "settings": SETTINGS}
        assert alice.service.ask("POST", PATH, body, alice.token).status == 201
    for number in range(MOST_BROWSERS):
        assert add(alice, Browser(hook, f"/{number}")).status == 201
    kept, posts = listed(alice), len(hook.posts)
    assert f"{MOST_BROWSERS} channels" in refused(add(alice, Browser(hook, "/5")), 409, "too-many-channels")
    assert (listed(alice), len(hook.posts)) == (kept, posts)


def test_the_secrets_of_a_browser_are_in_no_answer(
    players: tuple[Player, Player], browser: Browser, hook: Receiver
) -> None:
    alice, bob = players
    made = add(alice, browser)
    said = [made, post(alice, made.json["id"], "confirm", code=browser.pushed()[0]["code"])]
    said += [add(alice, browser), add(bob, browser), post(alice, made.json["id"], "test")]
    hook.behave = answers(500)
    said += [post(alice, made.json["id"], "test"), add(bob, browser)]
    said += [each.service.ask("GET", PATH, token=each.token) for each in players]
    for answer in said:
        for secret in (browser.path, *browser.keys.values()):
            assert secret.encode() not in answer.body


# --- what is pushed ---------------------------------------------------------------------------------------------------


@pytest.fixture
def pushing(tmp_path: Path) -> Iterator[Told]:
    """A service that pushes when the test says so."""
    with told(tmp_path / "told", webhook_private=True) as service:
        courier = PushCourier(
            GuardedPoster(private=True, longest=1.0),
            PrivateKey.from_seed(b"k" * 32),
            service.delivery._sources,
            RateLimits(),
            origin="http://inside",
        )
        service.delivery.couriers = {"push": courier}
        yield service


def subscribed(service: Told, player: Player, browser: Browser, **changes: Any) -> str:  # Any: columns
    """A channel of a player that works."""
    fields = {"name": f"of-{player.name}", "target": browser.subscription, **changes}
    return str(service.add(player.name, kind="push", **fields).id)


def exists(service: Told, channel: str) -> bool:
    return service.run(service.store.channel(channel)) is not None


def started(service: Told, browser: Browser) -> tuple[str, Player, Player, str]:
    """A game, who must move, the other one, and the other one's channel."""
    players = two_players(service.service)
    game, mover, other = timed(players, DAYS)
    return game, mover, other, subscribed(service, other, browser)


def test_a_turn_is_pushed_with_what_a_webhook_is_told_and_no_card(pushing: Told, browser: Browser) -> None:
    game, mover, other, _ = started(pushing, browser)
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert browser.pushed() == [
        {
            "deadline": pushing.service.ask("GET", f"/v1/games/{game}/clock").json["deadline"],
            "event": "turn",
            "game": game,
            "lang": "it",
            "opponent": mover.name,
            "v": 1,
        }
    ]
    assert pushing.run(pushing.store.next_notice(["push"])) is not None  # its reminders
    assert other.course(game).actor is not None


def test_a_push_of_a_release_that_is_owed_does_not_say_that_it_is_the_players_turn(
    pushing: Told, browser: Browser, hook: Receiver
) -> None:
    players, sides = two_players(pushing.service), (browser, Browser(hook, "/other"))
    for player, own in zip(players, sides, strict=True):
        subscribed(pushing, player, own)
    table = ServedTable(players, Hanamikoji(), agreement=DAYS, deposit=(False, False))
    while table.course.debtor is None:
        table.go_on()
    debtor = table.course.debtor
    pushing.deliver(TURN_WAIT)
    pushing.deliver(2 * DAY)
    told = [(each["event"], each["game"]) for each in sides[debtor].pushed()]
    assert told[-2:] == [("release", table.game)] * 2


def test_pushes_differ_in_nothing_that_a_push_service_could_read_the_game_from(
    pushing: Told, browser: Browser, hook: Receiver
) -> None:
    """The lengths are equal, texts are encrypted anew, and the topic is equal for what replaces each other."""
    game, mover, other, _ = started(pushing, browser)
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    while len(browser.pushed()) < 3:
        pushing.deliver(HOUR)
    assert [each["event"] for each in browser.pushed()] == ["turn", "remind1", "remind2"]
    assert {len(each.body) for each in hook.posts} == {PADDED + 102}
    assert len({each.body for each in hook.posts}) == len({each.body[:16] for each in hook.posts}) == 3
    assert len({each.headers["topic"] for each in hook.posts}) == 1
    assert ["urgency" in each.headers for each in hook.posts] == [False, False, True]
    assert hook.posts[-1].headers["urgency"] == "high"
    for received in hook.posts:
        shown = str(received.headers) + received.target
        assert not any(secret in shown for secret in (game, game[:8], mover.name, other.name))
    left = [int(each.headers["ttl"]) for each in hook.posts]
    assert left[0] == 3 * DAY - TURN_WAIT
    assert 0 < left[2] <= 4 * HOUR < left[1] <= DAY


def test_each_class_of_a_game_has_its_topic_in_each_browser(pushing: Told, browser: Browser, hook: Receiver) -> None:
    """Equal topics would tell a push service who plays whom."""
    players, other = two_players(pushing.service), Browser(hook, "/other")
    for player, own in zip(players, (other, browser), strict=True):
        subscribed(pushing, player, own)
    games = [begin(*players, agreement=DAYS) for _ in range(2)]
    for game in games:
        for player in players:
            assert player.say(game, "hello").status == 201
        while players[0].course(game).actor == 0:
            players[0].send(move_of(players[0], game))
        assert state(players[0], game, a_gift(players[0], game, DAY)).status == 201
    pushing.deliver(TURN_WAIT)
    of_topic: dict[str, set[tuple[str, str, str]]] = {}
    for received in hook.posts:
        at = browser if received.target == browser.path else other
        said = json.loads(at.open(received.body))
        kind = {"turn": "turn", "talk": "talk"}.get(said["event"], "rest")
        of_topic.setdefault(received.headers["topic"], set()).add((at.path, said["game"], kind))
    assert all(re.fullmatch("[A-Za-z0-9_-]{32}", topic) for topic in of_topic)  # RFC 8030, 5.4
    told = {(browser.path, game, kind) for game in games for kind in ("turn", "talk", "rest")}
    assert {each for (each,) in of_topic.values()} >= told | {(other.path, game, "talk") for game in games}


def test_a_push_about_nothing_that_ends_is_kept_for_28_days(pushing: Told, browser: Browser, hook: Receiver) -> None:
    players = two_players(pushing.service)
    subscribed(pushing, players[1], browser)
    players[0].join(players[1].new())
    pushing.deliver()
    assert [each["event"] for each in browser.pushed()] == ["joined"]
    assert hook.posts[0].headers["ttl"] == str(LONGEST_KEPT)


def test_a_channel_that_cannot_be_told_holds_up_no_other(pushing: Told, browser: Browser) -> None:
    """An append that sees a channel while it is removed may write a notice. Another version knew other languages."""
    game, mover, other, _ = started(pushing, browser)
    late = outbox_row(game, 1, "over", "0" * 16, "push", AT)
    pushing.run(pushing.store._holding(lambda connection: connection.execute(writing("sqlite"), [late])))
    subscribed(pushing, other, browser, name="odd", target=browser.subscription.replace('"it"', '"tlh"'))
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert [each["event"] for each in browser.pushed()] == ["turn"]
    assert [each["off"] for each in listed(other)] == [None, None]
    assert pushing.run(pushing.store.remove_stray_notices()) == 0  # it was deleted


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_is_no_more_takes_its_channel_along(
    status: int, pushing: Told, browser: Browser, hook: Receiver
) -> None:
    game, mover, other, channel = started(pushing, browser)
    hook.behave = answers(status)
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert len(hook.posts) == 1
    assert not exists(pushing, channel)
    assert pushing.run(pushing.store.next_notice(["push"])) is None  # its reminders went with it
    assert listed(other) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_push_service_that_does_not_take_the_service_turns_the_channel_off(
    status: int, pushing: Told, browser: Browser, hook: Receiver
) -> None:
    game, mover, other, channel = started(pushing, browser)
    hook.behave = answers(status)
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert len(hook.posts) == 1
    assert pushing.channel(channel).off is not None
    assert [each["off"] is not None for each in listed(other)] == [True]  # where the player's page reads it
    assert pushing.run(pushing.store.next_notice(["push"])) is None


def test_a_push_that_is_too_large_is_not_sent_again(pushing: Told, browser: Browser, hook: Receiver) -> None:
    game, mover, _, channel = started(pushing, browser)
    hook.turns = [answers(413)]
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    pushing.deliver(8 * HOUR)
    assert len(hook.posts) == 1
    assert (pushing.channel(channel).works, pushing.channel(channel).failures) == (True, 1)


@pytest.mark.parametrize(("asked", "seconds"), [("7", 7), ("999999", LONGEST_WAIT)])
@pytest.mark.parametrize("status", [429, 503])
def test_a_push_service_can_ask_to_wait_but_not_for_ever(
    status: int, asked: str, seconds: int, pushing: Told, browser: Browser, hook: Receiver
) -> None:
    game, mover, _, channel = started(pushing, browser)
    hook.turns = [answers(status, Retry_After=asked)]
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    pushing.deliver(seconds - 1)
    assert len(hook.posts) == 1
    pushing.deliver(1)
    assert [each["event"] for each in browser.pushed()] == ["turn", "turn"]
    assert pushing.channel(channel).works


@pytest.mark.parametrize("status", [301, 307, 400, 500, 502])
def test_after_any_other_answer_it_is_sent_again(status: int, pushing: Told, browser: Browser, hook: Receiver) -> None:
    game, mover, _, channel = started(pushing, browser)
    hook.turns = [answers(status, Location="/elsewhere")]
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert len(hook.posts) == 1
    pushing.deliver(60)
    assert [each.target for each in hook.posts] == [browser.path] * 2
    assert pushing.channel(channel).works
    assert hook.posts[0].body != hook.posts[1].body  # encrypted anew


def test_a_slow_push_service_is_not_waited_for(pushing: Told, browser: Browser, hook: Receiver) -> None:
    game, mover, _, channel = started(pushing, browser)

    def wait(_: object) -> None:
        hook.released.wait(30)

    hook.turns = [wait]
    mover.send(move_of(mover, game))
    began = time.monotonic()
    pushing.deliver(TURN_WAIT)
    assert time.monotonic() - began < 10
    assert (len(hook.posts), pushing.channel(channel).works) == (1, True)
    pushing.deliver(60)
    assert [each["event"] for each in browser.pushed()] == ["turn", "turn"]


def test_a_browser_that_has_moved_inside_the_network_is_not_pushed_to(
    pushing: Told, browser: Browser, hook: Receiver
) -> None:
    """Its name leads elsewhere since the channel was made."""
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    game, mover, other, _ = started(pushing, browser)
    courier = pushing.delivery.couriers["push"]
    assert isinstance(courier, PushCourier)
    courier._poster = GuardedPoster(resolve=resolve)
    moved = json.loads(browser.subscription) | {"endpoint": "https://push.example/token"}
    subscribed(pushing, other, browser, name="moved", target=json.dumps(moved, separators=(",", ":")))
    mover.send(move_of(mover, game))
    pushing.deliver(TURN_WAIT)
    assert ("push.example", 443) in asked
    assert (hook.connections, pushing.channel("moved").works) == (0, True)


# --- the end of a channel ---------------------------------------------------------------------------------------------


def test_revocation_and_recovery_leave_no_browser(
    service: Inside, players: tuple[Player, Player], browser: Browser
) -> None:
    alice, bob = players
    for player in players:
        made = add(player, browser)
        code = browser.pushed()[-1]["code"]
        assert post(player, made.json["id"], "confirm", code=code).status == 200
    kept = listed(bob)
    assert service.ask("POST", "/v1/players/alice/revocation", alice.revoking()).status == 200
    assert service.ask("GET", PATH, token=alice.token).status == 401

    async def make_another() -> tuple[int, str]:
        """One that was asked for before the revocation, by a request that took longer."""
        async with service.store() as store:
            left = len(await store.channels("alice"))
            late = a_kept_channel("late", "alice", "push", browser.subscription, ("turn",), json.dumps(SETTINGS), AT)
            assert await store.add_channel(late)
            return left, (await make_code(store, service.app._sources, DAY, name="alice")).code

    left, code = service.runner.run(make_another())
    assert left == 0
    new = PrivateKey.from_seed(b"n" * 32)
    assert service.ask("POST", "/v1/players/alice/recovery", alice.recovering(new, code)).status == 200
    again = Player(service, "alice", new).login()
    assert (listed(again), listed(bob)) == ([], kept)
