"""Views, logs and entries over plain routes; views are cached while they are current, each for its own viewer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

import pytest
from fastapi import FastAPI
from fastapi.exceptions import ResponseValidationError
from hkoji_server.routes import answer_json, openapi, plain, problems
from hkoji_server.service.games.views import HeadCache
from hkoji_server.store.game_values import GameSummary
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hkoji import referee, wire
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED
from hkoji.log.canonical import JsonValue, encode
from hkoji.log.line import StoredLine, format_line, format_log, format_stored, line_to_json, parse_log
from hkoji.log.statement import View
from hkoji.rules.registry import RULESETS
from tests.support.service import Answer, Player, begin, play
from tests.support.service_in_process import Inside, inside
from tests.support.table import Table

AFTER = "2026-01-01T00:00:00Z~" + "0" * 32
VECTORS = Path(__file__).parents[1] / "data" / "vectors"
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "FOO")
PARTS = ("view", "log", "entries", "view/", "log/", "entries/", "view//", "view/x", "View", "log\n", "viewx")
LAST = ("", "/", "\n", "//", "x")
PLAIN = ("", "?after=-1", "?after=0", "?after=4", "?after=999")


@dataclass
class Tables:
    """A service in two processes, as far as they can tell, and a game of alice's and bob's; carol looks on."""

    one: Inside
    two: Inside
    alice: Player
    bob: Player
    carol: Player
    game: str

    def view(self, player: Player, *, of: Inside | None = None, query: str = "") -> Answer:
        return (of or self.one).ask("GET", f"/v1/games/{self.game}/view{query}", token=player.token)


@contextmanager
def tables(folder: Path, **settings: Any) -> Iterator[Tables]:
    with inside(folder / "data", **settings) as one, inside(folder / "data", seed="two", **settings) as two:
        alice, bob, carol = (Player(one, name).register() for name in ("alice", "bob", "carol"))
        game = begin(alice, bob)
        play(alice, bob, game, 3)
        yield Tables(one, two, alice, bob, carol, game)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    with tables(tmp_path_factory.mktemp("reads")) as found:
        yield found


def validated(form: type, value: JsonValue) -> object:
    """Returns an answer as Pydantic reads it, strictly."""
    return _adapter(form).validate_python(value, strict=True, extra="forbid")


@cache
def _adapter(form: type) -> TypeAdapter[object]:
    return TypeAdapter(form)


# --- plain routes -------------------------------------------------------------------------------------------------

QUERIES = (
    *PLAIN,
    *(
        "?after=04",
        "?after=+1",
        "?after=%2B1",
        "?after=1_0",
        "?after=1.0",
        "?after=1.5",
        "?after=x",
        "?after=",
        "?after",
    ),
    *(
        "?after=-2",
        "?after=2147483648",
        "?after=2147483649",
        "?after=1&after=2",
        "?after=x&after=2",
        "?after=2&after=x",
    ),
    *(
        "?after=2&after=x",
        "?%61fter=x",
        "?after=%33",
        "?after=%203",
        "?after==3",
        "?after=%ff",
        "?after=%D9%A3",
        "?&&after=x&",
    ),
    *("?AFTER=x", "?wait=0", "?wait=-1", "?wait=x", "?wait=", "?after=x&wait=x", "?wait=x&after=1", "?x=1"),
    *("?clock=true", "?clock=1", "?clock=x", "?clock=", "?clock", "?after=x&clock=x", "?clock=x&after=x"),
    f"?after={'9' * 5000}",
)
LISTS = (
    *("", "?", "?x=1", "?limit=20", "?limit=0", "?limit=201", "?limit=x", "?limit=", "?limit=1&limit=x", "?limit=%31"),
    *("?status=open", "?status=offered", "?status=", "?status=cancelled", "?player=alice", "?player=A", "?player="),
    *("?prefix=abc", "?prefix=abcd", "?prefix=", "?waiting=true", "?waiting=1", "?waiting=x", "?waiting=", "?waiting"),
    *(f"?after={place}" for place in ("~", AFTER, f"{AFTER}~0", f"{AFTER}~2", f"{AFTER}~3", f"{AFTER}~", "")),
    *("?limit=0&status=x", "?status=x&limit=0", "?after=~&prefix=x&player=A", "?waiting=x&limit=0&after=~"),
)
IDS = ("0" * 32, "0" * 31, "A" * 32, "0" * 33, "x", "%20", "0" * 32 + "\n", "é")


def test_plain_routes_judge_requests_as_fastapi_would(room: Tables) -> None:
    """Bad ids and parameters, other methods and other addresses get the answers of FastAPI's own router."""
    documented = FastAPI(redirect_slashes=False)
    problems.install(documented)
    documented.include_router(openapi.plain_routes())
    reference = replace(room.one, app=documented)  # type: ignore[arg-type] # an ASGI application is what is needed
    requests = [
        *(("GET", f"/v1/games/{game}/{what}{query}") for game, what, query in product(IDS, ("view", "log"), QUERIES)),
        *((method, f"/v1/games/{game}/{what}") for method, game, what in product(METHODS, IDS, PARTS)),
        *(("GET", f"{path}{query}") for path, query in product(("/v1/games", "/v1/me/games"), LISTS)),
        *((method, f"{path}{end}") for method, path, end in product(METHODS, ("/v1/games", "/v1/me/games"), LAST)),
    ]
    refused = set()
    for method, path in requests:
        try:
            expected = reference.ask(method, path)
        except ResponseValidationError:  # accepted: the reference application has no result to return
            expected = Answer(200, {}, b"")
        found = room.one.ask(method, path, token=room.alice.token)
        if expected.status < 300:
            assert b'"code":"invalid"' not in found.body
            assert found.status not in (307, 405), (method, path)
            continue
        refused.add(expected.status)
        assert (found.status, found.body) == (expected.status, expected.body), (method, path)
        assert all(found.headers[name] == value for name, value in expected.headers.items()), (method, path)
    assert refused == {400, 404, 405}


