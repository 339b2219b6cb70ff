"""The service over real HTTP: complete games, refusals that change nothing, races, restarts, and secrecy."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import sign_entry
from hkoji.log.statement import make_registration
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.ledger import connected, everything
from tests.support.service import Answer, Player, Service, begin, offer_of, play, serving, start


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True) as running:
        yield running


_NUMBER = iter(range(10**6))


@pytest.fixture
def players(service: Service) -> tuple[Player, Player]:
    number = next(_NUMBER)
    return Player(service, f"alice{number}").register(), Player(service, f"bob{number}").register()


def dump(service: Service) -> list[str]:
    """The contents of all tables."""
    return everything(service.database or service.data / "hkoji.sqlite3")


def refused(service: Service, answer: Answer, status: int, code: str, before: list[str]) -> dict[str, object]:
    """A problem document with this status and code, and an untouched database."""
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, object] = answer.json
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["detail"]
    assert dump(service) == before
    return problem


def test_a_whole_game(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = begin(host, guest, Hanamikoji(first="random", max_rounds=2))
    course = play(host, guest, game)
    assert course.status == "finished"
    log = service.ask("GET", f"/v1/games/{game}/log").body
    server = service.ask("GET", "/v1/service").json["key"]
    result = audit(log)
    assert result.findings == ()
    assert result.finished
    assert result.parties[0].key.text == server
    summary = service.ask("GET", f"/v1/games/{game}").json
    assert summary["status"] == "finished"
    assert summary["result"] == {"reason": result.outcome.reason, "winner": result.outcome.winner}  # type: ignore[union-attr]
    assert summary["to_move"] is None


def test_lists_show_what_is_mine_what_waits_and_what_is_open(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players

    def listed(path: str, player: Player) -> list[str]:
        return [each["game"] for each in service.ask("GET", path, token=player.token).json["games"]]

    free = host.new()
    assert free in listed("/v1/games?status=open", guest)
    assert listed("/v1/me/games", host) == [free]
    assert listed("/v1/me/games?waiting=true", host) == []
    invited = host.new(invite=entry_kinds.Invite(guest.name))
    assert listed("/v1/me/games?waiting=true", guest) == [invited]
    guest.join(invited)
    assert listed("/v1/me/games?waiting=true", guest) == [invited]
    guest.seed(invited)
    assert listed("/v1/me/games?waiting=true", guest) == []
    assert listed("/v1/me/games?waiting=true", host) == [invited]
    host.seed(invited)
    course = host.course(invited)
    host.send(host.make_move(course, course.state.legal_actions()[-1]))
    assert listed("/v1/me/games?waiting=true", guest) == [invited]
    assert listed(f"/v1/games?prefix={invited[:8]}", guest) == [invited]
    page = service.ask("GET", "/v1/me/games?limit=1", token=host.token).json
    rest = service.ask("GET", f"/v1/me/games?limit=1&after={page['next']}", token=host.token).json
    assert {page["games"][0]["game"], rest["games"][0]["game"]} == {free, invited}


def test_a_cancelled_game_is_not_listed_as_a_finished_one(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = host.new(invite=entry_kinds.Invite(guest.name))
    assert host.send(host.entry(game, host.head(game), entry_kinds.Cancel())).status == 201
    for player, path in ((host, "/v1/me/games"), (guest, "/v1/me/games"), (host, f"/v1/games?player={host.name}")):
        mark = "&" if "?" in path else "?"

        def listed(
            status: str, player: Player = player, path: str = f"{path}{mark}status="
        ) -> list[tuple[str, object]]:
            found = service.ask("GET", path + status, token=player.token).json["games"]
            return [(each["game"], each["result"]) for each in found]

        assert listed("cancelled") == [(game, {"reason": "cancel", "winner": None})]
        assert [listed(status) for status in ("finished", "open", "playing")] == [[], [], []]
    seen = service.ask("GET", f"/v1/games/{game}").json
    assert (seen["status"], seen["to_move"], host.course(game).status) == ("cancelled", None, "cancelled")


# --- refusals -----------------------------------------------------------------------------------------------------


def test_abuse_is_refused_and_changes_nothing(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = begin(host, guest)
    course = host.course(game)
    legal = course.state.legal_actions()
    good = host.make_move(course, legal[-1])
    guests = guest.make_move(guest.course(game), legal[-1])
    stranger = Player(service, f"{host.name}x").register()
    before = dump(service)

    problem = refused(service, guest.send(guests), 409, "not-your-turn", before)
    assert problem["actor"] == 0
    refused(service, stranger.send(stranger.make_move(course, legal[-1])), 403, "forbidden", before)
    forged = good._replace(sig=sign_entry(good.entry, guest.key))
    refused(service, host.send(forged), 403, "bad-signature", before)
    weak = bytearray(good.sig)
    weak[-32:] = (int.from_bytes(weak[-32:], "little") + 2**252 + 27742317777372353535851937790883648493).to_bytes(
        32, "little"
    )
    refused(service, host.send(good._replace(sig=bytes(weak))), 403, "bad-signature", before)
    lacking = next(f"3{card}{card}{card}" for card in "DEFG" if f"3{card}{card}{card}" not in legal)
    problem = refused(service, host.send(host.make_move(course, lacking)), 422, "illegal-action", before)
    assert problem["shape"] == ["1?", "2??", "3???", "4????"]
    for action in ("3CBA", "1A", "0A", "9ABCDEFGG"):
        answer = host.send(host.entry(game, (course.seq, course.head), entry_kinds.Move(action)))
        assert answer.status == 400, (action, answer)
        assert dump(service) == before
    ahead = host.entry(game, (course.seq + 1, course.head), entry_kinds.Move(legal[-1]))
    problem = refused(service, host.send(ahead), 409, "conflict", before)
    assert (problem["seq"], problem["head"]) == (course.seq, course.head)
    elsewhere = service.ask("POST", f"/v1/games/{'0' * 32}/entries", good.to_json())
    refused(service, elsewhere, 400, "malformed", before)
    unknown = host.entry("0" * 32, (course.seq, course.head), entry_kinds.Move(legal[-1]))
    refused(service, host.send(unknown), 404, "not-found", before)

    assert host.send(good).status == 201
    before = dump(service)
    repeated = service.ask("POST", f"/v1/games/{game}/entries", {**good.to_json(), "extra": 1})
    refused(service, repeated, 400, "not-understood", before)


def test_a_body_without_a_declared_length_is_capped_as_well(service: Service) -> None:

    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
    connection.request(
        "POST", "/v1/players", iter([b" " * 10000] * 5), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_weak_keys_and_false_registrations_are_refused(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    before = dump(service)
    origin = service.ask("GET", "/v1/service").json["origin"]
    low = "ssh-ed25519 " + encode_base64(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + b"\x01" + bytes(31))
    text = f'{{"at":"2026-11-20T12:00:00Z","key":"{low}","name":"mallory","origin":"{origin}","v":1}}'
    answer = service.ask("POST", "/v1/players", {"text": text, "sig": guest.signed(text, sshsig.REGISTER)})
    refused(service, answer, 400, "weak-key", before)

    def register(player: Player, name: str, where: str, namespace: str = sshsig.REGISTER) -> Answer:
        made = make_registration(at="2026-11-20T12:00:00Z", key=player.key.public, name=name, origin=where)
        return service.ask("POST", "/v1/players", {"text": made.text, "sig": player.signed(made.text, namespace)})

    refused(service, register(guest, host.name, origin), 409, "exists", before)
    refused(service, register(guest, "carol", origin), 409, "exists", before)
    refused(service, register(guest, "server", origin), 409, "exists", before)
    refused(service, register(Player(service, "carol"), "carol", "http://elsewhere.example"), 403, "forbidden", before)
    wrong = register(Player(service, "carol"), "carol", origin, sshsig.LOGIN)
    refused(service, wrong, 403, "bad-signature", before)
    assert register(host, host.name, origin).status == 200


def test_a_login_challenge_is_good_once_and_for_its_signer(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    text = service.ask("POST", "/v1/login/challenge").json["text"]
    sig = host.signed(text, sshsig.LOGIN)
    false = service.ask("POST", "/v1/login", {"name": guest.name, "text": text, "sig": sig})
    assert (false.status, false.json["code"]) == (403, "bad-signature")
    first = service.ask("POST", "/v1/login", {"name": host.name, "text": text, "sig": sig})
    assert first.status == 200
    second = service.ask("POST", "/v1/login", {"name": host.name, "text": text, "sig": sig})
    assert (second.status, second.json["code"]) == (401, "login-required")
    assert second.headers["www-authenticate"] == "Bearer"
    token = first.json["token"]
    assert service.ask("GET", "/v1/me/games", token=token).status == 200
    assert service.ask("POST", "/v1/logout", token=token).status == 204
    assert service.ask("GET", "/v1/me/games", token=token).status == 401


def test_only_who_asked_for_an_offer_opens_it(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = service.ask("POST", "/v1/offers", offer_of(), host.token).json["game"]
    opened = entry_kinds.Open(entropy_commit(game, 0, guest.entropy), guest.key.public)
    before = dump(service)
    answer = guest.send(guest.entry(game, guest.head(game), opened))
    refused(service, answer, 403, "forbidden", before)
    nobody = Player(service, "nobody")
    opened = entry_kinds.Open(entropy_commit(game, 0, nobody.entropy), nobody.key.public)
    refused(service, nobody.send(nobody.entry(game, nobody.head(game), opened)), 403, "forbidden", before)


# --- the same again, and races ------------------------------------------------------------------------------------


def test_the_same_entry_again_gets_the_first_receipt(service: Service, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = begin(host, guest)
    course = host.course(game)
    move = host.make_move(course, course.state.legal_actions()[0])
    first = host.send(move)
    assert first.status == 201
    before = dump(service)
    again = host.send(move)
    assert again.status == 200
    assert again.body == first.body
    unsigned = move._replace(sig=sign_entry(move.entry, guest.key))
    refused(service, host.send(unsigned), 403, "bad-signature", before)
    play(host, guest, game, 3)
    assert host.send(move).body == first.body


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """The database of services started on `data`."""
    return str(request.getfixturevalue("postgres")) if request.param == "postgres" else None


def test_processes_that_start_at_once_on_an_empty_database_have_one_key(tmp_path: Path, database: str | None) -> None:
    if database:
        with connected(database) as server:  # nothing at all, not even tables
            server.execute("DROP SCHEMA public CASCADE")
            server.execute("CREATE SCHEMA public")
    with ThreadPoolExecutor(3) as pool:
        services = list(pool.map(lambda _: start(tmp_path / "data", database=database, forked=True), range(3)))
    try:
        described = [service.ask("GET", "/v1/service").json for service in services]
        assert len({each["key"] for each in described}) == 1
        assert len({each["origin"] for each in described}) == 1
    finally:
        for service in services:
            service.stop()


# --- crash, restart, schema ---------------------------------------------------------------------------------------


def test_the_schema_is_the_migrations(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from hkoji_server.store.migrate import newest_schema
    from hkoji_server.store.sqlite.store import SqliteStore
    from hkoji_server.store.tables import GameTable
    from sqlalchemy import create_engine

    path = tmp_path / "hkoji.sqlite3"
    SqliteStore(path).close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), GameTable.metadata) == []
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index'"
        made = {row[0]: row[1] for row in connection.exec_driver_sql(indexes)}
        noted = {index.name: index for table in GameTable.metadata.tables.values() for index in table.indexes}
        for name, index in noted.items():
            assert made[name].partition(" WHERE ")[2] == index.info.get("where", ""), name
        assert sum("where" in index.info for index in noted.values()) > 15
        assert newest_schema() == connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    engine.dispose()
    assert path.stat().st_mode & 0o077 == 0


# --- silence ------------------------------------------------------------------------------------------------------


def test_the_front_page_says_where_to_begin(service: Service) -> None:
    def answer(accept: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
        with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
            connection.request(method, "/", headers={"Accept": accept})
            got = connection.getresponse()
            return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read().decode()

    origin = service.ask("GET", "/v1/service").json["origin"]
    for accept, kind in (("*/*", "text/plain"), ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html")):
        status, headers, body = answer(accept)
        assert (status, headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert headers["vary"] == "Accept, Accept-Language, Accept-Encoding"
        assert headers["x-frame-options"] == "DENY"
        assert f"hkoji register --server {origin}" in body
        assert "Anybody can register here." in body
        assert answer(accept, "HEAD")[::2] == (200, "")
