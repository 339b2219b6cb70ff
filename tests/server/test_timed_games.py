"""Games with a clock: what comes in time, what comes too late, what the keeper writes. docs/spec/log.md, "Clock"."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server import admin
from hkoji_server.process.metrics import Metrics
from hkoji_server.store.contract import Store

from hkoji import referee
from hkoji.errors import IllegalError
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, TimeControl
from hkoji.game.submission import Submission
from hkoji.log.line import make_entry, sign_entry
from tests.support.service import Player, begin, offer_of, two_players
from tests.support.service_in_process import Inside
from tests.support.timed_games import (
    AN_HOUR,
    HOUR,
    SLACK,
    inside_with_keeper,
    kinds,
    let_keepers_look,
    log_of,
    move_of,
    owing,
    refused,
    service,
    summary_of,
    verify,
)
from tests.support.times import log_time

__all__ = ["service"]


# --- agreements -------------------------------------------------------------------------------------------------------


def test_the_offer_has_the_whole_agreement_that_was_asked_for(players: tuple[Player, Player]) -> None:
    alice, _ = players
    wanted = Agreement(TimeControl(259_200, 1_209_600, 0, 1_209_600, "67", "+01:00"), "2026-12-05T12:00:00Z", True)
    game = alice.new(agreement=wanted)
    offer = alice.lines(game)[0].entry
    assert offer.seen is None
    assert offer.body["agreement"] == wanted.to_json()
    shown = summary_of(alice, game)
    assert (shown["agreement"], shown["deadline"], shown["overdue"]) == (wanted.to_json(), wanted.expires, False)
    assert alice.service.ask("GET", "/v1/service").json["slack"] == 120


@pytest.mark.parametrize(
    ("agreement", "taken"),
    [
        (Agreement(TimeControl(HOUR, 0, 0, 0)), True),
        (Agreement(TimeControl(0, HOUR, 0, HOUR)), True),
        (Agreement(TimeControl(HOUR // 2, HOUR // 2, 0, HOUR // 2)), True),
        (Agreement(TimeControl(HOUR - 1, 0, 0, 0)), False),
        (Agreement(TimeControl(HOUR // 2, HOUR // 2 - 1, HOUR, HOUR)), False),
        (Agreement(expires="2027-01-19T12:00:00Z"), True),
        (Agreement(expires="2027-01-19T12:00:01Z"), False),
        (Agreement(expires="2026-11-20T12:00:01Z"), True),
        (Agreement(expires="2026-11-20T12:00:00Z"), False),
    ],
)
def test_agreements_beyond_the_limits_are_refused(
    service: Inside, players: tuple[Player, Player], agreement: Agreement, taken: bool
) -> None:
    answer = service.ask("POST", "/v1/offers", offer_of(agreement=agreement), players[0].token)
    if taken:
        assert answer.status == 201
        return
    refused(answer, 422, "illegal")
    assert admin.stats(service.data)["games"] == {"total": 0}


@pytest.mark.parametrize("change", ["missing", "null", "extra", "rated without a clock"])
def test_an_offer_names_the_whole_agreement(service: Inside, players: tuple[Player, Player], change: str) -> None:
    body = offer_of()
    match change:
        case "missing":
            del body["agreement"]
        case "null":
            body["agreement"] = None
        case "extra":
            body["agreement"]["stakes"] = 1
        case _:
            body["agreement"]["rated"] = True
    assert service.ask("POST", "/v1/offers", body, players[0].token).status == 400
    assert admin.stats(service.data)["games"] == {"total": 0}


# --- in time and late -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [0, 1])
def test_a_move_at_the_deadline_is_in_time_and_one_second_later_it_is_not(
    service: Inside, players: tuple[Player, Player], late: int
) -> None:
    game = begin(*players, agreement=AN_HOUR)
    mover = owing(players, game)
    move, before = move_of(mover, game), log_of(mover, game)
    deadline = summary_of(mover, game)["deadline"]
    service.clock.pass_by(HOUR + late)
    answer = mover.send(move)
    if not late:
        assert answer.status == 201
        assert mover.lines(game)[-1].receipt.receipt.at == deadline  # type: ignore[union-attr] # it has one
        verify(mover, game)
        return
    refused(answer, 409, "time-over")
    assert answer.json["deadline"] == deadline
    assert (answer.json["seq"], answer.json["head"]) == mover.head(game)
    assert log_of(mover, game) == before


def test_an_entry_with_another_time_of_record_is_refused(players: tuple[Player, Player]) -> None:
    game = begin(*players, agreement=AN_HOUR)
    mover = owing(players, game)
    true = move_of(mover, game)
    entry, before = true.entry, log_of(mover, game)
    for seen in ("2026-11-20T11:59:59Z", "2026-11-20T12:00:01Z"):
        other = make_entry(
            at=entry.at, body=entry.body, by=entry.by, game=game, kind=entry.kind, prev=entry.prev, seen=seen,
            seq=entry.seq,
        )  # fmt: skip
        answer = mover.send(Submission(other, sign_entry(other, mover.key), true.opening))
        refused(answer, 409, "conflict")
        assert log_of(mover, game) == before
    assert mover.send(true).status == 201


# --- timeouts ---------------------------------------------------------------------------------------------------------


def test_the_keeper_ends_a_game_when_the_slack_has_passed_too(service: Inside, players: tuple[Player, Player]) -> None:
    game = begin(*players, agreement=AN_HOUR)
    untimed = begin(*players)
    mover = owing(players, game)
    other = players[1 - players.index(mover)]
    move, before = move_of(mover, game), log_of(mover, game)
    foreign = other.entry(game, other.head(game), entry_kinds.Resign())
    deadline = summary_of(mover, game)["deadline"]
    for passed, late in ((HOUR, False), (120, False), (1, True)):
        assert log_of(mover, game) == before
        assert not summary_of(mover, game)["overdue"]
        service.clock.pass_by(passed)
        if not late:
            let_keepers_look(service)
    assert summary_of(mover, game)["overdue"]
    let_keepers_look(service)
    timeout, end = (line.entry for line in mover.lines(game)[-2:])
    assert (timeout.kind, timeout.by, timeout.body) == ("timeout", "server", {"seat": players.index(mover)})
    assert timeout.at > deadline
    assert (end.kind, end.body["result"]) == ("end", {"reason": "timeout", "winner": players.index(other)})
    verify(mover, game)
    after = log_of(mover, game)
    answer = mover.send(move)
    refused(answer, 409, "time-over")
    assert "deadline" not in answer.json  # the log does not say it, since a gift may have moved it
    assert timeout.at not in answer.json["detail"]
    refused(other.send(foreign), 409, "conflict")
    assert log_of(mover, game) == after
    shown = summary_of(mover, game)
    assert (shown["status"], shown["deadline"], shown["overdue"]) == ("finished", None, False)
    assert kinds(mover, untimed).count("timeout") == 0


def test_games_that_nobody_opened_do_not_keep_others_from_ending(
    service: Inside, players: tuple[Player, Player]
) -> None:
    host, guest = players
    game = begin(host, guest, agreement=AN_HOUR)
    expiring = offer_of(agreement=Agreement(expires="2026-11-20T12:00:01Z"))
    for _ in range(60):
        assert service.ask("POST", "/v1/offers", expiring, host.token).status == 201
    service.clock.pass_by(HOUR + 122)
    let_keepers_look(service)
    assert kinds(host, game).count("timeout") == 1


def test_a_game_that_cannot_be_ended_is_put_off_and_counted_and_others_end(tmp_path: Path) -> None:
    metrics = Metrics()
    with inside_with_keeper(tmp_path / "data", figures=metrics) as service:
        players = two_players(service)
        broken = begin(*players, agreement=AN_HOUR)
        service.clock.pass_by(1)
        game = begin(*players, agreement=AN_HOUR)
        tried, true = [], referee.timeout

        def timeout(refereed: referee.RefereedGame, **given: Any) -> referee.Accepted:  # Any: its arguments
            tried.append(refereed.course.setup.game)
            if refereed.course.setup.game == broken:
                raise IllegalError("broken")
            return true(refereed, **given)

        with patch.object(referee, "timeout", timeout):
            service.clock.pass_by(HOUR + 122)
            before = log_of(players[0], broken)
            let_keepers_look(service)
            assert kinds(players[0], game)[-2:] == ["timeout", "end"]
            assert log_of(players[0], broken) == before
            assert (tried.count(broken), tried.count(game)) == (1, 1)
            assert metrics.keeper_failures._value.get() == 1
            service.clock.pass_by(HOUR - 1)
            let_keepers_look(service)
            assert tried.count(broken) == 1
        service.clock.pass_by(1)
        let_keepers_look(service)
        assert kinds(players[0], broken)[-2:] == ["timeout", "end"]


# --- lists and checks -------------------------------------------------------------------------------------------------


def test_waiting_games_in_the_order_of_their_deadlines(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    games = {}
    for hours in (5, 2, None, 9, 3):
        agreement = UNTIMED if hours is None else Agreement(TimeControl(hours * HOUR, 0, 0, 0))
        games[hours] = begin(alice, bob, agreement=agreement)
    mine = [hours for hours, game in games.items() if alice.course(game).actor == 0]
    assert len(mine) >= 2
    expected = [games[hours] for hours in sorted(mine, key=lambda hours: hours or 99)]
    invited = [
        bob.new(invite=entry_kinds.Invite("alice"), agreement=Agreement(expires=log_time(service.clock())[:11] + time))
        for time in ("20:00:00Z", "15:00:00Z")
    ]
    expected += invited[::-1]
    path = "/v1/me/games?waiting=true&order=deadline"
    found = service.ask("GET", path, token=alice.token).json
    assert [each["game"] for each in found["games"]] == expected
    paged, cursor = [], ""
    while cursor is not None:
        page = service.ask("GET", f"{path}&limit=1{cursor and f'&after={cursor}'}", token=alice.token).json
        paged += [each["game"] for each in page["games"]]
        cursor = page["next"]
    assert paged == expected
    for wrong in ("order=deadline", "waiting=true&order=size", "waiting=true&order=deadline&status=playing"):
        assert service.ask("GET", f"/v1/me/games?{wrong}", token=alice.token).status == 400


def test_a_deadline_that_was_moved_since_the_look_has_its_slack(tmp_path: Path) -> None:
    with inside_with_keeper(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        before = log_of(players[0], game)
        service.clock.pass_by(HOUR + 5)

        async def seen(*_: object) -> tuple[str, ...]:
            return (game,)  # as when another process moved the deadline on after the look, for an outage

        with patch.object(Store, "overdue", seen):
            let_keepers_look(service)
        assert log_of(players[0], game) == before
        service.clock.pass_by(SLACK)
        let_keepers_look(service)
        assert kinds(players[0], game)[-2:] == ["timeout", "end"]
