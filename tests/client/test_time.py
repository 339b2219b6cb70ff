"""The time of a game as the client knows it: gifts, calling off, heads, late entries. docs/spec/log.md, "Clock"."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.cli.output import Exit
from hkoji.client import watching
from hkoji.client.kept.evidence import KeptEvidence
from hkoji.client.kept_game import GameTime
from hkoji.client.requests import seconds_ahead
from hkoji.client.transport import HeardTime, HttpAnswer
from hkoji.client.watching import HeadSchedule
from hkoji.errors import (
    ConflictError,
    IllegalError,
    NetworkError,
    NotYourTurnError,
    ServiceError,
    TimeOverError,
    TrustError,
)
from hkoji.game.clock import Pace, parse_time
from tests.support import chance
from tests.support.timed_games import SLACK
from tests.support.timed_players import DAY, InsideTransport, TimedPlayer, TimedWorld, alice, bob, timed_game, world

__all__ = ["alice", "bob", "world"]


def give(player: TimedPlayer, game: str, seconds: int) -> GameTime:
    with player.client.game(game) as held:
        held.current()
        return held.time.give(seconds)


def annul(player: TimedPlayer, game: str) -> GameTime:
    with player.client.game(game) as held:
        held.current()
        return held.time.annul()


def look(player: TimedPlayer, game: str) -> GameTime:
    with player.client.game(game) as held:
        return held.look()[1]


def first_move(player: TimedPlayer, game: str) -> str:
    return player.position(game).legal[0]


def kinds(player: TimedPlayer, game: str) -> list[str]:
    return [line.entry.kind for line in player.log(game)]


# --- what the clock shows ---------------------------------------------------------------------------------------------


def test_without_the_service_the_clock_is_that_of_the_kept_log(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    stated = look(alice, game).reading
    asked = len(world.asked)
    assert alice.client.kept_game(game).time.reading == stated
    assert len(world.asked) == asked


def test_a_game_without_a_clock_asks_for_no_head(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "none")
    world.asked.clear()
    reading = look(bob, game).reading
    assert (reading.text, reading.seat, reading.deadline, reading.reserve) == ("none", None, None, None)
    assert not [each for each in world.asked if "/head" in each]


# --- view and clock in one answer -------------------------------------------------------------------------------------


def tampered_views(change: Callable[[Any], object]) -> Callable[[str, HttpAnswer], HttpAnswer]:  # Any: JSON
    """Changes views that come with a clock."""

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("&clock=true"):
            return answer
        value = answer.json()
        change(value)
        return answer._replace(body=json.dumps(value).encode())

    return tamper


def test_position_and_time_are_one_request(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    give(bob, game, DAY)
    seq = alice.position(game).course.seq
    world.asked.clear()
    assert [gift.seconds for gift in look(alice, game).gifts] == [DAY]
    assert world.asked == [f"GET /v1/games/{game}/view?after={seq}&clock=true"]
    world.asked.clear()
    assert alice("show", game[:8]).code == 0
    assert [each.partition("?")[0] for each in world.asked] == [f"GET /v1/games/{game}/view", "GET /v1/me/talk"]
    world.asked.clear()
    look(bob, game)  # time runs for the opponent, so a signed head comes too
    assert world.asked == [f"GET /v1/games/{game}/view?after={seq}&clock=true"]
    (kept,) = KeptEvidence(bob.folder(game)).heads()
    assert (kept.statement.game, kept.statement.seq) == (game, seq)
    world.asked.clear()
    assert bob("show", game[:8]).code == 0
    assert [each.partition("?")[0] for each in world.asked] == [f"GET /v1/games/{game}/view", "GET /v1/me/talk"]


def test_a_head_that_does_not_come_with_the_view_is_asked_for(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    world.tamper = tampered_views(lambda said: said.pop("signed_head"))
    world.asked.clear()
    look(bob, game)
    assert [each.rpartition("/")[2].partition("?")[0] for each in world.asked] == ["view", "head"]
    assert len(heads(bob, game)) == 1


def with_head(signed: dict[str, Any], said: Any) -> None:  # Any: JSON
    said["signed_head"] = signed


def test_a_head_that_comes_with_the_view_is_checked_like_any_other(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game, other = timed_game(alice, bob), timed_game(alice, bob)
    true = world.service.ask("GET", f"/v1/games/{game}/head").json
    foreign = world.service.ask("GET", f"/v1/games/{other}/head").json
    for signed, reason in (
        ({**true, "sig": foreign["sig"]}, "the service's head does not hold"),
        (foreign, f"answered with game {other[:8]}"),
    ):
        world.tamper = tampered_views(partial(with_head, signed))
        with pytest.raises(TrustError, match=reason):
            look(bob, game)
        assert heads(bob, game) == []
    world.tamper = tampered_views(partial(with_head, {**true, "more": 1}))
    with pytest.raises(ServiceError, match="is not understood"):
        look(bob, game)
    assert heads(bob, game) == []


def test_a_head_that_is_later_than_the_view_brings_the_log(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    """An entry may come between the service's two reads."""
    game = timed_game(alice, bob)
    bob.position(game)

    def moved(said: Any) -> None:  # Any: JSON
        world.tamper = lambda _path, answer: answer
        alice.move(game, first_move(alice, game))
        said["signed_head"] = world.service.ask("GET", f"/v1/games/{game}/head").json

    world.tamper = tampered_views(moved)
    look(bob, game)
    assert bob.position(game).mine
    assert len(heads(bob, game)) == 1


