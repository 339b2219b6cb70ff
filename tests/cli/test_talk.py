"""`hkoji talk`: messages between two players, and a service that lies about them. docs/spec/log.md, "Talk"."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hkoji.cli.games.talk import folded
from hkoji.client.transport import HttpAnswer
from hkoji.errors import NetworkError
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.log.talk import NOTHING_SEEN, hash_of, make_talk, parse_talk
from tests.support.shell import Done
from tests.support.timed_players import (
    URL,
    InsideTransport,
    TimedPlayer,
    TimedWorld,
    alice,
    bob,
    timed_game,
    timed_player,
    world,
)

__all__ = ["alice", "bob", "world"]

AT = "2026-11-20T12:00:00Z"


@pytest.fixture
def game(alice: TimedPlayer, bob: TimedPlayer) -> str:
    return timed_game(alice, bob)


def states(done: Done) -> list[tuple[int, str, str, str | None]]:
    return [(each["number"], each["name"], each["state"], each["text"]) for each in done.json["messages"]]


def files_of(player: TimedPlayer, game: str) -> bytes:
    """The file of the talk."""
    return (player.folder(game) / "talk.json").read_bytes()


def lying(world: TimedWorld, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Makes the service show other messages than it has."""

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        if "/talk?" not in path or answer.status != 200:
            return answer
        page = json.loads(answer.body)
        change(page["messages"])
        return answer._replace(body=json.dumps(page).encode())

    world.tamper = tamper


# --- an honest service ------------------------------------------------------------------------------------------------


