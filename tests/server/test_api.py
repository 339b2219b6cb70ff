"""The HTTP interface agrees with its own document and its page, and withstands malicious input."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hkoji.game import entry_kinds
from hkoji.log.private_key import PrivateKey
from tests.lab.fuzz.api_hooks import hasten
from tests.support.receiver import Receiver, receiver
from tests.support.service import Answer, Player, Service, begin, offer_of, play, serving, two_players
from tests.support.service_in_process import Inside, inside
from tests.support.timed_games import a_wish, state

CHECKS = (
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder, given = tmp_path_factory.mktemp("api") / "data", {"webhook_private": "true"}
    with serving(folder, log_level="error", forked=True, settings=given) as running:
        yield running


@pytest.fixture(scope="module")
def players(service: Service) -> tuple[Player, Player]:
    return two_players(service)


@pytest.fixture(scope="module")
def game(players: tuple[Player, Player]) -> str:
    found = begin(*players)
    play(*players, found, 5)
    return found


# --- the document -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def api(service: Service) -> Any:  # Any: a schema of schemathesis
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


_HEALTH = list(HealthCheck)
_PHASES = [Phase.explicit, Phase.generate]


def test_answers_are_as_documented(api: Any, players: tuple[Player, Player], game: str) -> None:
    """Generated requests, half of them with a login, and half of the ids existing ones."""
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) == 46
    operations.sort(key=lambda each: each.method == "delete")  # nothing is gone when the others ask for it
    with receiver() as hook:
        channel = add_channel(players[0], hook).json["id"]
    known = {"game": game, "name": "alice", "channel": channel, "number": 1, "token": "a" * 26}
    called: dict[str, set[int]] = {}
    for operation in operations:
        name = f"{operation.method} {operation.path}"
        statuses = called.setdefault(name, set())
        _explore(operation, statuses, known, "" if "logout" in name else players[0].token)
    # The requests have got somewhere: they are not all refused for their form.
    assert called["get /v1/games/{game}/view"] >= {200, 401}
    assert called["get /v1/games"] >= {200}
    assert called["get /v1/players/{name}"] >= {200, 404}
    assert called["post /v1/games/{game}/entries"] >= {400}
    assert called["post /v1/me/channels/{channel}/test"] >= {401, 422}


def _explore(operation: Any, statuses: set[int], known: dict[str, str | int], token: str) -> None:
    """Calls an operation with generated requests and checks each answer; `statuses` collects the statuses."""

    @settings(
        max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=_HEALTH, phases=_PHASES
    )
    @given(case=operation.as_strategy(), real=st.booleans(), login=st.booleans())
    def ask(case: Any, real: bool, login: bool) -> None:
        if real and case.path_parameters:
            case.path_parameters.update({key: known[key] for key in case.path_parameters})
        hasten(case)
        answer = case.call(headers={"Authorization": f"Bearer {token}"} if login else {})
        case.validate_response(answer, checks=CHECKS)
        statuses.add(answer.status_code)

    ask()


def test_real_answers_are_as_documented(service: Service, players: tuple[Player, Player], game: str, api: Any) -> None:
    """The successful case of every endpoint, which generated requests seldom reach."""
    host, guest = players
    course = host.course(game)
    assert course.actor is not None
    mover = players[course.actor]
    offer = service.ask("POST", "/v1/offers", offer_of(), host.token)
    challenge = service.ask("POST", "/v1/login/challenge")
    with receiver() as hook:
        channel = add_channel(host, hook)
    asked = {
        ("get", "/healthz"): service.ask("GET", "/healthz"),
        ("get", "/readyz"): service.ask("GET", "/readyz"),
        ("get", "/v1/service"): service.ask("GET", "/v1/service"),
        ("get", "/v1/service/proof"): service.ask("GET", f"/v1/service/proof?nonce={'0' * 64}"),
        ("get", "/v1/players/{name}"): service.ask("GET", "/v1/players/alice"),
        ("post", "/v1/offers"): offer,
        ("post", "/v1/login/challenge"): challenge,
        ("get", "/v1/games"): service.ask("GET", "/v1/games"),
        ("get", "/v1/me/games"): service.ask("GET", "/v1/me/games?waiting=true", token=guest.token),
        ("get", "/v1/games/{game}"): service.ask("GET", f"/v1/games/{game}"),
        ("get", "/v1/games/{game}/view"): service.ask("GET", f"/v1/games/{game}/view?clock=true", token=host.token),
        ("get", "/v1/games/{game}/head"): service.ask("GET", f"/v1/games/{game}/head"),
        ("get", "/v1/games/{game}/clock"): service.ask("GET", f"/v1/games/{game}/clock"),
        ("post", "/v1/me/channels"): channel,
        ("get", "/v1/me/channels"): service.ask("GET", "/v1/me/channels", token=host.token),
        ("get", "/v1/outages"): service.ask("GET", "/v1/outages"),
        ("post", "/v1/games/{game}/statements"): state(host, game, a_wish(host, game)),
        ("post", "/v1/games/{game}/entries"): mover.send(mover.make_move(mover.course(game), move_of(mover, game))),
    }
    document = service.ask("GET", "/openapi.json").json
    for (method, path), answer in asked.items():
        assert answer.status in (200, 201), (path, answer)
        documented = document["paths"][path][method]["responses"][str(answer.status)]
        schema = documented["content"]["application/json"]["schema"]
        conforms(answer.json, schema, document)


def add_channel(player: Player, hook: Receiver) -> Answer:
    form: dict[str, Any] = {"digest": [], "format": "json", "quiet": None, "zone": "+00:00"}
    body = {"kind": "webhook", "target": f"http://127.0.0.1:{hook.port}/", "settings": form}
    return player.service.ask("POST", "/v1/me/channels", body, player.token)


def move_of(player: Player, game: str) -> str:
    return player.course(game).state.legal_actions()[0]


def conforms(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> None:  # Any: JSON
    from jsonschema_rs import validator_for

    found = validator_for({**schema, "components": document["components"]})
    assert list(found.iter_errors(value)) == []


def test_every_problem_document_is_the_documented_one(service: Service) -> None:
    document = service.ask("GET", "/openapi.json").json
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if status >= "400":
                    assert list(answer["content"]) == ["application/problem+json"], (path, method, status)
                    example = answer["content"]["application/problem+json"]["example"]
                    assert example["status"] == int(status)
    assert "$defs" not in json.dumps(document)
    assert "HTTPValidationError" not in json.dumps(document)


def test_openings_are_a_list_or_left_out(service: Service, players: tuple[Player, Player], game: str) -> None:
    """In the OpenAPI document and for the service `opening` is a list: null and an object are malformed."""
    document = service.ask("GET", "/openapi.json").json
    openings = document["components"]["schemas"]["SubmissionModel"]["properties"]["opening"]
    assert openings["type"] == "array"
    submission = players[0].entry(game, players[0].head(game), entry_kinds.Seed("0" * 64)).to_json()
    before = service.ask("GET", f"/v1/games/{game}/log").body
    for value, understood in ((None, False), ({}, False), ([], True)):
        answer = service.ask("POST", f"/v1/games/{game}/entries", {**submission, "opening": value})
        assert 400 <= answer.status < 500, answer
        assert (answer.json["code"] != "malformed") == understood, answer
    assert service.ask("GET", f"/v1/games/{game}/log").body == before


# --- hostile input ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with inside(tmp_path_factory.mktemp("hostile") / "data") as service:
        yield service


def dump(data: Path) -> list[str]:
    connection = sqlite3.connect(data / "hkoji.sqlite3")
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


_KEY = PrivateKey.from_seed(bytes(range(32)))
_HOSTILE = [
    b"",
    b"\x00",
    b"\xff\xfe\x00",
    b'"\xed\xa0\x80"',
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 5000,
    b"[" * 8000,
    b'{"a":' * 3000,
    b"{}",
    b'{"__proto__":{}}',
    b'{"text":1,"sig":2,"name":3,"ruleset":4,"entry":5}',
    b'{"text":"\\ud800","sig":"\\udfff","name":"\\ud800","entry":"\\ud800","ruleset":{"\\ud800":"\\ud800"}}',
    b'{"text":"\\u0000","sig":"\\u0000","name":"\\u0000","entry":"\\u0000","ruleset":{"name":"\\u0000"}}',
    b'{"text":null,"sig":null,"name":null,"entry":null,"ruleset":null}',
    b'{"text":[],"sig":{},"name":[[]],"entry":[{}],"ruleset":[]}',
    b'{"text":"","sig":"","name":"","entry":"","ruleset":{}}',
    b'{"text":"{}","sig":"AAAA","name":"alice","entry":"{}"}',
    b'{"ruleset":{"name":"hanamikoji","version":' + b"1" * 5000 + b"}}",
    b'{"ruleset":{"name":"hanamikoji","version":true,"first":"host","max_rounds":-1,"tiebreak":"geisha"}}',
    b'{"ruleset":{"name":"hanamikoji","version":1e0,"first":"host","max_rounds":0,"tiebreak":"geisha"}}',
    b'{"text":"a","text":"b","sig":"c","extra":1}',
    b'{"entry":"' + b"\\\\" * 4000 + b'","sig":"A"}',
    b'{"entry":"{}","sig":"AAAA","opening":{"seq":1}}',
    b'{"entry":"{}","sig":"AAAA","opening":[1,null,"x",{"seq":-1,"part":99999999999999999999}]}',
]


@pytest.mark.parametrize("body", _HOSTILE, ids=lambda body: repr(bytes(body[:30])))
def test_no_body_makes_the_service_fail(here: Inside, body: bytes) -> None:
    host = Player(here, "alice", key=_KEY).register()
    before = dump(here.data)
    for path in ("/v1/players", "/v1/login", "/v1/offers", f"/v1/games/{'0' * 32}/entries"):
        answer = here.ask("POST", path, raw=body, token=host.token)
        assert 400 <= answer.status < 500, (path, answer)
        assert answer.status != 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json["status"] == answer.status
    assert dump(here.data) == before


def test_bytes_that_are_no_http_are_answered_and_the_next_request_works(service: Service) -> None:
    for raw in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 300,
        b"GET /v1/games\xff HTTP/1.1\r\n\r\n",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{}",
    ):
        with socket.create_connection(("127.0.0.1", service.port), 300) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            said = connection.recv(1000)
            assert b" 500 " not in said
            assert b" 20" not in said[:15]
    assert service.ask("GET", "/healthz").json == {"status": "ok"}


def test_a_body_that_is_not_json_by_its_type_is_refused(service: Service, players: tuple[Player, Player]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        connection.request("POST", "/v1/players", b"{}", {"Content-Type": kind})
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["code"]) == (415, "unsupported-media-type")
    connection.request("POST", "/v1/players", b"{}", {"Content-Type": "Application/JSON; charset=utf-8"})
    assert connection.getresponse().status == 400
    connection.close()


# --- small print --------------------------------------------------------------------------------------------------


def test_refusals_of_a_game_say_where_it_stands(here: Inside, tmp_path: Path) -> None:
    with inside(tmp_path / "data") as service:
        host, guest = two_players(service)
        game = begin(host, guest)
        place = host.head(game)
        course = guest.course(game)
        answer = guest.send(guest.make_move(course, "1A"))
        assert (answer.status, answer.json["code"]) == (409, "not-your-turn")
        assert (answer.json["seq"], answer.json["head"]) == place
        assert host.send(host.entry(game, place, entry_kinds.Resign())).status == 201
        place = host.head(game)
        answer = guest.send(guest.entry(game, place, entry_kinds.Resign()))
        assert (answer.status, answer.json["code"]) == (409, "game-over")
        assert (answer.json["game"], answer.json["seq"], answer.json["head"]) == (game, *place)


def test_form_and_place_are_looked_at_before_the_author(here: Inside, tmp_path: Path) -> None:
    with inside(tmp_path / "data") as service:
        host, guest, carol = (Player(service, name).register() for name in ("alice", "bob", "carol"))
        game = begin(host, guest)
        seq, head = host.head(game)
        before = dump(service.data)
        for by, place, status, code in (
            ("server", (seq, head), 400, "malformed"),
            ("carol", (seq + 1, head), 409, "conflict"),
            ("carol", (seq, head), 403, "forbidden"),
        ):
            writer = Player(service, by, carol.key)
            answer = writer.send(writer.entry(game, place, entry_kinds.Resign()))
            assert (answer.status, answer.json["code"]) == (status, code), answer
        assert dump(service.data) == before


def test_private_answers_are_not_stored_on_the_way(service: Service, players: tuple[Player, Player], game: str) -> None:
    host, _ = players
    for path in (f"/v1/games/{game}/view", "/v1/me/games"):
        assert service.ask("GET", path, token=host.token).headers["cache-control"] == "no-store"
        assert service.ask("GET", path).headers["cache-control"] == "no-store"
        wrong = service.ask("GET", path, token="0" * 64)
        assert (wrong.status, wrong.headers["www-authenticate"]) == (401, "Bearer")


def test_logins_expire(tmp_path: Path) -> None:
    with inside(tmp_path / "data", token_lifetime=600, challenge_lifetime=60) as service:
        host = Player(service, "alice").register()
        service.clock.pass_by(599)
        assert service.ask("GET", "/v1/me/games", token=host.token).status == 200
        service.clock.pass_by(1)
        assert service.ask("GET", "/v1/me/games", token=host.token).status == 401
        text = service.ask("POST", "/v1/login/challenge").json["text"]
        service.clock.pass_by(60)
        late = {"name": "alice", "text": text, "sig": host.signed(text, "hkoji.login.v1")}
        assert service.ask("POST", "/v1/login", late).status == 401


# --- docs/spec/http.md ------------------------------------------------------------------------------------------------


PAGE: Final = (Path(__file__).parents[2] / "docs" / "spec" / "http.md").read_text()
SECTION: Final = PAGE.partition("### Fields of answers\n")[2].partition("\n#")[0]
ROW: Final = re.compile(r"\| (.+?) \| (.+) \|")
FIELD: Final = re.compile(r"`([a-z_]+)`(\??)(?:: .+)?")
OTHER_NAMES: Final = {"given": "gift", "gateway": "gateway", "finished": "finished game"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:  # Any: JSON
    with inside(tmp_path_factory.mktemp("page") / "data") as service:
        return service.ask("GET", "/openapi.json").json


def rows() -> Iterator[tuple[str, str]]:
    for line in SECTION.splitlines():
        if (row := ROW.fullmatch(line)) and not line.startswith(("| answer of", "| has |")):
            yield row[1], row[2]


def answers_on_page() -> dict[str, str]:
    return {each.strip("`"): has for of, has in rows() if of.startswith("`") for each in of.split(", ")}


def fields_on_page() -> dict[str, dict[str, bool]]:
    """For each kind of answer its fields, and whether each may be left out."""
    found: dict[str, dict[str, bool]] = {}
    for name, text in rows():
        if not name.startswith("`"):
            parts = text.split("; ")
            found[name] = dict(found["summary"]) if parts[0] == "all of summary" else {}
            for part in parts[bool(found[name]) :]:
                field = FIELD.fullmatch(part)
                assert field is not None, (name, part)
                assert field[1] not in found[name], (name, part)
                found[name][field[1]] = bool(field[2])
    return found


def shown(schema: dict[str, Any]) -> str:
    """How the page calls what a model describes."""
    model = schema["$ref"].rpartition("/")[2].removesuffix("Model")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model).lower()
    return OTHER_NAMES.get(name, name)


def test_every_answer_is_on_the_page(document: Any) -> None:
    found: dict[str, set[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and schema is not None:
                    name = shown(schema) if "$ref" in schema else "health"
                    found.setdefault(f"{method.upper()} {path}", set()).add(name)
    assert {each: {name} for each, name in answers_on_page().items()} == found


def fields_of_models(document: Any) -> dict[str, dict[str, bool]]:  # Any: JSON
    """For each kind of answer of the API its fields, and whether each may be left out."""
    found: dict[str, dict[str, bool]] = {"health": {"status": False}}
    models = document["components"]["schemas"]

    def read(schema: Any) -> None:
        if isinstance(schema, list):
            for each in schema:
                read(each)
        elif isinstance(schema, dict):
            if "$ref" in schema and (name := shown(schema)) not in found:
                model = models[schema["$ref"].rpartition("/")[2]]
                found[name] = {field: field not in model.get("required", ()) for field in model["properties"]}
                read(model["properties"])
            for each in schema.values():
                read(each)

    for operations in document["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    read(content.get("schema"))
    return found


def test_every_field_is_on_the_page(document: Any) -> None:
    assert fields_of_models(document) == fields_on_page()


def test_every_endpoint_is_in_a_table(document: Any) -> None:
    before = PAGE.partition("### Fields of answers\n")[0]
    listed = set(re.findall(r"/[^`\s,]*", "".join(re.findall(r"^\| (`.*?`) \|", before, re.MULTILINE))))
    paths = {re.sub(r"\{channel\}", "{id}", path) for path in document["paths"]}
    assert {path for path in paths if path not in listed} == set()
