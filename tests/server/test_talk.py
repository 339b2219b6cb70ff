"""Messages between the players of a game, over plain HTTP. docs/spec/http.md, "Talk"."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server import admin
from hkoji_server.service.games import keeper

from hkoji.game import entry_kinds
from hkoji.log.canonical import encode, encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.log.talk import NOTHING_SEEN, hash_of, parse_talk
from tests.support.service import AT, Answer, Player, begin
from tests.support.service_in_process import Inside, inside
from tests.support.tidied import let_it_tidy
from tests.support.timed_games import AN_HOUR, let_keepers_look, log_of, refused, service, timed

__all__ = ["service"]

DAY = 86_400


def talk_of(player: Player, game: str, query: str = "") -> Answer:
    return player.service.ask("GET", f"/v1/games/{game}/talk{query}", token=player.token)


def said(player: Player, game: str) -> list[tuple[int, str, str | None]]:
    """The messages of a game, as the player gets them: number, author, words."""
    answer = talk_of(player, game)
    assert answer.status == 200, answer
    return [
        (each["number"], each["name"], each["text"] and parse_talk(each["text"]).words)
        for each in answer.json["messages"]
    ]


def delete(player: Player, game: str, number: int) -> Answer:
    return player.service.ask("DELETE", f"/v1/games/{game}/talk/{number}", token=player.token)


def test_both_read_what_each_says_in_the_order_in_which_it_came(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    assert said(bob, game) == []
    first = alice.say(game, "Guten Tag, 花魁\nwie geht es?")
    assert first.status == 201
    assert (first.json["number"], first.json["name"], first.json["at"]) == (1, "alice", AT)
    assert bob.say(game, "gut", after=hash_of(first.json["text"])).json["number"] == 2
    assert alice.say(game, "gut").json["number"] == 3
    expected = [(1, "alice", "Guten Tag, 花魁\nwie geht es?"), (2, "bob", "gut"), (3, "alice", "gut")]
    assert said(alice, game) == said(bob, game) == expected
    assert talk_of(bob, game).headers["cache-control"] == "no-store"


def test_one_request_tells_each_player_where_the_other_has_written(
    service: Inside, players: tuple[Player, Player]
) -> None:
    alice, bob = players
    game, other = begin(*players), begin(*players)

    def last(player: Player) -> list[dict[str, Any]]:
        answer = service.ask("GET", "/v1/me/talk", token=player.token)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        games: list[dict[str, Any]] = answer.json["games"]
        return games

    assert last(alice) == last(bob) == []
    alice.say(game, "one")
    alice.say(game, "two")
    bob.say(other, "three")
    assert last(alice) == [{"game": other, "number": 1, "name": "bob"}]
    assert last(bob) == [{"game": game, "number": 2, "name": "alice"}]
    delete(alice, game, 2)
    assert last(bob) == [{"game": game, "number": 1, "name": "alice"}]
    refused(service.ask("GET", "/v1/me/talk"), 401, "login-required")


def test_pages_have_every_message_once(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    for number in range(7):
        assert (alice, bob)[number % 2].say(game, f"word {number}").status == 201
    found, after = [], 0
    for _ in range(4):
        page = talk_of(bob, game, f"?after={after}&limit=2").json
        found += [each["number"] for each in page["messages"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert found == list(range(1, 8))
    assert talk_of(bob, game, "?after=5&limit=2").json["next"] is None
    for query in ("?after=-1", "?limit=0", "?limit=101", "?after=x"):
        assert talk_of(bob, game, query).status == 400


def test_somebody_who_does_not_play_finds_no_game(service: Inside, players: tuple[Player, Player]) -> None:
    alice, _ = players
    carol = Player(service, "carol").register()
    game, unknown = begin(*players), "0" * 32
    assert alice.say(game, "hi").status == 201
    asks: tuple[Callable[[str], Answer], ...] = (
        lambda each: talk_of(carol, each),
        lambda each: carol.say(each, "hi"),
        lambda each: delete(carol, each, 1),
    )
    for ask in asks:
        there, nowhere = ask(game), ask(unknown)
        refused(there, 404, "not-found")
        assert there.body.replace(game.encode(), b"") == nowhere.body.replace(unknown.encode(), b"")
    assert said(alice, game) == [(1, "alice", "hi")]


@pytest.mark.parametrize("case", ["name", "game", "key", "namespace", "text", "login"])
def test_nobody_writes_in_the_name_of_another(service: Inside, players: tuple[Player, Player], case: str) -> None:
    alice, bob = players
    game, other = begin(*players), begin(*players)
    path, genuine = f"/v1/games/{game}/talk", alice.saying(game, "hi")
    token: str | None = alice.token
    match case:
        case "name":  # bob signs what alice is said to have written
            request, status, code = bob.saying(game, "hi", name="alice"), 403, "bad-signature"
        case "login":  # bob sends what alice has signed
            request, status, code, token = genuine, 403, "forbidden", bob.token
        case "game":
            request, status, code = alice.saying(other, "hi"), 400, "malformed"
        case "key":
            forger = Player(service, "alice", PrivateKey.from_seed(b"f" * 32))
            request, status, code = forger.saying(game, "hi"), 403, "bad-signature"
        case "namespace":
            request = {**genuine, "sig": alice.signed(genuine["text"], "hkoji.give.v1")}
            status, code = 403, "bad-signature"
        case _:
            request = {**genuine, "text": alice.saying(game, "ho")["text"]}
            status, code = 403, "bad-signature"
    refused(alice.ask(path, request, token), status, code)
    assert said(alice, game) == []


def _text(alice: Player, game: str, words: bytes, **changes: Any) -> dict[str, str]:  # Any: JSON
    value: dict[str, Any] = {
        "after": NOTHING_SEEN,
        "at": AT,
        "game": game,
        "name": "alice",
        "text": encode_base64(words),
        "v": 1,
    }
    text = encode({**value, **changes})
    return {"text": text, "sig": alice.signed(text, "hkoji.talk.v1")}


@pytest.mark.parametrize(
    "words", [b"", b"x" * 1001, b"a\rb", b"\x1b[2J", b"a\x00", b"\x7f", b"\xc2\x9b2J", b"\xff", b"\xed\xa0\x80"]
)
def test_words_that_no_message_may_have(players: tuple[Player, Player], words: bytes) -> None:
    alice, _ = players
    game = begin(*players)
    refused(alice.ask(f"/v1/games/{game}/talk", _text(alice, game, words), alice.token), 400, "malformed")
    assert said(alice, game) == []


def test_words_of_the_greatest_length(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    assert alice.say(game, "x" * 1000).status == 201
    assert said(bob, game) == [(1, "alice", "x" * 1000)]


def test_there_is_nobody_to_talk_to_before_the_join(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = alice.new(invite=entry_kinds.Invite("bob", None))
    refused(alice.say(game, "hi"), 409, "talk-closed")
    refused(bob.say(game, "hi"), 404, "not-found")
    assert said(alice, game) == []


def test_a_week_after_the_end_nothing_more_is_written_and_after_ninety_days_nothing_is_left(tmp_path: Path) -> None:
    with patch.object(keeper, "TIDY_PACE", 0.05), inside(tmp_path / "data", outage_after=10**8) as service:
        players = Player(service, "alice").register(), Player(service, "bob").register()
        alice, bob = players
        game, going = begin(*players), begin(*players)
        for each in (game, going):
            assert alice.say(each, "hi").status == 201
        assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
        service.clock.pass_by(7 * DAY)
        alice.login(), bob.login()
        assert bob.say(game, "well played").status == 201
        service.clock.pass_by(1)
        refused(bob.say(game, "still there?"), 409, "talk-closed")
        assert delete(alice, game, 1).status == 204
        service.clock.pass_by(83 * DAY - 2)
        bob.login()
        let_it_tidy(service)
        assert said(bob, game) == [(1, "alice", None), (2, "bob", "well played")]
        service.clock.pass_by(2)
        bob.login()
        let_it_tidy(service)
        assert said(bob, game) == []
        assert said(bob, going) == [(1, "alice", "hi")]
        assert len(bob.lines(game)) > 3
    assert admin.check(tmp_path / "data").faults == ()


def test_a_deleted_message_leaves_its_number_and_nothing_else(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    for words in ("one", "two"):
        assert alice.say(game, words).status == 201
    refused(delete(bob, game, 2), 403, "forbidden")
    refused(delete(alice, game, 3), 404, "not-found")
    for _ in range(2):
        answer = delete(alice, game, 2)
        assert (answer.status, answer.body) == (204, b"")
    assert said(bob, game) == [(1, "alice", "one"), (2, "alice", None)]
    assert talk_of(bob, game).json["messages"][1]["sig"] is None
    assert bob.say(game, "three").json["number"] == 3
    connection = sqlite3.connect(service.data / "hkoji.sqlite3")
    kept = connection.execute("SELECT number, text IS NULL, sig IS NULL FROM talk ORDER BY number").fetchall()
    connection.close()
    assert kept == [(1, 0, 0), (2, 1, 1), (3, 0, 0)]


def test_a_player_who_has_blocked_the_author_hears_nothing(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    assert alice.say(game, "hi").status == 201
    connection = sqlite3.connect(service.data / "hkoji.sqlite3")
    with connection:
        connection.execute("INSERT INTO block VALUES ('bob', 'alice')")
    connection.close()
    refused(alice.say(game, "hello?"), 403, "blocked")
    assert bob.say(game, "no").status == 201
    assert said(alice, game) == [(1, "alice", "hi"), (2, "bob", "no")]


def test_the_key_that_counts_in_the_game_signs(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game, old = begin(*players), alice.key
    assert alice.say(game, "by the first key").status == 201
    new = PrivateKey.from_seed(b"n" * 32)
    rekey = entry_kinds.Rekey(new.public, old.public, alice.proof(alice.course(game), new, old))
    assert alice.send(alice.entry(game, alice.head(game), rekey)).status == 201
    refused(alice.say(game, "by the first key again"), 403, "bad-signature")
    alice.key = new
    assert alice.say(game, "by the second key").status == 201
    alice.key = old
    assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
    assert [words for _, _, words in said(bob, game)] == ["by the first key", "by the second key"]


def test_a_revoked_key_says_nothing(players: tuple[Player, Player]) -> None:
    alice, bob = players
    game = begin(*players)
    assert bob.ask("/v1/players/bob/revocation", bob.revoking()).status == 200
    assert bob.say(game, "it is not me").status == 401
    assert said(alice, game) == []


def test_a_player_says_so_much_in_a_day(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    game, other = begin(*players), begin(*players)
    with patch("hkoji_server.store.talk.MOST_A_DAY", 3):
        for number in range(3):
            assert alice.say(game, f"{number}").status == 201
        refused(alice.say(game, "too much"), 429, "too-many-requests")
        assert alice.say(game, "2").status == 200
        assert alice.say(other, "another game").status == 201
        assert bob.say(game, "another player").status == 201
        service.clock.pass_by(DAY + 1)
        alice.login()
        assert alice.say(game, "the next day").status == 201
    with patch("hkoji_server.store.talk.MOST_MESSAGES", 5):
        refused(alice.say(game, "no room"), 409, "talk-closed")
    assert len(said(alice, game)) == 5


def test_talk_is_in_no_log_and_changes_nothing_of_the_game(service: Inside, players: tuple[Player, Player]) -> None:
    game, mover, giver = timed(players)
    before = log_of(giver, game), service.ask("GET", f"/v1/games/{game}").body
    for player in (mover, giver):
        assert player.say(game, "nothing of this is in a log").status == 201
    let_keepers_look(service)
    assert (log_of(giver, game), service.ask("GET", f"/v1/games/{game}").body) == before
    assert AN_HOUR.to_json() == json.loads(before[1])["agreement"]