def test_a_message_is_read_by_the_other_player_as_its_authors(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    assert "Nobody has written anything" in bob("talk", game).out
    done = alice("talk", game[:6], "hi", "there")
    assert done.code == 0
    assert done.out.startswith("1  you  2026-11-20 12:0")
    assert done.out.endswith("\n    hi there\n")
    read = bob("talk", game)
    assert (read.code, read.err) == (0, "")
    assert read.out.startswith("1  alice  2026-11-20 12:0")
    assert read.out.splitlines()[0].endswith("(new)")
    assert "(new)" not in bob("talk", game).out
    assert bob("talk", game, "hello").code == 0
    done = alice("talk", game, "--json")
    assert states(done) == [(1, "alice", "said", "hi there"), (2, "bob", "said", "hello")]
    assert [(each["mine"], each["new"], each["reason"]) for each in done.json["messages"]] == [
        (True, False, None),
        (False, True, None),
    ]


def test_each_message_names_the_last_one_that_its_author_had_seen(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str
) -> None:
    alice("talk", game, "one")
    alice("talk", game, "two")
    bob("talk", game, "three, before I have read anything")
    bob("talk", game, "four")
    shown = world.service.ask("GET", f"/v1/games/{game}/talk", token=alice.client.home.token(URL)).json["messages"]
    texts = [parse_talk(each["text"]) for each in shown]
    assert texts[0].after == texts[2].after == NOTHING_SEEN
    assert texts[1].after == texts[0].hash
    assert texts[3].after == texts[2].hash


def test_a_third_player_finds_nothing(world: TimedWorld, alice: TimedPlayer, game: str, tmp_path: Path) -> None:
    carol = timed_player(world, "carol", tmp_path)
    assert alice("talk", game, "between us").code == 0
    for words in ((), ("hello",), ("--delete", "1"), ("--mute",)):
        done = carol("talk", game, *words)
        assert (done.code, done.out) == (4, ""), words
        assert f"you are not a player in game {game[:8]}" in done.err
        assert "between us" not in done.err
    assert not (carol.folder(game) / "talk.json").exists()
    assert carol("talk", "0" * 32).code == 2
    assert len(alice("talk", game, "--json").json["messages"]) == 1


@pytest.mark.parametrize("words", ["x" * 1001, "ä" * 501, "a\x1b[2Jb", "a\rb", "\x07", ""])
def test_words_that_no_message_may_have_are_refused_and_nothing_is_kept(
    world: TimedWorld, alice: TimedPlayer, game: str, words: str
) -> None:
    before = [each for each in world.asked if "talk" in each]
    done = alice("talk", game, words)
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("hkoji: malformed message: it has ")
    assert done.err.endswith("\n  nothing was sent\n")
    assert "(messaggio)" in alice("--lang", "it", "talk", game, words).err
    assert [each for each in world.asked if "talk" in each] == before
    assert not (alice.folder(game) / "talk.json").exists()


@pytest.mark.parametrize("words", [" ", "\n \n", "\u2003"])
def test_a_message_of_spaces_is_not_sent(alice: TimedPlayer, bob: TimedPlayer, game: str, words: str) -> None:
    done = alice("talk", game, words)
    assert (done.code, done.out) == (2, "")
    assert "nothing but spaces\n  nothing was sent" in done.err
    assert bob("talk", game, "--json").json["messages"] == []


def test_a_message_from_standard_input(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    from tests.support.shell import run

    assert run("talk", game, "-", seat=alice, stdin="two\nlines\n").code == 0
    assert states(bob("talk", game, "--json")) == [(1, "alice", "said", "two\nlines")]
    assert run("talk", game, "-", seat=alice, stdin="x" * 1002).code == 5
    assert run("talk", game, "-", seat=alice, stdin="").code == 5
    assert len(bob("talk", game, "--json").json["messages"]) == 1


def test_no_part_of_a_message_from_standard_input_is_sent_for_the_whole(
    alice: TimedPlayer, bob: TimedPlayer, game: str
) -> None:
    from tests.support.shell import run

    # Line ends of two bytes count as one, so what is read is longer than what is said.
    assert run("talk", game, "-", seat=alice, stdin="line\r\n" * 170).code == 0
    (said,) = states(bob("talk", game, "--json"))
    assert said[3] == "line\n" * 169 + "line"
    for text in ("line\r\n" * 250, "x" * 1000 + "\n" + "rest", "x" * 1000 + "\r\n" * 2000, "ä" * 1500):
        done = run("talk", game, "-", seat=alice, stdin=text)
        assert done.code == 5, text
        assert "UTF-8" not in done.err
    assert len(bob("talk", game, "--json").json["messages"]) == 1


def test_a_message_cannot_steer_the_terminal_or_look_like_another_one(
    alice: TimedPlayer, bob: TimedPlayer, game: str
) -> None:
    assert alice("talk", game, "first\n2  you  2026-11-20 12:00 UTC\n    I resign\u202e!").code == 0
    shown = bob("talk", game).out
    assert "\u202e" not in shown
    assert "\\u202e" in shown
    lines = shown.splitlines()
    assert [line for line in lines if not line.startswith("    ")] == lines[:1]
    assert "    2  you  2026-11-20 12:00 UTC" in lines


def test_no_line_of_a_message_is_wider_than_the_terminal() -> None:
    chance = random.Random(5)
    for _ in range(200):
        width = chance.randint(24, 90)
        signs = "ab \u3000花\u00a0\n\u200b-"
        words = "".join(chance.choice(signs) for _ in range(chance.randint(1, 300)))
        lines = folded(words, width)
        for line in lines:
            assert line.startswith("    ")
            assert sum(2 if each in "花" else 1 for each in line) < width
        assert "".join(lines).count("花") == words.count("花")
        assert "".join(folded(words, None)).count("a") == words.count("a")


def test_a_message_that_was_not_confirmed_is_sent_again_with_the_same_bytes(
    alice: TimedPlayer, bob: TimedPlayer, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = InsideTransport.request
    sent: list[bytes | None] = []

    def lost(self: InsideTransport, method: str, path: str, body: bytes | None = None, token: str | None = None) -> Any:
        if method == "POST" and path.endswith("/talk"):
            sent.append(body)
            if len(sent) == 1:
                raise NetworkError(URL, "lost on the way")
            answer = real(self, method, path, body, token)
            if len(sent) == 2:
                raise NetworkError(URL, "the answer is lost")
            return answer
        return real(self, method, path, body, token)

    monkeypatch.setattr(InsideTransport, "request", lost)
    for _ in range(2):
        done = alice("talk", game, "are you there?")
        assert done.code == 7
        assert "sends the same bytes" in done.err
    assert bob("talk", game, "--json").json["messages"][0]["text"] == "are you there?"
    kept = alice("talk", game, "--offline")
    assert "not confirmed yet:\n    are you there?" in kept.out
    assert alice("talk", game, "are you there?").code == 0
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert states(alice("talk", game, "--json")) == [(1, "alice", "said", "are you there?")]
    assert alice("talk", game, "are you there?").code == 0  # said again, because the first one was confirmed
    assert len(bob("talk", game, "--json").json["messages"]) == 2


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _unreachable(*_: object) -> None:
    raise NetworkError(URL, "down")


_FETCH = "hkoji.client.talk_messages.TalkRequests.messages"
_PRINT = "hkoji.cli.games.talk._result"


@pytest.mark.parametrize(
    ("first", "where", "stop"),
    [
        (("talk", "GAME", "hello"), _FETCH, _unreachable),
        (("talk", "GAME", "hello"), _PRINT, _interrupted),
        (("talk", "GAME"), _PRINT, _interrupted),
    ],
)
def test_a_message_whose_command_broke_off_after_it_was_taken_is_not_said_twice(
    alice: TimedPlayer, bob: TimedPlayer, game: str, first: tuple[str, ...], where: str, stop: Callable[..., Any]
) -> None:
    """Neither by the command that has signed it, nor by another one that has only delivered it."""
    if len(first) == 2:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("hkoji.client.talk_messages.TalkRequests.say", _unreachable)
            assert alice("talk", game, "hello").code == 7
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(where, stop)
        assert alice(*(game if word == "GAME" else word for word in first)).code != 0
    assert alice("talk", game, "hello").code == 0
    assert [each["text"] for each in bob("talk", game, "--json").json["messages"]] == ["hello"]
    assert alice("talk", game, "hello").code == 0  # at once: the process may have been killed at its very end
    assert len(bob("talk", game, "--json").json["messages"]) == 1
    assert alice("talk", game).code == 0
    assert alice("talk", game, "hello").code == 0  # she has read that the first one is there, so this is another
    assert len(bob("talk", game, "--json").json["messages"]) == 2


def test_the_same_words_some_time_later_are_another_message(
    alice: TimedPlayer, bob: TimedPlayer, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for passed, count in ((0, 1), (9, 1), (20, 2), (-3600, 3)):
        monkeypatch.setattr("hkoji.client.talk.time", SimpleNamespace(time=lambda passed=passed: 1.8e9 + passed))
        assert alice("talk", game, "ping").code == 0
        assert len(bob("talk", game, "--json").json["messages"]) == count


def test_a_message_that_waits_is_sent_by_the_next_command(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    with alice.client.game(game) as held:
        player = held._sender.player()
        statement = make_talk(after=NOTHING_SEEN, at=AT, game=game, name="alice", words="waits")
        sig = player.signer.sign(sshsig.TALK, statement.message)
        held.talk._file.set_pending(statement, encode_base64(sig))
    assert states(alice("talk", game, "--json")) == [(1, "alice", "said", "waits")]
    assert json.loads(files_of(alice, game))["pending"] is None


def test_a_refused_message_does_not_wait(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    alice("talk", game, "hi")
    connection = sqlite3.connect(world.service.data / "hkoji.sqlite3")
    with connection:
        connection.execute("INSERT INTO block VALUES ('bob', 'alice')")
    connection.close()
    done = alice("talk", game, "hello?", "--json")
    assert (done.code, done.error["code"]) == (4, "blocked")
    shown = alice("talk", game, "--json").json
    assert (len(shown["messages"]), shown["pending"]) == (1, None)


def test_before_the_join_there_is_nobody(alice: TimedPlayer) -> None:
    game = alice("new").out.strip()
    done = alice("talk", game, "anybody?", "--json")
    assert (done.code, done.error["code"]) == (9, "talk-closed")
    assert alice("talk", game, "--json").json["pending"] is None


def test_a_message_is_deleted_by_its_author_only(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    for words in ("one", "two"):
        alice("talk", game, words)
    assert len(bob("talk", game, "--json").json["messages"]) == 2
    assert bob("talk", game, "--delete", "2").code == 2
    assert alice("talk", game, "--delete", "3").code == 2
    assert states(alice("talk", game, "--json"))[1][2] == "said"
    assert alice("talk", game, "--delete", "2").code == 0
    for player in (alice, bob):
        done = player("talk", game)
        assert (done.code, done.out.splitlines()[-1]) == (0, "    deleted")
        assert b"dHdv" not in files_of(player, game)  # "two" in base64
    # A message that refers to a deleted one is not doubtful, also for a reader who never saw that one.
    assert alice("talk", game, "three").code == 0
    assert [each[2] for each in states(bob("talk", game, "--json"))] == ["said", "deleted", "said"]


def test_a_reader_who_never_saw_what_was_deleted_has_no_doubt(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    alice("talk", game, "one")
    alice("talk", game, "two")
    alice("talk", game, "--delete", "1")
    assert [each[2] for each in states(bob("talk", game, "--json"))] == ["deleted", "said"]


def test_muting_hides_messages_here_and_asks_no_service(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str
) -> None:
    alice("talk", game, "look at me")
    asked = len(world.asked)
    assert bob("talk", game, "--mute").code == 0
    assert len(world.asked) == asked
    bob("talk", game, "later")
    done = bob("talk", game)
    assert "look at me" not in done.out
    assert f"hkoji talk {game[:8]} --unmute" in done.out
    assert "later" in done.out
    assert bob("talk", game, "--json").json["muted"] is True
    assert "look at me" in bob("talk", game, "--unmute").out
    assert "later" in alice("talk", game).out


def test_offline_shows_what_was_verified(world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    alice("talk", game, "hi")
    bob("talk", game)
    asked = len(world.asked)
    done = bob("talk", game, "--offline")
    assert (done.code, len(world.asked)) == (0, asked)
    assert "    hi\n" in done.out
    assert "your saved copy, from " in done.err
    assert bob("talk", game, "text", "--offline").code == 2
    assert bob("talk", game, "--offline", "--json").json["offline"] is True


def test_talk_is_in_no_log_export_or_evidence(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    alice("talk", game, "a secret word")
    bob("talk", game, "another one")
    alice("talk", game)
    assert alice("resign", game, "--yes").code == 0
    encoded = [encode_base64(each.encode()) for each in ("a secret word", "another one")]
    for player in (alice, bob):
        assert all(each in files_of(player, game).decode() for each in encoded)
        for words in (("log",), ("export",), ("evidence", "--with-cards"), ("show",), ("show", "--json")):
            done = player(words[0], game, *words[1:])
            assert done.code == 0, words
            for each in ("secret word", "another one", *encoded):
                assert each not in done.out, words


# --- a service that lies ----------------------------------------------------------------------------------------------


def changed_in_the_database(world: TimedWorld, words: str) -> None:
    connection = sqlite3.connect(world.service.data / "hkoji.sqlite3")
    ((text,),) = connection.execute("SELECT text FROM talk WHERE number = 1").fetchall()
    other = text.replace(encode_base64(parse_talk(text).words.encode()), encode_base64(words.encode()))
    assert other != text
    with connection:
        connection.execute("UPDATE talk SET text = ? WHERE number = 1", (other,))
    connection.close()


@pytest.mark.parametrize("read_before", [True, False])
def test_a_message_that_was_changed_in_the_database_is_not_its_authors_word(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str, read_before: bool
) -> None:
    alice("talk", game, "I shall not resign")
    if read_before:
        assert bob("talk", game).code == 0
    changed_in_the_database(world, "I resign")
    done = bob("talk", game)
    assert done.code == 8
    assert "not alice's word" in done.out
    assert "resign" not in done.out
    assert "1 message is not the word of its author" in done.err
    shown = bob("talk", game, "--json")
    assert (shown.code, states(shown)) == (8, [(1, "alice", "false", None)])
    offline = bob("talk", game, "--offline")
    assert ("I shall not resign" in offline.out) is read_before
    assert "I resign" not in offline.out


@pytest.mark.parametrize("case", ["forged", "other game", "other name", "other key", "repeated", "no text"])
def test_nobody_else_writes_in_a_friends_name(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str, case: str
) -> None:
    other = timed_game(alice, bob)
    alice("talk", game, "hi")
    alice("talk", other, "elsewhere")
    token = alice.client.home.token(URL)
    ((elsewhere),) = world.service.ask("GET", f"/v1/games/{other}/talk", token=token).json["messages"]
    thief = PrivateKey.from_seed(b"t" * 32)

    def change(messages: list[dict[str, Any]]) -> None:
        (genuine,) = messages
        made = dict(genuine, number=2)
        match case:
            case "forged" | "other key":
                statement = make_talk(after=hash_of(genuine["text"]), at=AT, game=game, name="alice", words="I resign")
                made["text"] = statement.text
                if case == "other key":
                    made["sig"] = encode_base64(thief.sign(sshsig.TALK, statement.message))
            case "other game":
                made = dict(elsewhere, number=2)
            case "other name":
                made["name"] = "bob"
            case "no text":
                made["text"] = "\x1b[2J not canonical \n"
        messages.append(made)

    lying(world, change)
    done = bob("talk", game, "--json")
    assert done.code == 8
    assert [(each["number"], each["state"], each["text"]) for each in done.json["messages"]] == [
        (1, "said", "hi"),
        (2, "false", None),
    ]
    name = "bob" if case == "other name" else "alice"
    text = bob("talk", game).out
    assert f"not {name}'s word" in text
    assert "\x1b" not in text
    assert [each["number"] for each in json.loads(files_of(bob, game))["kept"]] == [1]


def three(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    for words in ("one", "two", "three"):
        assert alice("talk", game, words).code == 0


def renumber(messages: list[dict[str, Any]]) -> None:
    for number, each in enumerate(messages, 1):
        each["number"] = number


@pytest.mark.parametrize("case", ["missing", "gap", "order"])
def test_a_reader_notices_what_is_missing_and_another_order(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str, case: str
) -> None:
    three(alice, bob, game)

    def change(messages: list[dict[str, Any]]) -> None:
        if case == "order":
            messages[0], messages[1] = messages[1], messages[0]
        else:
            del messages[1]
        if case != "gap":
            renumber(messages)

    lying(world, change)
    done = bob("talk", game, "--json")
    doubtful = [each for each in done.json["messages"] if each["state"] == "doubtful"]
    assert doubtful
    assert doubtful[0]["text"] == ("three" if case != "order" else "two")
    assert ("after it" in doubtful[0]["reason"]) is (case == "order")
    assert "(doubtful: " in bob("talk", game).out


@pytest.mark.parametrize("case", ["removed", "exchanged", "renumbered"])
def test_the_service_contradicts_what_it_has_shown(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str, case: str
) -> None:
    three(alice, bob, game)
    assert bob("talk", game).code == 0
    before = files_of(bob, game)

    def change(messages: list[dict[str, Any]]) -> None:
        if case == "removed":
            del messages[2]
        elif case == "exchanged":
            messages[0], messages[1] = messages[1], messages[0]
            renumber(messages)
        else:
            del messages[0]
            renumber(messages)

    lying(world, change)
    done = bob("talk", game)
    assert done.code == 8
    assert "message" in done.err
    assert files_of(bob, game) == before
    assert [each[3] for each in states(bob("talk", game, "--offline", "--json"))] == ["one", "two", "three"]


def test_a_service_that_confirms_another_message_is_not_believed(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str
) -> None:
    three(alice, bob, game)

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/talk"):
            return answer
        value = json.loads(answer.body)
        return answer._replace(body=json.dumps({**value, **changed}).encode())

    world.tamper = tamper
    changed: dict[str, Any] = {"text": "something else"}
    assert alice("talk", game, "four").code == 8
    changed = {"number": 1}
    assert alice("talk", game, "four").code == 8
    changed = {}
    assert alice("talk", game, "four").code == 0
    world.tamper = lambda _path, answer: answer
    assert [each[3] for each in states(bob("talk", game, "--json"))] == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    "page",
    [
        {"messages": [], "next": 5},
        {"messages": [{"number": 1, "name": "alice", "at": AT, "text": None, "sig": None}], "next": 1},
        {"messages": [{"number": 1, "name": "alice", "at": AT, "text": None, "sig": "x"}], "next": None},
        {"messages": [{"number": "1", "name": "alice", "at": AT, "text": None, "sig": None}], "next": None},
        {"messages": [{"number": 1, "name": "\x1b", "at": AT, "text": None, "sig": None}], "next": None},
        {"messages": None, "next": None},
    ],
)
def test_an_answer_that_is_none_changes_nothing(
    world: TimedWorld, alice: TimedPlayer, bob: TimedPlayer, game: str, page: dict[str, Any]
) -> None:
    three(alice, bob, game)
    bob("talk", game)
    before = files_of(bob, game)
    world.tamper = lambda path, answer: answer._replace(body=json.dumps(page).encode()) if "/talk?" in path else answer
    done = bob("talk", game)
    assert (done.code, done.out) == (1, "")
    assert files_of(bob, game) == before


def test_a_message_by_an_earlier_key_stays_its_authors(alice: TimedPlayer, bob: TimedPlayer, game: str) -> None:
    alice("talk", game, "by the first key")
    assert alice("rekey").code == 0
    assert alice("show", game).code == 0
    assert alice("talk", game, "by the second key").code == 0
    assert [each[2] for each in states(bob("talk", game, "--json"))] == ["said", "said"]


def test_a_damaged_file_is_said_and_stays(alice: TimedPlayer, game: str) -> None:
    alice("talk", game, "hi")
    file = alice.folder(game) / "talk.json"
    file.write_bytes(file.read_bytes().replace(b'"hash": "', b'"hash": "0'))
    before = file.read_bytes()
    done = alice("talk", game)
    assert done.code == 1
    assert "talk.json is damaged" in done.err
    assert file.read_bytes() == before