@given(st.lists(st.sampled_from(["after", "wait", "=", "&", "1", "%", "+", "%3D", "%26", ";", " ", "é"]), max_size=12))
def test_a_query_is_split_as_the_standard_library_does(parts: list[str]) -> None:
    text = "".join(parts)
    found = plain.parse_query(text)
    found.pop("", None)  # text before a lone "=" is no parameter's name
    expected = dict(parse_qsl(text, keep_blank_values=True))
    expected.pop("", None)
    assert found == expected


def test_answers_of_a_view_and_a_log(room: Tables) -> None:
    tokens = {"alice": room.alice.token, "carol": room.carol.token, "nobody": None, "no login": "ab" * 32, "?": "x y"}
    for (who, token), query in product(tokens.items(), PLAIN):
        for game, expected in ((room.game, {"alice": 200, "carol": 403}), ("0" * 32, {"alice": 404, "carol": 404})):
            answer = room.one.ask("GET", f"/v1/games/{game}/view{query}", token=token)
            assert answer.status == expected.get(who, 401)


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/games/{game}/log"])
def test_every_form_of_if_none_match_is_understood(room: Tables, path: str) -> None:
    """RFC 9110, 13.1.2: a list, weak tags and `*`. All documents with a tag are here."""
    path = path.format(game=room.game)
    first = room.one.ask("GET", path)
    if path.endswith("/log"):
        assert first.headers["etag"] == f'"{room.alice.head(room.game)[1]}"'
    tag, other = first.headers["etag"], f'"{"0" * 64}"'
    same = (tag, f"W/{tag}", f"{other}, {tag}", f'"a,b" ,\t,W/{tag},', f" {tag}\t", "*")
    different = (
        other,
        tag[1:-1],
        f"{other}, W/{other}",
        f"{other} {tag}",
        f"w/{tag}",
        f"x, {tag}",
        f"*, {tag}",
        "",
        "\xe9",
    )
    for known, status in (*((each, 304) for each in same), *((each, 200) for each in different)):
        answer = room.one.ask("GET", path, headers={"if-none-match": known})
        assert (answer.status, answer.body) == (status, b"" if status == 304 else first.body), known
        assert answer.headers["etag"] == tag
        assert answer.headers["cache-control"] == "no-cache"


