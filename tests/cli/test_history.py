"""`hkoji rematch`, series, `games --with` and `--series`: what they print, and that the score is that of the logs.

docs/cli.md, "Rematches and series". Two players in one process; two real processes at once are at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hkoji.cli.output import Exit
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.timed_players import TimedPlayer, TimedWorld, alice, bob, timed_player, world

__all__ = ["alice", "bob", "world"]

Players = tuple[TimedPlayer, TimedPlayer]


def settle(players: Players, game: str) -> None:
    """Both reveal their entropy."""
    for player in (*players, players[0]):
        player.position(game)


def lose(loser: TimedPlayer, players: Players, game: str) -> None:
    """Lets a player give a game up."""
    settle(players, game)
    assert loser("resign", game, "--yes").code == 0


def call_off(players: Players, game: str) -> None:
    settle(players, game)
    for player in players:
        assert player("annul", game).code == 0


def begin(host: TimedPlayer, guest: TimedPlayer, *words: str) -> str:
    """A game of both, opened with these options."""
    game: str = host("new", "--invite", guest.name, *words, "--json").json["game"]
    assert guest("join", game).code == 0
    settle((host, guest), game)
    return game


def go_on(players: Players, game: str) -> dict[str, Any]:  # Any: JSON
    """The rematch that both ask for, as the second one is told."""
    assert players[0]("rematch", game).code == 0
    made: dict[str, Any] = players[1]("rematch", game, "--json").json
    return made


# --- rematch ----------------------------------------------------------------------------------------------------------


def test_a_rematch_prints_its_id_and_says_what_to_do(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = begin(alice, bob, "--clock", "2d/5d")
    lose(bob, (alice, bob), game)
    asked = bob("rematch", game)
    assert (asked.code, len(asked.out.strip())) == (0, 32)
    second = asked.out.strip()
    for text in ("Clock: 2d/5d", f"Ask alice to run: hkoji rematch {game[:8]}", f"hkoji play {second[:8]}"):
        assert text in asked.err
    again = bob("rematch", game)
    assert again.out == asked.out
    assert "You have asked for it before" in again.err
    joined = alice("rematch", game, "--json").json
    assert (joined["game"], joined["how"], joined["status"]) == (second, "joined", "playing")
    assert (joined["host"], joined["guest"], joined["rematch"]) == ("bob", "alice", game)
    assert (joined["series"], joined["decided"], joined["cancelled"]) == (None, None, [])
    assert joined["agreement"]["clock"]["move"] == 2 * 86400
    assert joined["options"]["first"] == "host"  # alice, the host, began the first game
    assert "goes on already" in alice("rematch", game).err
    lose(alice, (bob, alice), second)
    done = alice("rematch", game)
    assert done.code == Exit.MOVE
    assert second[:8] in done.err
    assert done.out == ""


def test_an_expiry_may_be_given(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = begin(alice, bob)
    lose(bob, (alice, bob), game)
    assert alice("rematch", game, "--expires", "soon").code == Exit.USAGE
    never = alice("rematch", game, "--expires", "none", "--json").json
    assert never["agreement"]["expires"] is None
    alice("cancel", never["game"])
    day = alice("rematch", game, "--expires", "1d", "--json").json
    assert day["agreement"]["expires"] == "2026-11-21T12:00:00Z"


# --- series -----------------------------------------------------------------------------------------------------------


def series_of(player: TimedPlayer, game: str) -> dict[str, Any]:  # Any: JSON
    shown: dict[str, Any] = player("show", game, "--json").json["series"]
    return shown


def test_a_series_goes_on_until_it_is_decided(alice: TimedPlayer, bob: TimedPlayer) -> None:
    both = alice, bob
    refused = alice("new", "--series", "4")
    assert (refused.code, "lengths: 3, 5, 7, 9" in refused.err) == (2, True)
    first = begin(alice, bob, "--series", "3")
    series = series_of(bob, first)
    assert (series["games"], series["number"], series["score"]["won"]) == (3, 1, {"alice": 0, "bob": 0})
    lose(bob, both, first)
    second = go_on(both, first)
    assert (second["series"]["id"], second["series"]["number"]) == (series["id"], 2)
    assert second["series"]["score"] == {"won": {"alice": 1, "bob": 0}, "drawn": 0, "over": False, "winner": None}
    assert f"Game 2 of 3 of series {series['id'][:8]}: alice 1, bob 0." in bob("show", second["game"]).out
    call_off(both, second["game"])  # it does not count, and is played again
    again = go_on(both, second["game"])
    assert (again["series"]["number"], again["agreement"]["rematch"]) == (2, second["game"])
    lose(alice, both, again["game"])
    third = go_on(both, again["game"])
    assert third["series"]["number"] == 3
    assert third["series"]["score"]["won"] == {"alice": 1, "bob": 1}
    lose(alice, both, third["game"])
    for player in both:
        told = player("games", "--series", series["id"][:6], "--json").json
        assert told["score"] == {"won": {"alice": 1, "bob": 2}, "drawn": 0, "over": True, "winner": "bob"}
        assert [each["game"] for each in told["games"]] == [first, second["game"], again["game"], third["game"]]
        assert (told["series"], told["length"]) == (series["id"], 3)
        text = player("games", "--series", series["id"][:6]).out
        assert text.endswith(f"Series {series['id'][:8]}, best of 3: alice 1, bob 2. bob has won it.\n")
        assert "called off by agreement" in text
        assert player("games", "--series", series["id"], "--offline", "--json").json["score"] == told["score"]
    after = alice("rematch", third["game"])
    assert "The series is over: alice 1, bob 2. This game is not part of it." in after.err
    plain = bob("rematch", third["game"], "--json").json
    assert (plain["series"], plain["agreement"]["series"]) == (None, None)
    assert plain["decided"]["winner"] == "bob"


def test_a_series_that_is_decided_early_ends(alice: TimedPlayer, bob: TimedPlayer) -> None:
    both = alice, bob
    first = begin(alice, bob, "--series", "3")
    lose(bob, both, first)
    second = go_on(both, first)["game"]
    lose(bob, both, second)
    made = go_on(both, second)
    assert (made["agreement"]["series"], made["decided"]["winner"]) == (None, "alice")


@pytest.mark.parametrize("number", ["0", "1", "2", "4", "11", "three"])
def test_a_series_has_an_odd_number_of_games(alice: TimedPlayer, number: str) -> None:
    done = alice("new", "--series", number)
    assert done.code == Exit.USAGE
    assert done.out == ""
    assert alice("games", "--json").json == []


def test_a_repeated_new_finds_the_series_that_it_began(alice: TimedPlayer, world: TimedWorld) -> None:
    """The id of a series is drawn anew; a command that broke off must find its game all the same."""

    class BrokenError(Exception):
        pass

    def broken(path: str, answer: Any) -> Any:  # Any: an answer
        if path.endswith("/entries"):
            raise BrokenError
        return answer

    world.tamper = broken
    with pytest.raises(BrokenError):
        alice.client.new(Hanamikoji(), series=3)
    world.tamper = lambda _path, answer: answer
    assert alice.client.new(Hanamikoji(), series=3).course.setup.agreement.series is not None
    assert len(alice("games", "--json").json) == 1
    other = alice.client.new(Hanamikoji(), series=5).course.setup.agreement.series
    assert other is not None
    assert other.games == 5


@pytest.mark.parametrize("words", [("--series", "xyz"), ("--series", ""), ("--series", "0" * 32)])
def test_an_unknown_series_is_named(alice: TimedPlayer, words: tuple[str, ...]) -> None:
    done = alice("games", *words)
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert "hkoji new --series 3" in done.err


# --- games with one opponent ------------------------------------------------------------------------------------------


def test_games_with_an_opponent_and_the_score(
    alice: TimedPlayer, bob: TimedPlayer, world: TimedWorld, tmp_path: Path
) -> None:
    both, carol = (alice, bob), timed_player(world, "carol", tmp_path)
    rated, unrated, third = (begin(alice, bob, *words) for words in ((), ("--unrated",), ()))
    lose(bob, both, rated)
    lose(bob, both, unrated)
    lose(alice, both, third)
    late = begin(alice, bob, "--clock", "2s")
    world.pass_by(200)
    world.let_keepers_look()
    loser = alice.position(late).course.outcome
    assert loser is not None
    assert loser.winner is not None
    called_off = begin(bob, alice)
    call_off(both, called_off)
    going, waiting = begin(bob, alice), bob("new", "--invite", "alice", "--json").json["game"]
    other = begin(alice, carol)
    lose(carol, (alice, carol), other)

    told = alice("games", "--with", "bob", "--json").json
    assert {each["game"] for each in told["games"]} == {rated, unrated, third, late, called_off, going, waiting}
    won = int(loser.winner == 0)
    assert told["score"] == {
        "won": 2 + won,
        "lost": 2 - won,
        "drawn": 0,
        "rated": {"won": 1 + won, "lost": 2 - won, "drawn": 0},
    }
    mirrored = bob("games", "--with", "alice", "--json").json
    assert (mirrored["score"]["won"], mirrored["score"]["lost"]) == (2 - won, 2 + won)
    text = alice("games", "--with", "bob")
    for words in ("won by resignation", "lost by resignation", "on time", "called off by agreement"):
        assert words in text.out
    assert text.out.splitlines()[-1].startswith(f"Against bob: {2 + won} won, {2 - won} lost, 0 shared; rated: ")
    assert carol("games", "--with", "bob").out == "No games with bob.\n"
    finished = alice("games", "--with", "bob", "--status", "finished", "--json").json
    assert {each["game"] for each in finished["games"]} >= {rated, unrated, third, late}
    assert not {going, waiting} & {each["game"] for each in finished["games"]}
    for status in ("finished", "playing", "open", "cancelled"):  # the score is that of all games, whichever are listed
        assert alice("games", "--with", "bob", "--status", status, "--json").json["score"] == told["score"]
    assert alice("games", "--with", "bob", "--status", "playing").out.splitlines()[-1] == text.out.splitlines()[-1]
    none = alice("games", "--with", "carol", "--status", "open").out
    assert none == "No such game with carol.\nAgainst carol: 1 won, 0 lost, 0 shared.\n"
    for game in (rated, unrated, third, late):
        alice.position(game)
    kept = alice("games", "--with", "bob", "--offline", "--json").json
    assert kept["score"] == told["score"]
    playing = alice("games", "--with", "bob", "--offline", "--status", "playing", "--json").json
    assert (playing["score"], {each["status"] for each in playing["games"]}) == (told["score"], {"playing"})


@pytest.mark.parametrize(
    "words",
    [
        ("--with", "Bob!"),
        ("--with", "alice"),
        ("--with", "bob", "--open"),
        ("--with", "bob", "--all"),
        ("--with", "bob", "--status", "lost"),
        ("--with", "bob", "--series", "ab"),
        ("--series", "ab", "--open"),
        ("--series", "ab", "--status", "finished"),
    ],
)
def test_options_that_make_no_sense_are_refused(alice: TimedPlayer, words: tuple[str, ...]) -> None:
    done = alice("games", *words)
    assert (done.code, done.out) == (Exit.USAGE, "")


# --- two processes ----------------------------------------------------------------------------------------------------
