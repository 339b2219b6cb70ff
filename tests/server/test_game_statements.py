"""Gifts of time, and games that are called off. docs/spec/log.md, "Statements"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hkoji_server import admin

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, TimeControl
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_gift
from hkoji.log.line import read_line
from hkoji.log.private_key import PrivateKey
from tests.support.service import Player, begin
from tests.support.service_in_process import Inside
from tests.support.timed_games import (
    AN_HOUR,
    HOUR,
    a_gift,
    a_wish,
    clock_of,
    kinds,
    let_keepers_look,
    log_of,
    move_of,
    owing,
    refused,
    service,
    state,
    summary_of,
    timed,
    verify,
)

__all__ = ["service"]


# --- gifts ------------------------------------------------------------------------------------------------------------


def test_the_largest_gift_helps_the_entry_and_stands_in_the_log(
    service: Inside, players: tuple[Player, Player]
) -> None:
    game, mover, giver = timed(players)
    small, large = a_gift(giver, game, 1800), a_gift(giver, game, 2 * HOUR)
    began = clock_of(giver, game)
    assert (began["deadline"], began["gifts"]) == ("2026-11-20T13:00:00Z", [])
    answers = [(state(giver, game, each), each) for each in (small, large, small, large)]
    assert [answer.status for answer, _ in answers] == [201, 201, 200, 200]
    deadlines = [answer.json["deadline"] for answer, _ in answers]
    assert deadlines == ["2026-11-20T13:30:00Z", *["2026-11-20T15:00:00Z"] * 3]
    assert all(answer.json["lines"] == [] for answer, _ in answers)
    assert summary_of(giver, game)["deadline"] == "2026-11-20T15:00:00Z"
    shown = clock_of(giver, game)
    kept = {name: large[name] for name in ("head", "name", "seconds", "sig")}
    assert (shown["deadline"], shown["gifts"], shown["annul"]) == ("2026-11-20T15:00:00Z", [kept], [])
    service.clock.pass_by(3 * HOUR)
    let_keepers_look(service)
    answer = mover.send(move_of(mover, game))
    assert answer.status == 201
    credit = read_line(answer.json["lines"][1]).entry
    assert (credit.kind, credit.body["outages"]) == ("credit", [])
    assert credit.body["gift"] == {name: large[name] for name in ("head", "seconds", "sig")}
    verify(giver, game)
    # For the next entry it counts no more.
    assert clock_of(giver, game)["gifts"] == []
    refused(state(giver, game, large), 409, "conflict")


def test_a_gift_outlasts_a_change_of_keys_and_is_void_after_the_entry(
    service: Inside, players: tuple[Player, Player]
) -> None:
    game, mover, giver = timed(players)
    gift = a_gift(giver, game, HOUR)
    assert state(giver, game, gift).status == 201
    new = PrivateKey.from_seed(b"n" * 32)
    course = mover.course(game)
    proof = mover.proof(course, new, mover.key)
    rekey = entry_kinds.Rekey(new.public, mover.key.public, proof)
    assert mover.send(mover.entry(game, mover.head(game), rekey)).status == 201
    mover.key = new
    assert clock_of(giver, game)["deadline"] == "2026-11-20T14:00:00Z"
    refused(state(giver, game, gift), 409, "conflict")
    service.clock.pass_by(2 * HOUR)
    assert mover.send(move_of(mover, game)).status == 201
    assert "credit" in kinds(giver, game)
    verify(giver, game)
    service.clock.pass_by(HOUR + 1)
    late = owing(players, game)
    refused(late.send(move_of(late, game)), 409, "time-over")


def test_no_timeout_before_the_deadline_that_an_acknowledged_gift_gives(
    service: Inside, players: tuple[Player, Player]
) -> None:
    game, mover, giver = timed(players)
    service.clock.pass_by(HOUR)
    assert state(giver, game, a_gift(giver, game, 10)).status == 201
    late = move_of(mover, game)
    service.clock.pass_by(130)
    let_keepers_look(service)
    assert "timeout" not in kinds(giver, game)
    service.clock.pass_by(1)
    let_keepers_look(service)
    assert kinds(giver, game)[-2:] == ["timeout", "end"]
    assert giver.lines(game)[-2].entry.at > "2026-11-20T13:00:10Z"
    verify(giver, game)
    answer = mover.send(late)
    refused(answer, 409, "time-over")
    # The gift did not help, so it is neither in the log nor kept, and nothing says how long there was.
    assert "deadline" not in answer.json
    assert mover.course(game).finished


@pytest.mark.parametrize("make", [lambda player, game: a_gift(player, game, HOUR), a_wish], ids=["gift", "wish"])
@pytest.mark.parametrize("strange", [False, True], ids=["of the same players", "of others"])
@pytest.mark.parametrize("ended", [False, True], ids=["a game that goes on", "a game called off"])
def test_a_statement_for_another_game_is_in_the_wrong_place(
    service: Inside,
    players: tuple[Player, Player],
    make: Callable[[Player, str], dict[str, Any]],  # Any: JSON
    strange: bool,
    ended: bool,
) -> None:
    game, mover, giver = timed(players)
    others = (giver, Player(service, "carol").register()) if strange else players
    other, _, author = timed((others[1], others[0]))
    if ended:
        for player in players:
            assert state(player, game, a_wish(player, game)).status == 201
    before = log_of(giver, game), clock_of(giver, game), clock_of(giver, other)
    answer = state(author, game, make(author, other))
    refused(answer, 409, "conflict")
    assert (answer.json["seq"], answer.json["head"]) == mover.head(game)
    assert (log_of(giver, game), clock_of(giver, game), clock_of(giver, other)) == before


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ("own entry", 422, "illegal"),
        ("no clock", 422, "illegal"),
        ("late", 409, "time-over"),
        ("head", 409, "conflict"),
        ("stranger", 403, "forbidden"),
        ("key", 403, "bad-signature"),
        ("namespace", 403, "bad-signature"),
        ("other seconds", 403, "bad-signature"),
        ("nothing", 400, "invalid"),
        ("a month and a second", 400, "invalid"),
        ("no seconds", 400, "invalid"),
        ("wish with seconds", 400, "invalid"),
        ("no such game", 404, "not-found"),
        ("revoked", 403, "revoked"),
    ],
)
def test_gifts_that_are_refused_change_nothing(
    service: Inside, players: tuple[Player, Player], wrong: str, status: int, code: str
) -> None:
    game, mover, giver = timed(players, UNTIMED if wrong == "no clock" else AN_HOUR)
    gift, asked = a_gift(giver, game, HOUR), game
    before, deadline = log_of(giver, game), clock_of(giver, game)["deadline"]
    match wrong:
        case "own entry":
            gift = a_gift(mover, game, HOUR)
        case "late":
            service.clock.pass_by(HOUR + 1)
        case "head":
            statement = make_gift(game=game, head="00" * 32, name=giver.name, seconds=HOUR)
            gift |= {"head": "00" * 32, "sig": encode_base64(giver.key.sign(sshsig.GIVE, statement.message))}
        case "stranger":
            carol = Player(service, "carol").register()
            gift = a_gift(carol, game, HOUR)
        case "key":
            gift["sig"] = a_gift(Player(service, giver.name), game, HOUR)["sig"]
        case "namespace":
            gift["sig"] = a_wish(giver, game)["sig"]
        case "other seconds":
            gift["seconds"] += 1
        case "nothing":
            gift["seconds"] = 0
        case "a month and a second":
            gift["seconds"] = 30 * 86_400 + 1
        case "no seconds":
            del gift["seconds"]
        case "wish with seconds":
            gift = a_wish(giver, game, seconds=5)
        case "no such game":
            asked = "0" * 32
        case "revoked":
            assert giver.ask(f"/v1/players/{giver.name}/revocation", giver.revoking()).status == 200
    refused(state(giver, asked, gift), status, code)
    assert log_of(giver, game) == before
    shown = clock_of(giver, game)
    assert (shown["deadline"], shown["gifts"], shown["annul"]) == (deadline, [], [])


# --- calling off ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreement", [UNTIMED, AN_HOUR], ids=["no clock", "an hour"])
@pytest.mark.parametrize("first", [0, 1])
def test_with_the_second_wish_the_game_ends_in_the_same_transaction(
    service: Inside, players: tuple[Player, Player], first: int, agreement: Agreement
) -> None:
    game, *_ = timed(players, agreement)
    one, two = players[first], players[1 - first]
    wishes = [a_wish(player, game) for player in players]
    before = log_of(one, game)
    assert [state(one, game, wishes[first]).status for _ in range(2)] == [201, 200]
    assert clock_of(one, game)["annul"] == [one.name]
    assert log_of(one, game) == before
    answer = state(two, game, wishes[1 - first])
    assert answer.status == 201
    annul, end = (read_line(line).entry for line in answer.json["lines"])
    assert (annul.kind, annul.body["sigs"]) == ("annul", [wish["sig"] for wish in wishes])
    assert (end.kind, end.body["result"]) == ("end", {"reason": "cancel", "winner": None})
    assert tuple(line.entry for line in one.lines(game)[-2:]) == (annul, end)
    verify(one, game)
    after = log_of(one, game)
    for player, wish in zip(players, wishes, strict=True):
        again = state(player, game, wish)
        assert (again.status, again.json) == (200, answer.json)
    assert log_of(one, game) == after
    assert summary_of(one, game)["status"] == "cancelled"
    for player in players:
        ended = service.ask("GET", "/v1/me/games?status=cancelled", token=player.token).json["games"]
        assert [each["game"] for each in ended] == [game]
    refused(state(one, game, a_wish(one, game)), 409, "game-over")
    assert admin.check(service.data).faults == ()


def test_a_wish_is_void_when_the_game_goes_on(service: Inside, players: tuple[Player, Player]) -> None:
    game, mover, other = timed(players)
    wish, theirs = a_wish(other, game), a_wish(mover, game)
    assert state(other, game, wish).status == 201
    assert mover.send(move_of(mover, game)).status == 201
    before = log_of(mover, game)
    for player, each in ((other, wish), (mover, theirs)):
        refused(state(player, game, each), 409, "conflict")
    assert state(mover, game, a_wish(mover, game)).status == 201
    assert log_of(mover, game) == before
    assert clock_of(mover, game)["annul"] == [mover.name]
    # The operator can remove what is void, and nothing else.
    assert admin.tidy(service.data)["statements"] == 1
    assert admin.tidy(service.data)["statements"] == 0
    assert clock_of(mover, game)["annul"] == [mover.name]


def test_a_wish_that_was_withdrawn_does_not_count(service: Inside, players: tuple[Player, Player]) -> None:
    game, mover, other = timed(players)
    path = f"/v1/games/{game}/statements/annul"
    assert state(other, game, a_wish(other, game)).status == 201
    carol = Player(service, "carol").register()
    assert service.ask("DELETE", path).status == 401
    assert service.ask("DELETE", path, token=carol.token).status == 403
    assert service.ask("DELETE", path, token=mover.token).status == 204  # the other's stays
    assert clock_of(mover, game)["annul"] == [other.name]
    assert [service.ask("DELETE", path, token=other.token).status for _ in range(2)] == [204, 204]
    assert clock_of(mover, game)["annul"] == []
    before = log_of(mover, game)
    assert state(mover, game, a_wish(mover, game)).status == 201
    assert log_of(mover, game) == before


def test_a_gift_moves_the_time_until_which_a_game_can_be_called_off(
    service: Inside, players: tuple[Player, Player]
) -> None:
    game, mover, other = timed(players)
    gift = a_gift(other, game, HOUR)
    assert state(other, game, gift).status == 201
    service.clock.pass_by(2 * HOUR)
    wishes = [a_wish(player, game) for player in players]
    answers = [state(player, game, wish) for player, wish in zip(players, wishes, strict=True)]
    assert [answer.status for answer in answers] == [201, 201]
    annul: Any = read_line(answers[1].json["lines"][0]).entry.body
    assert (annul["gift"]["seconds"], annul["seat"]) == (HOUR, players.index(mover))
    verify(mover, game)


def test_a_game_that_nobody_has_joined_is_not_called_off(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = alice.new(agreement=AN_HOUR)
    before = log_of(alice, game)
    refused(state(alice, game, a_wish(alice, game)), 422, "illegal")
    refused(state(bob, game, a_wish(bob, game)), 403, "forbidden")
    assert log_of(alice, game) == before
    bob.join(game)
    assert state(alice, game, a_wish(alice, game)).status == 201


def test_the_wish_of_a_revoked_key_ends_no_game(players: tuple[Player, Player]) -> None:
    game, mover, other = timed(players)
    assert state(other, game, a_wish(other, game)).status == 201
    assert other.ask(f"/v1/players/{other.name}/revocation", other.revoking()).status == 200
    before = log_of(mover, game)
    assert state(mover, game, a_wish(mover, game)).status == 201
    assert log_of(mover, game) == before


# --- what clocks show -------------------------------------------------------------------------------------------------


def test_a_clock_shows_the_agreement_and_both_reserves(service: Inside, players: tuple[Player, Player]) -> None:
    agreement = Agreement(TimeControl(HOUR, 2 * HOUR, 0, 2 * HOUR), None, rated=True)
    game, mover, _ = timed(players, agreement)
    service.clock.pass_by(HOUR + 600)
    assert mover.send(move_of(mover, game)).status == 201
    shown = clock_of(mover, game)
    seq, head = mover.head(game)
    assert (shown["game"], shown["seq"], shown["head"]) == (game, seq, head)
    assert shown["agreement"] == agreement.to_json()
    course = mover.course(game)
    assert shown["seat"] == course.actor
    reserve = [2 * HOUR, 2 * HOUR]
    reserve[players.index(mover)] -= 600 if course.actor != players.index(mover) else 0
    assert shown["reserve"] == reserve
    assert shown["since"] == "2026-11-20T13:10:00Z"
    assert (shown["overdue"], shown["outages"], shown["gifts"]) == (False, [], [])
    assert shown["deadline"] == summary_of(mover, game)["deadline"]
    assert service.ask("GET", f"/v1/games/{'0' * 32}/clock").status == 404
    untimed = begin(*players)
    shown = clock_of(mover, untimed)
    assert (shown["deadline"], shown["reserve"], shown["since"], shown["spent"]) == (None, None, None, None)