def test_a_log_is_passed_on_to_the_byte(room: Tables) -> None:
    """The text in the rows is what reading and writing it again gives, for every form that a line can have."""
    logs = [parse_log(path.read_bytes()) for path in sorted(VECTORS.glob("games/**/*.jsonl"))]
    logs += [tuple(Table(ruleset(), seed=7).begin().play().lines) for ruleset in RULESETS.values()]
    lines = [line for log in logs for line in log if line.receipt is not None]
    assert {line.entry.kind for line in lines} >= {"offer", "open", "join", "seed", "chance", "move", "reveal", "end"}
    for line in lines:
        assert line.receipt is not None
        written = StoredLine(line.entry.text, line.sig, line.receipt.receipt.text, line.receipt.sig)
        assert format_stored(written) == format_line(line)
        assert format_stored(written) == answer_json.json_bytes(dict(sorted(line_to_json(line).items()))).decode()
        assert (written.head, written.read()) == (line.entry.head, line)
    told = [line_to_json(line) for line in lines]
    assert json.loads(answer_json.submitted_bytes(tuple(lines))) == {"receipt": told[0]["receipt"], "lines": told}
    text = room.one.ask("GET", f"/v1/games/{room.game}/log").body
    assert text.decode() == format_log(parse_log(text))
    shown = room.view(room.alice).json
    assert shown["lines"] == [line_to_json(line) for line in parse_log(text)]
    assert list(shown)[-1] == "lines"
    assert room.view(room.alice).body == answer_json.json_bytes(shown)


def test_a_list_is_what_an_encoder_makes_of_its_games(room: Tables) -> None:
    """`summary_text` is the only writer of this form; its fields are those of the documented model."""
    rulesets = [ruleset().to_json() for ruleset in RULESETS.values()]
    times = (None, AFTER[:20], "2100-01-01T00:00:00Z")
    grades: tuple[dict[str, JsonValue], ...] = ({}, {"a_b-1": "word", "bob": "claimed"})
    for options, host, actor, reason, winner, deadline, by_mail in product(
        rulesets, (None, "a_b-1"), (None, 1), (None, "charm"), (None, 0), times, grades
    ):
        summary = GameSummary(
            "ab" * 16, encode(options), encode(UNTIMED.to_json()), "open", host, None, host, 7, "cd" * 32, 2, actor,
            host, AFTER[:20], AFTER[:20], reason, winner, deadline, None, encode(by_mail),
        )  # fmt: skip
        late = "2099-01-01T00:00:00Z"
        shown = json.loads(answer_json.summary_text(summary, late))
        assert answer_json.json_bytes(shown).decode() == answer_json.summary_text(summary, late)
        assert validated(wire.SummaryModel, shown) == shown
        repeated = {
            name: value for name, value in summary._asdict().items() if name not in ("reason", "winner", "link")
        }
        repeated |= {
            "by_link": False,
            "ruleset": options,
            "agreement": UNTIMED.to_json(),
            "overdue": deadline == AFTER[:20],
            "by_mail": by_mail,
        }
        assert repeated == {name: value for name, value in shown.items() if name != "result"}
        assert shown["result"] == ({"reason": reason, "winner": winner} if reason else None)
    for path in ("/v1/games", "/v1/games?player=alice&limit=1", "/v1/me/games", f"/v1/games/{room.game}"):
        answer = room.one.ask("GET", path, token=room.alice.token)
        assert answer.body == answer_json.json_bytes(answer.json)
        assert answer.headers["cache-control"] == "no-store"
    listed = room.one.ask("GET", "/v1/games?player=alice&limit=1").json
    assert validated(wire.GamesModel, listed) == listed
    assert listed["next"] == f"{listed['games'][0]['created']}~{room.game}~0"
    assert room.one.ask("GET", "/v1/me/games").status == room.one.ask("GET", "/v1/me/games?limit=0").status == 401


# --- kept views ---------------------------------------------------------------------------------------------------


@contextmanager
def counted() -> Iterator[list[object]]:
    """Counts the views that are made."""
    made: list[object] = []
    real = referee.view

    def view(refereed: referee.RefereedGame, seat: int) -> View:
        made.append((refereed.course.head, seat))
        return real(refereed, seat)

    with patch.object(referee, "view", view):
        yield made


