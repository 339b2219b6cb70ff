"""News of a player's games are told once, in a line with the command that shows more, by every command that lists or
shows games; JSON has them in fields and takes nothing away from the player.
"""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from hkoji.cli.output import Exit
from hkoji.client.transport import HttpAnswer
from hkoji.errors import ServiceError, StorageError
from tests.support.shell import Done
from tests.support.timed_players import DAY, TimedPlayer, TimedWorld, alice, bob, timed_game, world

__all__ = ["alice", "bob", "world"]

SLACK = 600


@pytest.fixture
def without_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service has no streams of events, and messages are looked for at every look."""

    def follow(*_: object) -> None:
        raise ServiceError(404, "there are none")

    monkeypatch.setattr("hkoji.client.requests.ServiceRequests.follow", follow)
    monkeypatch.setattr("hkoji.client.news._LATELY", 0.0)


def told(player: TimedPlayer) -> dict[str, object]:
    """The record of the news that the player was told."""
    found: dict[str, object] = json.loads((player.path / "told.json").read_text())
    return found


@pytest.mark.parametrize("words", ["next", "games", "games --status playing", "show", "wait"])
def test_a_message_is_told_once_with_the_command_that_reads_it(
    alice: TimedPlayer, bob: TimedPlayer, words: str
) -> None:
    game = timed_game(alice, bob)
    command = words.split() if words.split(maxsplit=1)[0] in ("next", "games") else [words, game]
    assert alice(*command).err == ""
    assert bob("talk", game, "hello").code == 0
    assert bob("talk", game, "are you there?").code == 0
    assert alice(*command).err == f"bob has written to you in game {game[:8]}: hkoji talk {game[:8]}\n"
    for again in (command, ["next"], ["games"], ["show", game]):
        assert alice(*again).err == ""
    assert "hello" in alice("talk", game).out
    assert bob("talk", game, "more").code == 0
    assert "bob ti ha scritto" in alice(*command, "--lang", "it").err
    assert "written" not in bob(*["next" if words == "wait" else command[0], *command[1:]][:1]).err


def test_a_wait_that_runs_out_tells_a_message_once(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game, other = timed_game(alice, bob), timed_game(alice, bob)
    assert bob("wait", game, "--timeout", "0").err.startswith("hkoji: still waiting")
    for each in (game, other):
        assert alice("talk", each, "hello").code == 0
    assert bob("wait", game, "--timeout", "0", "--json").code == Exit.CANCELLED
    done = bob("wait", game, "--timeout", "0")
    assert done.code == Exit.CANCELLED
    line, error, *_ = done.err.splitlines()
    assert line == f"alice has written to you in game {game[:8]}: hkoji talk {game[:8]}"
    assert error == f"hkoji: still waiting in game {game[:8]}"
    assert "written" not in bob("wait", game, "--timeout", "0").err
    assert f"hkoji talk {other[:8]}" in bob("next").err


def test_read_messages_are_not_told_and_neither_is_a_muted_opponent(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    assert bob("talk", game, "hello").code == 0
    assert "hello" in alice("talk", game).out
    assert alice("next").err == ""
    assert alice("talk", game, "--mute").code == 0
    assert bob("talk", game, "and now?").code == 0
    assert alice("next").err == alice("games").err == ""
    assert alice("talk", game, "--unmute").code == 0
    assert "bob has written" in alice("next").err


def test_a_decline_is_told_once(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = alice("new", "--invite", "bob").out.strip()
    assert alice("next").err == ""
    assert bob("decline", game, "--why", "later").code == 0
    line = f"Game {game[:8]}: bob declined the invitation (later). See it: hkoji show {game[:8]}\n"
    assert alice("next").err == line
    assert alice("next").err == alice("games").err == bob("next").err == ""
    assert game in told(alice)["over"]  # type: ignore[operator] # a list


def test_an_offer_that_expired_and_an_invitation_that_was_taken_back_are_told(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    expired, invited = alice("new", "--expires", "1d").out.strip(), alice("new", "--invite", "bob").out.strip()
    assert bob("show", invited).code == 0
    assert alice("cancel", invited).code == 0
    assert bob("games").err.startswith(f"Game {invited[:8]}: alice cancelled the game before anybody joined. See it:")
    assert alice("next").err == ""  # she has cancelled it herself
    world.pass_by(DAY + SLACK + 1)
    world.let_keepers_look()
    assert alice("next").err.startswith(f"Game {expired[:8]}: The offer expired before anybody joined. See it:")


def test_a_lost_game_is_told_once_and_so_is_one_that_the_opponent_gave_up(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    lost, won = timed_game(alice, bob, "3d"), timed_game(alice, bob, "none")
    assert bob("next").code == alice("next").code == 0
    assert bob("resign", won, "--yes").code == 0
    assert bob("next").err == ""
    world.pass_by(3 * DAY + SLACK + 1)
    world.let_keepers_look()
    lines = alice("games").err.splitlines()
    assert sorted(lines) == sorted(
        [
            f"Game {won[:8]} against bob is over: won by resignation. See it: hkoji show {won[:8]}",
            f"Game {lost[:8]} against bob is over: lost on time. See it: hkoji show {lost[:8]}",
        ]
    )
    assert alice("next").err == ""
    assert "won on time" in bob("next").err
    assert bob("next").err == ""


def test_a_game_that_was_seen_to_be_over_is_no_news(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "none")
    assert bob("resign", game, "--yes").code == 0
    assert "The game is over" in alice("show", game).out
    assert alice("next").err == bob("next").err == ""


def test_an_older_home_is_not_told_of_games_that_it_has_shown(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game, later = timed_game(alice, bob, "none"), timed_game(alice, bob, "none")
    assert bob("resign", game, "--yes").code == 0
    assert alice("show", game).code == 0
    (alice.path / "told.json").unlink(missing_ok=True)
    assert bob("resign", later, "--yes").code == 0
    assert later[:8] in alice("next").err
    assert told(alice)["over"] == sorted([game, later])


def test_json_has_news_in_fields_and_takes_none_away(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game, over = timed_game(alice, bob), timed_game(alice, bob, "none")
    assert alice("next").code == 0
    assert bob("talk", game, "hello").code == 0
    assert bob("resign", over, "--yes").code == 0
    for _ in range(2):
        (listed,) = alice("next", "--json").json
        assert (listed["game"], listed["news"]) == (game, ["message"])
        news = {each["game"]: each["news"] for each in alice("games", "--json").json}
        assert news == {game: ["message"], over: ["over"]}
        assert alice("show", game, "--json").json["unread"] == 1
        assert alice("wait", game, "--json").json["unread"] == 1
    assert alice("next").err.count("\n") == 2
    assert [each["news"] for each in alice("games", "--json").json] == [[], []]
    assert "unread" not in alice("show", game, "--json").json


def test_a_service_that_knows_nothing_of_messages_is_no_failure(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer
) -> None:
    timed_game(alice, bob)

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        return HttpAnswer(404, b"{}") if path == "/v1/me/talk" else answer

    world.tamper = tamper
    done = alice("next")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "body", [b'{"games":[{"game":"x","number":1,"name":"bob"}]}', b'{"games":[{}]}', b"[]", b'{"games":3}']
)
def test_a_list_of_messages_that_is_none_is_not_told(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, body: bytes
) -> None:
    timed_game(alice, bob)
    world.tamper = lambda path, answer: HttpAnswer(200, body) if path == "/v1/me/talk" else answer
    done = alice("next")
    assert (done.code, done.err) == (0, "")


def test_a_command_that_is_killed_before_it_tells_leaves_the_news(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    assert bob("talk", game, "hello").code == 0
    with patch("hkoji.cli.games.told.message_line", side_effect=KeyboardInterrupt):
        alice("next")
    assert "bob has written" in alice("next").err


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"over": 5}', '{"over": null}', '{"over": [], "talk": [1]}', '{"talk": {"GAME": 1e999}}']
)
def test_no_command_fails_for_a_damaged_note_of_what_was_told(
    alice: TimedPlayer, bob: TimedPlayer, damage: str
) -> None:
    game, over = timed_game(alice, bob), timed_game(alice, bob, "none")
    assert bob("talk", game, "hello").code == 0
    assert alice("next").code == 0
    file = alice.path / "told.json"
    for words in (["next"], ["games"], ["show", game], ["wait", game], ["resign", over, "--yes"], ["show", over]):
        for more in ([], ["--json"]) if words[0] != "resign" else ([],):
            file.write_text(damage.replace("GAME", game))
            done = alice(*words, *more)
            assert (done.code, "told.json" in done.err) == (0, False), words
    assert bob("talk", game, "more").code == 0
    assert "bob has written" in alice("next").err
    assert told(alice) == {"over": [over], "talk": {game: 2}}


def test_a_note_of_what_was_told_that_cannot_be_written_hides_nothing(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob, "none")
    assert bob("talk", game, "hello").code == 0
    full = StorageError("cannot write told.json: No space left on device")
    with patch("hkoji.client.news.write_json", side_effect=full):
        for words in (["games"], ["show", game], ["resign", game, "--yes"], ["show", game], ["next"]):
            done = alice(*words)
            assert (done.code, done.out != "") == (0, True), words
            assert (full.message in done.err) is (words[0] != "resign")
        assert alice("games", "--json").json[0]["news"] == ["message"]


def test_a_damaged_file_of_messages_fails_no_list(alice: TimedPlayer, bob: TimedPlayer) -> None:
    game = timed_game(alice, bob)
    assert bob("talk", game, "hello").code == 0
    (alice.path / "games" / game / "talk.json").write_text("{")
    assert alice("games", "--json").json[0]["news"] == ["message"]
    assert alice("show", game, "--json").json["unread"] == 1
    assert "bob has written" in alice("next").err
    assert alice("next").err == ""
    assert "talk.json" in alice("talk", game).err


@pytest.mark.usefixtures("without_streams")
def test_watching_all_games_tells_what_is_new_and_then_what_comes(
    alice: TimedPlayer, bob: TimedPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, lost = timed_game(alice, bob, "none"), timed_game(alice, bob, "none")
    assert alice("next").code == 0
    assert bob("talk", game, "before").code == 0
    assert bob("resign", lost, "--yes").code == 0
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        match len(pauses):
            case 1:
                bob("talk", game, "meanwhile")
            case 2:
                bob("resign", game, "--yes")
            case 4:
                raise KeyboardInterrupt

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    done = alice("watch", "--all")
    assert done.code == Exit.INTERRUPTED
    written = f"bob has written to you in game {game[:8]}: hkoji talk {game[:8]}"
    lines = done.out.splitlines()
    assert lines[0] == written
    assert lines[1] == f"Game {lost[:8]} against bob is over: won by resignation. See it: hkoji show {lost[:8]}"
    assert lines[2] == written
    assert lines[-1].endswith("the game is over: alice wins by resignation")
    assert alice("next").err == ""


@pytest.mark.usefixtures("without_streams")
def test_a_program_that_watches_gets_each_message_once(
    alice: TimedPlayer, bob: TimedPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = timed_game(alice, bob, "none")
    assert bob("talk", game, "before").code == 0
    written: list[Done] = []

    def sleep(_seconds: float) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(bob("talk", game, "meanwhile"))

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    done = alice("watch", "--all", "--json")
    assert done.code == Exit.INTERRUPTED
    assert json.loads(done.out) == {"v": 1, "game": game, "kind": "talk", "number": 2, "by": "bob"}
    assert not (alice.path / "told.json").exists() or told(alice)["talk"] == {}


@pytest.mark.parametrize("seen", [["next"], ["next", "--json"], ["games"]])
def test_an_invitation_that_was_listed_and_then_taken_back_is_told_once(
    alice: TimedPlayer, bob: TimedPlayer, seen: list[str]
) -> None:
    """The player has looked at no more than the list."""
    game = alice("new", "--invite", "bob").out.strip()
    assert game[:8] in bob(*seen).out
    assert alice("cancel", game).code == 0
    line = f"Game {game[:8]}: alice cancelled the game before anybody joined. See it: hkoji show {game[:8]}\n"
    assert bob("next").err == line
    assert bob("next").err == bob("games").err == ""