@pytest.mark.parametrize(
    "change", [lambda said: said.pop("clock"), lambda said: said["clock"].update(head="0" * 64)], ids=["none", "other"]
)
def test_a_clock_that_does_not_come_with_the_view_is_asked_for(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, change: Callable[[Any], object]
) -> None:
    """An older service sends none. If an entry comes between the service's two reads, the clock is that of its head."""
    game = timed_game(alice, bob)
    give(bob, game, DAY)
    world.tamper = tampered_views(change)
    world.asked.clear()
    assert [gift.seconds for gift in look(alice, game).gifts] == [DAY]
    assert [each.rpartition("/")[2].partition("?")[0] for each in world.asked] == ["view", "clock"]


# --- gifts ------------------------------------------------------------------------------------------------------------


def test_a_gift_moves_the_deadline_for_both_and_saves_reserve(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    assert give(bob, game, DAY).reading.deadline == "2026-12-08T12:00:00Z"
    assert give(bob, game, 2 * DAY).reading.deadline == "2026-12-09T12:00:00Z"
    seen = look(alice, game)
    assert seen.reading.deadline == "2026-12-09T12:00:00Z"
    assert max(gift.seconds for gift in seen.gifts) == 2 * DAY
    world.pass_by(4 * DAY)
    alice.move(game, first_move(alice, game))
    assert kinds(alice, game)[-2:] == ["move", "credit"]
    assert look(bob, game).reading.reserve == (14 * DAY, 14 * DAY)


def test_time_is_given_only_to_the_opponent(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    with pytest.raises(NotYourTurnError):
        give(alice, game, DAY)
    assert not [each for each in world.asked if each.endswith("/statements")]


def test_no_time_is_given_where_no_clock_runs(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "none")
    with pytest.raises(IllegalError, match="no clock"):
        give(bob, game, DAY)
    assert not [each for each in world.asked if each.endswith("/statements")]


def test_a_gift_that_the_giver_has_not_signed_is_not_counted(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    give(bob, game, DAY)

    def tamper(said: Any) -> None:  # Any: JSON
        said["clock"]["gifts"][0]["seconds"] = 9 * DAY

    world.tamper = tampered_views(tamper)
    seen = look(alice, game)
    assert (seen.gifts, seen.reading.deadline) == ((), "2026-12-07T12:00:00Z")
    assert any("gift that does not hold" in said for said in alice.said)


# --- calling off ------------------------------------------------------------------------------------------------------


def test_nobody_calls_off_what_nobody_has_joined(world: TimedWorld, alice: TimedPlayer) -> None:
    game = alice("new").out.strip()
    with pytest.raises(IllegalError, match="nobody has joined"):
        annul(alice, game)
    assert not [each for each in world.asked if each.endswith("/statements")]


# --- too late ---------------------------------------------------------------------------------------------------------


def test_a_late_move_is_refused_and_not_kept_for_later(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "3d")
    action = first_move(alice, game)
    world.pass_by(3 * DAY + 1)
    before = kinds(bob, game)
    with pytest.raises(TimeOverError):
        alice.move(game, action)
    assert alice.client.kept_game(game).unsent[0].waits is False
    assert kinds(bob, game) == before
    world.pass_by(SLACK)
    world.let_keepers_look()
    assert kinds(alice, game)[-2:] == ["timeout", "end"]
    outcome = alice.position(game).course.outcome
    assert outcome is not None
    assert (outcome.reason, outcome.winner) == ("timeout", 1)


# --- the machine's clock ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("off", "warned"), [(121, "earlier"), (120, ""), (-120, ""), (-121, "later")])
def test_a_receipt_far_from_the_time_that_counts_is_remarked_on(
    alice: TimedPlayer, bob: TimedPlayer, off: int, warned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = timed_game(alice, bob)
    action = first_move(alice, game)
    alice.said.clear()
    monkeypatch.setattr(chance, "NOON", chance.NOON + off)
    alice.move(game, action)
    found = [said for said in alice.said if "than the time that its answers state" in said]
    assert [warned in said for said in found] == ([True] if warned else [])


@pytest.mark.parametrize("ahead", [3 * 3600, -3 * 3600])
def test_time_is_counted_by_the_services_clock(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, ahead: int
) -> None:
    """Of no game it says something false, and it warns once."""
    games = [timed_game(alice, bob, "2h") for _ in range(3)]
    world.set_players_ahead(ahead)
    alice.said.clear()
    for words in (("next",), ("games",)):
        done = alice(*words, "--json")
        assert [each["overdue"] for each in done.json] == [False] * 3
        assert len([said for said in done.err.splitlines() if "warning" in said]) == 1
        shown = alice(*words).out
        assert shown.count("1h59m") + shown.count(" 2h ") == 3
    shown = alice("show", games[0]).out
    assert "You have until" in shown
    clock = alice("clock", games[0], "--json").json
    assert clock["clock"]["overdue"] is False
    assert 0 <= clock["spent"] < 60
    assert "You have until" in alice("show", games[0], "--offline").out  # what was heard last is kept
    said = alice("move", games[0], first_move(alice, games[0])).err
    assert said.count("warning") == 1
    world.set_players_ahead(0)
    assert "warning" not in alice("next").err
    assert 'clock_ahead": 0' in (alice.path / "pins.json").read_text()


@pytest.mark.parametrize("ahead", [3 * 3600, -3 * 3600])
@pytest.mark.parametrize("heard", ["next", "show", "clock"])
def test_time_is_counted_by_the_services_clock_while_it_is_down(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, ahead: int, heard: str
) -> None:
    """The difference was heard by one command, and each later command is a process of its own."""
    game = timed_game(alice, bob, "2h")
    world.set_players_ahead(ahead)
    assert alice(*([heard] if heard == "next" else [heard, game])).code == 0

    def down(*_: object) -> HttpAnswer:
        raise NetworkError("http://inside", "it is down")

    with patch.object(InsideTransport, "request", down):
        for words in (["show", game], ["next"], ["games"], ["clock", game]):
            for more, code in (["--offline"], Exit.OK), ([], Exit.NETWORK):
                done = alice(*words, *more)
                assert done.code == code
                if words[0] == "clock" and not more:
                    continue  # it has nothing to say
                assert re.search(r" (2h|1h59m)\b|\((2h|1h59m)\)", done.out), (words, more)
                assert "over" not in done.out
        assert [each["overdue"] for each in alice("next", "--offline", "--json").json] == [False]


@pytest.mark.parametrize("ahead", [3 * 3600, -3 * 3600])
def test_a_saved_copy_has_the_time_of_the_service(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, ahead: int
) -> None:
    """The clock of the player's machine was wrong when the service answered, to a question or to a move."""
    game = timed_game(alice, bob, "1d")
    world.set_players_ahead(ahead)
    for words in (("show", game), ("move", game, first_move(alice, game))):
        os.utime(alice.folder(game) / "lock", (0, 0))
        assert alice(*words).code == 0
        as_of = parse_time(alice("show", game, "--offline", "--json").json["as_of"])
        assert abs(as_of - parse_time("1970-01-01T00:00:00Z") - (time.time() - ahead)) < 60


def test_a_service_whose_answers_state_another_time_than_it_records_is_remarked_on(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    """The player's own clock is right, and nothing else is said of it."""
    game = timed_game(alice, bob, "1d")
    world.players_ahead = 7200
    said = alice("move", game, first_move(alice, game)).err
    assert "warning: the service has recorded your entry 2h later than the time that its answers state\n" in said
    said = alice("show", game).err
    assert "warning: the service has signed a time 7200 seconds later than the time of its answers\n" in said
    assert "ahead of the clock of this machine" not in said


def test_a_clock_that_is_a_little_wrong_is_not_remarked_on(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob, "2h")
    world.set_players_ahead(100)
    done = alice("show", game)
    assert "warning" not in done.err
    assert "(2h)" in done.out or "(1h59m" in done.out
    assert "clock_ahead" not in (alice.path / "pins.json").read_text()


def test_an_offer_expires_by_the_services_clock(world: TimedWorld, alice: TimedPlayer) -> None:
    world.set_players_ahead(3 * 3600)
    made = alice("new", "--expires", "1h", "--json").json
    expires = parse_time(made["agreement"]["expires"])
    assert abs(expires - 3600 - parse_time(world.service.ask("GET", "/v1/service").json["time"])) < 60


@pytest.mark.parametrize(
    "date",
    [
        "",
        "yesterday",
        "Fri, 27 Foo 2026 12:00:00 GMT",
        "Fri, 27 Nov 2026 12:00:00 +0000",
        "2026-11-27 12:00:00Z",
        "2026-13-27T12:00:00Z",
    ],
)
def test_a_header_that_is_no_date_changes_nothing(date: str) -> None:
    assert seconds_ahead(HeardTime(date, 0.0)) is None


@pytest.mark.parametrize("stated", ["Thu, 26 Nov 2026 12:00:07 GMT", "2026-11-26T12:00:07Z"])
def test_a_time_is_read_to_the_second(stated: str) -> None:
    assert seconds_ahead(HeardTime(stated, 1795694400.9)) == 7


# --- heads ------------------------------------------------------------------------------------------------------------


def heads(player: TimedPlayer, game: str) -> list[str]:
    return [each.statement.at for each in KeptEvidence(player.folder(game)).heads()]


def test_a_player_who_waits_keeps_a_head(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    look(alice, game)
    assert heads(alice, game) == []  # it is alice's own turn
    world.pass_by(600)
    look(bob, game)
    (at,) = heads(bob, game)
    assert 0 <= parse_time("2026-11-20T12:10:00Z") - parse_time(at) <= SLACK


def test_heads_are_fetched_every_five_minutes_and_once_more_when_the_time_is_over(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob, "10m")
    seconds = 0.0
    schedule = HeadSchedule(lambda: seconds)
    fetched = []

    def at(moment: float) -> bool:
        nonlocal seconds
        world.pass_by(int(moment - seconds))
        seconds = moment
        world.asked.clear()
        with bob.client.game(game) as held:
            schedule.look(held)
        fetched.append(any(each.endswith("/head") for each in world.asked))
        return fetched[-1]

    assert at(0)
    assert not at(299)
    assert not schedule.is_due(game)
    assert at(300)
    assert at(600)
    assert not at(600 + SLACK)
    assert at(600 + SLACK + 1)


def test_a_late_entry_that_the_service_has_taken_is_refused_and_proved(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob, "3d")
    action = first_move(alice, game)
    world.pass_by(3 * DAY + 60)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Pace, "is_late", lambda *_: False)  # a service that forgives, and her own client
        alice.move(game, action)
    before = (bob.folder(game) / "log.jsonl").read_bytes()
    with pytest.raises(TrustError, match="there was time until 2026-11-23T12:00:00Z"):
        bob.position(game)
    assert (bob.folder(game) / "log.jsonl").read_bytes() == before
    written = bob.client.evidence(game, cards=True)
    result = audit_file(written.text)
    assert {finding.signer for finding in result.findings} - {None}
    assert all("server" in (finding.signer or "server") for finding in result.findings)


def test_a_sent_statement_that_the_game_has_overtaken_is_a_conflict(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    with bob.client.game(game) as held:
        held.current()
        alice.move(game, first_move(alice, game))
        with pytest.raises(ConflictError):
            held.time.give(DAY)
    assert look(bob, game).gifts == ()


def test_waiting_ends_when_the_game_is_over(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "3d")
    world.pass_by(3 * DAY + SLACK + 1)
    world.let_keepers_look()
    assert watching.wait(bob.client, game).over