def test_a_view_is_made_once_for_each_head_and_seat(room: Tables) -> None:
    with counted() as made:
        for player in (room.alice, room.bob, room.bob, room.alice):
            for query in PLAIN:
                assert room.view(player, query=query).status == 200
    assert len(made) <= 2


@pytest.mark.parametrize("query", PLAIN)
def test_a_view_has_the_clock_only_on_request(room: Tables, query: str) -> None:
    shown = room.view(room.alice, query=query).json
    assert "clock" not in shown
    shown["clock"] = room.one.ask("GET", f"/v1/games/{room.game}/clock").json
    assert room.view(room.alice, query=f"{query}{'&' if query else '?'}clock=true").json == shown


def test_nothing_stale_is_shown_whoever_has_moved(tmp_path: Path) -> None:
    """Each process caches views, and each sees at once what the other has accepted."""
    with tables(tmp_path) as room:
        for number in range(6):
            for player, process in product((room.alice, room.bob), (room.one, room.two)):
                room.view(player, of=process)
            mover = room.alice, room.bob
            for each in mover:
                each.service = (room.one, room.two)[number % 2]
            course = play(room.alice, room.bob, room.game, 1)
            for player, process in product(mover, (room.two, room.one)):
                shown = room.view(player, of=process, query="?after=5").json
                assert (shown["seq"], shown["head"]) == (course.seq, course.head)
                assert [json.loads(each["entry"])["seq"] for each in shown["lines"]] == list(range(6, course.seq + 1))
                assert json.loads(shown["view"]["text"])["head"] == course.head
        room.alice.send(room.alice.entry(room.game, room.alice.head(room.game), entry_kinds.Resign()))
        assert [room.view(room.bob, of=each).json["status"] for each in (room.one, room.two)] == ["finished"] * 2


def test_a_kept_view_is_for_no_other_eyes(room: Tables) -> None:
    """Regardless of what is cached, and of the order of requests."""
    own: dict[str, bytes] = {}
    for player in (room.alice, room.bob, room.alice, room.bob):
        shown = room.view(player)
        own.setdefault(player.name, shown.body)
        assert shown.body == own[player.name]
        assert (
            shown.json["seat"] == json.loads(shown.json["view"]["text"])["seat"] == ("alice", "bob").index(player.name)
        )
    assert own["alice"] != own["bob"]
    with inside(room.one.data, seed="three") as fresh:
        for player in (room.alice, room.bob):
            assert room.view(player, of=fresh).body == own[player.name]
    assert room.view(room.carol).status == 403
    refused = room.one.ask("GET", f"/v1/games/{room.game}/view")
    assert refused.status == 401
    assert b"state" not in refused.body


def test_a_cached_view_is_not_shown_after_the_login_has_ended(tmp_path: Path) -> None:
    with tables(tmp_path, token_lifetime=60) as room:
        assert room.view(room.alice).status == room.view(room.bob).status == 200
        assert room.two.ask("POST", "/v1/logout", token=room.alice.token).status == 204
        assert room.view(room.alice).status == 401
        assert room.bob.ask("/v1/players/bob/revocation", room.bob.revoking()).status == 200
        assert room.view(room.bob).status == 401
        room.alice.login()
        assert room.view(room.alice).status == 200
        room.one.clock.pass_by(61)
        assert room.view(room.alice).status == 401


def test_the_cache_is_bounded_and_of_one_head() -> None:
    shown = HeadCache[bytes](2)
    shown.keep("a", "1", b"a1", "alice")
    shown.keep("a", "1", b"a1 of all")
    shown.keep("b", "1", b"b1", "alice")
    assert shown.get("a", "1", "alice") == b"a1"
    assert (shown.get("a", "1"), shown.get("a", "1", "bob"), shown.get("a", "2", "alice")) == (
        b"a1 of all",
        None,
        None,
    )
    shown.keep("c", "1", b"c1", "alice")
    assert (shown.get("b", "1", "alice"), shown.get("a", "1", "alice")) == (None, b"a1")
    shown.keep("a", "2", b"a2", "bob")
    assert (shown.get("a", "1", "alice"), shown.get("a", "2", "alice"), shown.get("a", "2", "bob")) == (
        None,
        None,
        b"a2",
    )
