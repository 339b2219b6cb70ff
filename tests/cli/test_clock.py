"""`hkoji new`, `join`, `clock`, `give`, `annul` and `audit --clock`. docs/clocks.md."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hkoji_server.service.games.keeper import Keeper

from hkoji.audit.times import TimedLine, TimedLog
from hkoji.cli import terminal
from hkoji.cli.games.clock import time_text
from hkoji.cli.games.game_words import length, local_time
from hkoji.cli.language import use
from hkoji.game.agreement import Agreement, TimeControl, longest_game, longest_round
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import parse_body
from hkoji.game.position import read_clock
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.table import Table
from tests.support.timed_games import SLACK
from tests.support.timed_players import DAY, TimedPlayer, TimedWorld, alice, bob, timed_game, timed_player, world

__all__ = ["alice", "bob", "world"]


# --- opening and joining ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["3d", "3d/14d", "/30d+1d^45d", "/30d", "none"])
def test_new_says_the_clock_that_was_asked_for(alice: TimedPlayer, text: str) -> None:
    done = alice("new", "--clock", text, "--json")
    assert done.json["clock"]["text"] == text
    assert done.json["agreement"]["rated"] is (text != "none")


def test_the_default_is_three_days_a_turn_and_fourteen_in_reserve(alice: TimedPlayer) -> None:
    made = alice("new", "--json").json
    assert made["agreement"] == {
        "clock": {"add": 0, "bank": 1209600, "cap": 1209600, "move": 259200, "rest": "", "zone": "+00:00"},
        "expires": "2026-12-04T12:00:00Z",
        "rated": True,
        "rematch": None,
        "series": None,
    }
    assert made["clock"]["deadline"] == "2026-12-04T12:00:00Z"
    assert (made["longest_round"], made["longest_game"]) == ((27 + 28) * DAY, None)


@pytest.mark.parametrize(
    "words",
    [
        ("--clock", "0"),
        ("--clock", "3d", "--rest", "1234567"),
        ("--clock", "3d", "--zone", "+01:00"),
        ("--clock", "none", "--rest", "67"),
        ("--expires", "soon"),
    ],
)
def test_a_bad_agreement_is_refused_and_nothing_is_asked(
    world: TimedWorld, alice: TimedPlayer, words: tuple[str, ...]
) -> None:
    asked = len(world.asked)
    done = alice("new", *words)
    assert (done.code, done.out) == (2, "")
    assert len(world.asked) == asked


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rest", "76"), "rest days are digits 1 (Monday) to 7 (Sunday)"),
        (("--rest", "67", "--zone", "+01:10"), "a zone is like +02:00 or -05:30"),
        (("--zone", "+01:00"), "without rest days the zone is +00:00"),
    ],
)
def test_bad_rest_days_are_not_blamed_on_the_clock(alice: TimedPlayer, words: tuple[str, ...], said: str) -> None:
    done = alice("new", "--clock", "3d", *words)
    assert said in done.err
    assert "3d" not in done.err
    assert "--rest 67 --zone +01:00" in done.err


def test_options_of_the_agreement(alice: TimedPlayer) -> None:
    words = ("--clock", "1d12h", "--rest", "67", "--zone", "-05:30", "--expires", "none", "--unrated")
    made = alice("new", *words, "--json").json["agreement"]
    assert (made["clock"]["move"], made["clock"]["rest"], made["clock"]["zone"]) == (129600, "67", "-05:30")
    assert (made["expires"], made["rated"]) == (None, False)


def test_a_request_that_a_service_does_not_offer_is_reported(alice: TimedPlayer) -> None:
    done = alice("new", "--expires", "61d")
    assert done.code == 5
    assert "60d" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "At the slowest, a round takes 55 days."),
        (("--clock", "/30d"), "At the slowest, the game takes 60 days."),
        (("--clock", "3d/14d", "--max-rounds", "1"), "At the slowest, the game takes 61 days."),
        (("--clock", "3d/14d", "--max-rounds", "3"), "At the slowest, a round takes 55 days, and the game 115 days."),
        (("--clock", "/30d+1d^45d"), "At the slowest, a round takes 99 days."),
        (("--clock", "1d", "--rest", "67"), "At the slowest, a round takes 9 days. Rest days come on top."),
        (("--clock", "none"), "Nothing limits how long the game takes."),
    ],
)
def test_new_says_how_long_it_may_take(alice: TimedPlayer, words: tuple[str, ...], said: str) -> None:
    assert said in alice("new", *words).err


def test_the_guest_reads_the_agreement_and_may_refuse_another(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = alice("new", "--clock", "3d/14d", "--rest", "67").out.strip()
    for asked in (("3d",), ("none",), ("3d/14d",), ("3d/14d", "--rest", "7")):
        done = bob("join", game, "--clock", *asked)
        assert done.code == 5
        assert "Each player has 3d for each turn, and 14d in reserve for the whole game." in done.err
        assert "nothing was signed" in done.err
        assert not (bob.folder(game) / "outbox.signed").exists()
    assert alice.position(game).course.joinable
    done = bob("join", game, "--clock", "3d/14d", "--rest", "67", "--json")
    assert done.code == 0
    assert (done.json["clock"]["text"], done.json["clock"]["seat"]) == ("3d/14d", 0)
    assert done.json["agreement"]["clock"]["rest"] == "67"


def test_rest_days_alone_say_nothing_about_the_clock(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = alice("new").out.strip()
    assert bob("join", game, "--rest", "67").code == 2
    assert alice.position(game).course.joinable


# --- the bound --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ruleset", [Hanamikoji(), Hanamikoji("random", 2), GeishasRoad(), GeishasRoad("random", "random")]
)
def test_no_game_has_more_turns_than_the_bound_counts(ruleset: Ruleset) -> None:
    control = TimeControl(60, 0, 0, 0)
    for seed in range(12):
        table = Table(ruleset, seed, agreement=Agreement(control)).begin().play()
        log = TimedLog([TimedLine(each, parse_body(each.entry.kind, each.entry.body)) for each in table.lines], 10**6)
        turns, rounds = len(list(log.turns())), table.course.state.round
        assert turns <= 2 + rounds * ruleset.most_turns
        assert ruleset.most_rounds is None or rounds <= ruleset.most_rounds
        assert longest_round(ruleset, control) == 60 * ruleset.most_turns
        game = longest_game(ruleset, control)
        assert game is None or game >= 60 * turns


# --- clock, give, annul -----------------------------------------------------------------------------------------------


def test_the_clock_of_a_game(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    world.pass_by(4 * DAY)
    told = bob("clock", game, "--json").json
    assert told["clock"] == {
        "text": "3d/14d",
        "seat": 0,
        "since": "2026-11-20T12:00:00Z",
        "spent": 0,
        "deadline": "2026-12-07T12:00:00Z",
        "reserve": [14 * DAY, 14 * DAY],
        "overdue": False,
    }
    assert (told["spent"], told["gifts"], told["outages"], told["annul"]) == (4 * DAY, [], [], [])
    text = bob("clock", game).out
    assert "alice has until 2026-12-07 12:00 UTC (13d, including their 13d reserve)." in text
    assert "Spent in this turn so far: 4d." in text
    assert "Reserve of bob: 14d." in text
    assert "alice ha tempo fino al" in bob("clock", game, "--lang", "it").out


def test_the_time_of_an_outage_is_not_shown_as_spent(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    world.pass_by(5 * DAY)
    with alice.client.game(game) as held:
        position, found = held.look()
    away = Outage("2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", Way.HTTP)
    reading = read_clock(position.course, "2026-11-20T12:00:00Z", credits=DAY)
    use("en")
    text = time_text(position, found._replace(outages=(away,), reading=reading))
    assert "You have until 2026-12-08 12:00 UTC (13d, including your 13d reserve)." in text
    assert "Spent in this turn so far: 4d." in text
    assert "Reserve of alice: 13d." in text
    assert "The service was away from 2026-11-21 12:00:00 UTC to 2026-11-22 12:00:00 UTC" in text


def test_people_read_their_own_time_and_programs_utc(
    alice: TimedPlayer, bob: TimedPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = timed_game(alice, bob)
    monkeypatch.setenv("TZ", "XYZ-5:30")
    time.tzset()
    try:
        assert "until 2026-12-07 17:30 XYZ" in alice("show", game).out
        for words in (("show", game), ("clock", game), ("next",), ("games",)):
            done = alice(*words, "--json")
            assert "17:30" not in done.out
            assert "2026-12-07T12:00:00Z" in done.out
        assert local_time("2026-12-31T18:30:00Z") == "2027-01-01 00:00 XYZ"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (61, "1m1s"), (3600, "1h"), (3661, "1h1m"), (90061, "1d1h"), (14 * DAY - 1, "13d23h")],
)
def test_lengths_have_two_units_and_are_rounded_down(seconds: int, text: str) -> None:
    assert length(seconds) == text


def test_a_gift_at_the_command_line(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    done = bob("give", game, "2d", "--json")
    assert (done.code, done.json["given"], done.json["clock"]["deadline"]) == (0, 2 * DAY, "2026-12-09T12:00:00Z")
    assert done.json["gifts"][0]["name"] == "bob"
    assert "bob has given 2d for this turn." in alice("clock", game).out
    assert alice("show", game, "--json").json["clock"]["deadline"] == "2026-12-09T12:00:00Z"
    assert alice("give", game, "2d").code == 9
    smaller = bob("give", game, "1d")
    assert "You have given alice 2d for this turn. That was an earlier gift; it is larger" in smaller.out
    for bad in ("31d", "0", "a while"):
        assert bob("give", game, bad).code == 2


def test_after_the_deadline_commands_say_that_time_is_over(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_ended(_: Keeper) -> int:
        return 0

    monkeypatch.setattr(Keeper, "look", none_ended)  # the keeper would end the game between two commands
    game = timed_game(alice, bob, "3d")
    action = alice.position(game).legal[0]
    world.pass_by(3 * DAY + 1)
    for player, words in ((alice, ("move", game, action)), (bob, ("give", game, "1d")), (bob, ("annul", game))):
        done = player(*words, "--json")
        assert (done.code, done.out) == (9, "")
        said = [each for each in done.err.splitlines() if each.startswith("{")]  # the service may log meanwhile
        assert json.loads(said[-1])["error"]["code"] == "time-over"
    shown = bob("show", game).out
    assert "alice's time was over on 2026-11-23 12:00:00 UTC." in shown
    assert "overdue" not in shown
    world.pass_by(SLACK + 1)
    assert "The game is overdue" in bob("show", game).out
    assert bob("clock", game, "--json").json["clock"]["overdue"] is True
    offline = bob("show", game, "--offline").out  # the service may have ended the game since
    assert "alice's time was over" in offline
    assert "overdue" not in offline
    assert bob("clock", game, "--offline", "--json").json["clock"]["overdue"] is False
    for command in ("next", "games"):
        listed = alice(command, "--offline").out
        assert "11-23 12:00 UTC" in listed
        assert "overdue" not in listed
    assert bob("next", "--offline").out == "None of the games kept here waits for you.\n"


def test_calling_off_at_the_command_line(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    assert "It ends without a winner if, before the next move, bob runs: hkoji annul" in alice("annul", game).out
    assert "alice has asked to call the game off." in bob("clock", game).out
    assert alice("annul", game, "--withdraw", "--json").json["annul"] == []
    alice("annul", game)
    done = bob("annul", game, "--json")
    assert (done.code, done.json["status"]) == (0, "cancelled")
    assert "no winner, called off by agreement" in alice("show", game).out
    watched = alice("watch", game, "--after", "0").out
    assert "alice and bob have called the game off" in watched
    assert "the game is over: no winner, called off by agreement" in watched
    assert "no winner, called off by agreement" in alice("audit", game).out


def test_a_guest_who_has_just_joined_and_the_host_call_a_game_off(alice: TimedPlayer, bob: TimedPlayer) -> None:
    """The host's entropy, which every other command would send, would make the guest's request void."""
    game = alice("new", "--invite", "bob", "--json").json["game"]
    bob("join", game)
    assert bob("annul", game, "--json").json["annul"] == ["bob"]
    assert alice("annul", game, "--json").json["status"] == "cancelled"
    assert bob("show", game, "--json").json["result"] == {"reason": "cancel", "winner": None}


@pytest.mark.parametrize("clock", ["3d/14d", "none"])
def test_both_players_see_that_one_has_asked_to_call_the_game_off(
    alice: TimedPlayer, bob: TimedPlayer, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = timed_game(alice, bob, clock)
    short = game[:8]
    for words in (("show", game), ("clock", game)):
        assert "call the game off" not in alice(*words).out
        assert alice(*words, "--json").json["annul"] == []
    assert bob("annul", game, "--json").json["annul"] == ["bob"]
    for words in (("show", game), ("clock", game), ("wait", game)):
        shown = alice(*words).out.splitlines()
        assert "bob has asked to call the game off." in shown
        assert f"To agree, before the next move: hkoji annul {short}" in shown
        assert alice(*words, "--json").json["annul"] == ["bob"]
    for words in (("show", game), ("clock", game)):
        own = bob(*words).out.splitlines()
        assert "You have asked to call the game off. alice can agree until the next move." in own
        assert f"To take it back: hkoji annul {short} --withdraw" in own
    assert f"Per accettare, prima della prossima mossa: hkoji annul {short}" in alice("show", game, "--lang", "it").out
    for width in (40, 80):
        with monkeypatch.context() as patch:
            patch.setattr(terminal, "width", lambda width=width: width)
            board = alice("show", game).out
            assert max(map(len, board.splitlines())) <= width
            assert f"hkoji annul {short}" in (board if width == 80 else " ".join(board.split()))
    bob("annul", game, "--withdraw")
    assert "call the game off" not in alice("show", game).out
    bob("annul", game)
    alice.move(game, alice.position(game).legal[0])
    for player in (alice, bob):
        assert player("show", game, "--json").json["annul"] == []


def test_a_spectator_sees_that_one_has_asked_to_call_the_game_off(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, tmp_path: Path
) -> None:
    game = timed_game(alice, bob)
    bob("annul", game)
    carol = timed_player(world, "carol", tmp_path)
    shown = carol("show", game).out
    assert "bob has asked to call the game off." in shown
    assert "hkoji annul" not in shown


def test_a_lost_game_and_an_expired_one_in_words(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> None:
    lost, open_ = timed_game(alice, bob, "3d"), alice("new", "--expires", "1d").out.strip()
    world.pass_by(3 * DAY + SLACK + 1)
    world.let_keepers_look()
    assert "you lost on time   #1 timeout" in alice("show", lost).out
    assert "alice lost on time" in bob("show", lost).out
    assert "won on time" in bob("games").out
    assert "alice has lost on time" in bob("watch", lost, "--after", "3").out
    assert "The offer expired before anybody joined." in alice("show", open_).out
    assert "the offer has expired: nobody has joined" in alice("watch", open_, "--after", "0").out


# --- the account of an audit ------------------------------------------------------------------------------------------


def finished(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer) -> str:
    game = timed_game(alice, bob)
    world.pass_by(5 * DAY)
    alice.move(game, alice.position(game).legal[0])
    bob.position(game)
    bob.resign(game)
    return game


def test_the_account_of_a_finished_game_needs_no_receipts(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, tmp_path: Path
) -> None:
    game = finished(world, alice, bob)
    whole, bare = tmp_path / "whole.jsonl", tmp_path / "bare.jsonl"
    whole.write_text(alice("export", game).out)
    bare.write_text(alice("log", game).out)
    accounts = [alice("audit", str(file), "--clock", "--json").json["clock"] for file in (whole, bare)]
    assert accounts[0] == accounts[1]
    assert accounts[0]["reserve"] == [12 * DAY, 14 * DAY]
    assert accounts[0]["turns"][1] == {
        "seat": 0,
        "name": "alice",
        "begin": "2026-11-20T12:00:00Z",
        "until": "2026-11-25T12:00:00Z",
        "spent": 5 * DAY,
        "reserve": 12 * DAY,
    }
    assert "clock" not in alice("audit", str(whole), "--json").json
    text = alice("audit", str(whole), "--clock").out
    assert re.search(r"2 +alice +2026-11-20 12:00:00 UTC +2026-11-25 12:00:00 UTC +5d +12d", text)
    assert "Reserve of alice: 12d." in text


def test_a_game_without_a_clock_has_no_account(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "none")
    told = alice("audit", game, "--clock", "--json").json["clock"]
    assert told == {"text": "none", "control": None, "turns": [], "reserve": None}
    assert "The game has no clock." in alice("audit", game, "--clock").out


def test_the_account_is_of_one_log(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, tmp_path: Path) -> None:
    game = finished(world, alice, bob)
    (tmp_path / "a.jsonl").write_text(alice("export", game).out)
    (tmp_path / "b.jsonl").write_text(alice("export", game).out * 2)
    for sources in ((str(tmp_path / "a.jsonl"),) * 2, (str(tmp_path / "b.jsonl"),)):
        done = alice("audit", *sources, "--clock")
        assert (done.code, done.out) == (2, "")
