"""`hkoji next`, `games`, `show` and `watch` say how long there is, until when, and what is in reserve."""

from __future__ import annotations

import json

import pytest

from hkoji.cli import terminal
from hkoji.cli.output import Exit
from hkoji.client.kept.evidence import KeptEvidence
from hkoji.client.transport import HttpAnswer
from hkoji.errors import NetworkError
from tests.support.timed_players import (
    DAY,
    InsideTransport,
    TimedPlayer,
    TimedWorld,
    alice,
    bob,
    timed_game,
    world,
)

__all__ = ["alice", "bob", "world"]


def test_the_most_urgent_game_is_first(alice: TimedPlayer, bob: TimedPlayer) -> None:
    untimed = timed_game(alice, bob, "none")
    late = timed_game(alice, bob, "9d")
    soon = timed_game(alice, bob, "1d")
    between = timed_game(alice, bob, "3d")
    invited = bob("new", "--invite", "alice", "--expires", "2d").out.strip()
    expected = [soon, invited, between, late, untimed]
    listed = alice("next", "--json").json
    assert [each["game"] for each in listed] == expected
    assert [each["clock"]["deadline"] for each in listed] == [
        "2026-11-21T12:00:00Z",
        "2026-11-22T12:00:00Z",
        "2026-11-23T12:00:00Z",
        "2026-11-29T12:00:00Z",
        None,
    ]
    kept = alice("next", "--offline", "--json").json
    assert [each["game"] for each in kept] == expected  # the invitation is kept since it was listed
    assert [each["clock"] for each in kept] == [each["clock"] for each in listed]


def test_the_list_says_how_long_until_when_and_what_is_in_reserve(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    world.pass_by(4 * DAY)
    head, line = alice("next").out.splitlines()
    for title, cell in (("time left", "13d"), ("until", "12-07 12:00 UTC"), ("reserve", "13d / 14d")):
        assert line[head.index(title) :].startswith(cell)
    assert alice("next", "--json").json[0]["clock"]["reserve"] == [14 * DAY, 14 * DAY]
    assert "tempo rimasto" in alice("next", "--lang", "it").out
    (listed,) = alice("games", "--json").json
    assert (listed["game"], listed["clock"]["seat"], listed["clock"]["reserve"]) == (game, 0, [14 * DAY, 14 * DAY])
    assert listed["agreement"]["clock"]["bank"] == 14 * DAY


@pytest.mark.parametrize("width", [40, 80])
def test_the_list_fits_the_terminal(
    alice: TimedPlayer, bob: TimedPlayer, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed_game(alice, bob)
    monkeypatch.setattr(terminal, "width", lambda: width)
    for words in (("next",), ("games",), ("show", alice("games", "--json").json[0]["game"])):
        shown = alice(*words).out
        assert max(map(len, shown.splitlines())) <= width
        assert "16d23h" in shown or "17d" in shown


def test_a_gift_is_in_the_list(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    bob("give", game, "2d")
    assert alice("next", "--json").json[0]["clock"]["deadline"] == "2026-12-09T12:00:00Z"
    assert alice("games", "--json").json[0]["clock"]["deadline"] == "2026-12-09T12:00:00Z"


@pytest.mark.parametrize("clock", ["3d/14d", "none"])
def test_the_list_marks_a_game_that_somebody_asks_to_call_off(alice: TimedPlayer, bob: TimedPlayer, clock: str) -> None:
    game, other = timed_game(alice, bob, clock), timed_game(alice, bob, clock)
    assert "call off" not in alice("next").out
    bob("annul", game)
    head, *lines = alice("next").out.splitlines()
    cells = {line[:8]: line[head.index("call off") :].split("  ")[0].strip() for line in lines}
    assert cells[game[:8]] == "asked by bob"
    assert cells[other[:8]] != "asked by bob"
    assert {each["game"]: each["annul"] for each in alice("next", "--json").json} == {game: ["bob"], other: []}
    assert "chiesto da bob" in alice("next", "--lang", "it").out
    alice("annul", other)
    assert "asked by you" in alice("next").out
    assert [each["annul"] for each in alice("next", "--offline", "--json").json] == [[], []]


def test_games_that_wait_for_the_opponent_are_looked_at_every_five_minutes(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    game = timed_game(alice, bob)
    world.asked.clear()
    for seconds, fetched in ((0, 1), (60, 0), (400, 1)):
        world.pass_by(seconds)
        world.asked.clear()
        assert bob("next", "--json").json == []
        assert sum(each.endswith("/head") for each in world.asked) == fetched
    assert KeptEvidence(bob.folder(game)).heads()


def test_watch_says_until_when(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    bob.resign(game)
    lines = [json.loads(line) for line in alice("watch", game, "--after", "0", "--json").out.splitlines()]
    assert [line["clock"] for line in lines[:-1]] == [None] * (len(lines) - 1)
    assert lines[-1]["clock"]["text"] == "3d/14d"
    assert lines[-1]["clock"]["deadline"] is None


def test_everybodys_games_have_the_clocks_that_the_service_states(alice: TimedPlayer, bob: TimedPlayer) -> None:
    timed_game(alice, bob)
    open_ = alice("new", "--clock", "1d").out.strip()
    stated = {each["game"]: each["clock"] for each in bob("games", "--all", "--json").json}
    assert len(stated) == 2
    assert {clock["text"] for clock in stated.values()} == {"3d/14d", "1d"}
    assert bob("games", "--open", "--json").json[0]["clock"]["deadline"] == stated[open_]["deadline"]


def test_a_game_whose_move_the_list_has_just_sent_is_not_in_it(
    alice: TimedPlayer, bob: TimedPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier command could not send the move. The list sends it, and then the game waits for the opponent."""
    game, other = timed_game(alice, bob), timed_game(alice, bob)
    action = alice.position(game).legal[0]

    answer = InsideTransport.request

    def lose(
        transport: InsideTransport, method: str, path: str, body: bytes | None = None, token: str | None = None
    ) -> HttpAnswer:
        if path.endswith("/entries"):
            raise NetworkError("http://inside", "it does not answer")
        return answer(transport, method, path, body, token)

    with monkeypatch.context() as patch:
        patch.setattr(InsideTransport, "request", lose)
        assert alice("move", game, action).code == Exit.NETWORK
    assert [each["game"] for each in alice("next", "--json").json] == [other]
    assert [each["game"] for each in bob("next", "--json").json] == [game]
