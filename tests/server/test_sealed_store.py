"""Sealed games at a service, on both databases: what it keeps, what it releases, what it never has, what it refuses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hkoji_server.service.games.database_check import faults_of
from hkoji_server.store.game_values import History
from hkoji_server.store.location import parse_location
from hkoji_server.store.maintenance import Maintenance
from hkoji_server.store.sql_steps import Row, Values
from hkoji_server.store.tables import GameTable
from sqlalchemy import create_engine, text

from hkoji.game.entry_kinds import Resign
from hkoji.log.line import SERVER_NAME
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import parse_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.cluster import Cluster
from tests.support.sealed_service import ServedTable, ask_for
from tests.support.service import Service, begin, play, serving, two_players
from tests.support.service_in_process import Inside, inside

SHORT = Hanamikoji(max_rounds=2)


class Place(NamedTuple):
    """A database, and a way to run a service on it."""

    data: Path
    database: str | None

    def running(self, **settings: str) -> AbstractContextManager[Service]:
        return serving(self.data, database=self.database, forked=True, settings=settings)

    @property
    def url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'hkoji.sqlite3'}"

    def change(self, statement: str) -> int:
        """Changes rows behind the service's back. Returns how many."""
        engine = create_engine(self.url)
        with engine.begin() as connection:
            changed = connection.execute(text(statement)).rowcount
        engine.dispose()
        return changed

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """All rows of a table."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            found = [tuple(row) for row in connection.execute(text(f'SELECT * FROM "{table}"'))]
        engine.dispose()
        return found

    def dump(self) -> bytes:
        """All values of all tables, except the times that a process notes by itself."""
        tables = [self.rows(table) for table in GameTable.metadata.tables if table not in ("beat", "outage")]
        values = [value for rows in tables for row in rows for value in row]
        return b"\n".join(each if isinstance(each, bytes) else str(each).encode() for each in values)

    def faults(self, game: str, key: str) -> list[str]:
        """The faults that the check of the database finds in a game."""
        location = self.data / "hkoji.sqlite3" if self.database is None else parse_location(self.database)
        with closing(Maintenance(location)) as maintenance:
            stored = maintenance.game(game)
            assert stored is not None
            return list(faults_of(stored, parse_public_key(key)))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield Place(tmp_path / "data", None)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = cluster.create("migrated")
    yield Place(tmp_path / "data", cluster.url(name))
    cluster.drop(name)


def key_of(service: Service) -> str:
    return str(service.ask("GET", "/v1/service").json["key"])


def by_service(answer: Any) -> list[str]:
    """The kinds of the entries that the service has added to an entry."""
    entries = [json.loads(line["entry"]) for line in answer.json["lines"]]
    return [entry["kind"] for entry in entries if entry["by"] == SERVER_NAME]


def moved_to(table: ServedTable, service: Service) -> None:
    """Lets the players of a table speak to another process."""
    for player in table.players:
        player.service = service
        player.login()


@pytest.mark.parametrize("ruleset", [SHORT, GeishasRoad()], ids=["hanamikoji", "road"])
def test_a_whole_game_with_deposits_that_outlive_a_restart(place: Place, ruleset: Any) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), ruleset)
        table.until_deposited()
        kept = place.rows("deposit")
        assert [row[0] for row in kept] == [table.game]
    with place.running() as service:
        assert place.rows("deposit") == kept
        moved_to(table, service)
        released = 0
        while not table.course.finished:
            answer = table.go_on()
            # In the answer that makes it due, and in the same transaction: its row is gone.
            released += by_service(answer).count("release")
            assert table.course.sealed is not None
            named = [] if table.course.finished else table.course.sealed.deposits
            assert {(each.round, each.position) for each in named} == {(r[1], r[2]) for r in place.rows("deposit")}
        assert released > 2
        assert place.rows("deposit") == place.rows("opening") == []
        assert [row[1] for row in place.rows("secret")] == [None]
        assert table.lines[-1].entry.kind == "end"
        assert table.lines[-1].entry.body["seed"] is None
        assert place.faults(table.game, key_of(service)) == []


def test_neither_the_database_nor_an_answer_has_what_hides_a_card(place: Place) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), SHORT)
        said = b""
        while not table.course.finished:
            said += table.go_on().body
            if not table.course.setup.names[1]:
                continue
            for player in table.players:
                shown = service.ask("GET", f"/v1/games/{table.game}/view?clock=true", token=player.token)
                said += shown.body
                assert parse_view(shown.json["view"]["text"]).dealt == ()
                assert shown.json["openings"] == []
                assert shown.json["legal"] == []
            spectator = service.ask("GET", f"/v1/games/{table.game}")
            said += spectator.body + service.ask("GET", "/v1/games").body
            for state in (spectator.json["state"], shown.json["state"]):
                assert {hand.strip("X") for hand in state["hands"]} == {""}
        found = place.dump() + said
        for secret in table.secrets():
            for form in (secret, secret.hex().encode(), base64.b64encode(secret)):
                assert form not in found
        bodies = [json.loads(line.entry.text)["body"] for line in table.lines]
        hidden = [body["action"] for body in bodies if "hide" in body]
        assert hidden
        assert {action.strip("12") for action in hidden} <= {"X", "XX"}


def test_a_lost_deposit_stops_its_own_game_only_and_both_can_still_resign(place: Place) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), SHORT)
        table.until_deposited()
    assert place.change("DELETE FROM deposit") == 1
    with place.running() as service:
        moved_to(table, service)
        assert any("deposit" in fault and "missing" in fault for fault in place.faults(table.game, key_of(service)))
        while True:
            before = table.course
            answer = table.posted(*table.due())
            if answer.status != 201:
                break
        assert answer.status == 503
        assert "deposit" in answer.json["detail"]
        assert table.course == before
        other = begin(*table.players)
        assert play(*table.players, other).finished
        assert table.posted(0, Resign()).status == 201
        assert table.course.finished


def test_an_overtaken_deposit_and_those_of_an_ended_game_are_gone(place: Place) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), SHORT)
        table.until_deposited()
        assert len(place.rows("deposit")) == 1
        assert table.posted(1, Resign()).status == 201
        assert place.rows("deposit") == []
        assert place.faults(table.game, key_of(service)) == []


def test_deposits_of_another_moment_than_the_lines_are_read_again(tmp_path: Path) -> None:
    """On PostgreSQL each statement of a history sees what was committed before it: an entry may come in between."""
    with inside(tmp_path / "data") as service:
        table = ServedTable(two_players(service), SHORT)
        table.until_deposited()
        before = len(table.lines) - 1
        kept = service.runner.run(history_at(service, table.game))
        assert len(kept.secrets.deposits) == 1
        while table.course.sealed is not None and table.course.sealed.deposits:
            table.go_on()
        stale = service.runner.run(history_at(service, table.game, hidden_first=before))
        assert (stale.lines[-1].entry.seq, stale.secrets.deposits) == (table.course.seq, ())


async def history_at(service: Inside, game: str, hidden_first: int | None = None) -> History:
    """The history of a game; with `hidden_first` the first look sees no lines after that entry, and all the rest."""
    async with service.store() as store:
        snapshot, looks = store._snapshot, 0

        async def seen(statements: Sequence[str], values: Values) -> list[list[Row]]:
            nonlocal looks
            looks += 1
            found = await snapshot(statements, values)
            if hidden_first is not None and looks == 1:
                found[1] = found[1][: hidden_first + 1]
            return found

        with patch.object(store, "_snapshot", seen):
            history = await store.history(game)
        assert looks == (1 if hidden_first is None else 2)
        assert history is not None
        return history


def test_a_false_deposit_is_refused_and_nothing_is_kept(place: Place) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), SHORT)
        table.go_on(2)
        while True:
            seat, body, deposit = table.due()
            if deposit is not None:
                break
            assert table.posted(seat, body, deposit).status == 201
        before = place.dump()
        false = deposit._replace(shares=bytes(len(deposit.shares))), deposit._replace(at=(deposit.at[0] ^ 1,))
        for wrong in (None, *false):
            answer = table.posted(seat, body, wrong)
            assert answer.status in (400, 422), answer
            assert place.dump() == before
        assert table.posted(seat, body, deposit).status == 201


def test_lists_name_the_dealer_and_the_service_says_what_it_offers(place: Place) -> None:
    with place.running(operators="bob, alice") as service:
        shown = service.ask("GET", "/v1/service").json
        assert shown["dealers"] == ["sealed/v1", "server/v1"]
        assert shown["operators"] == ["alice", "bob"]
        alice, bob = two_players(service)
        table = ServedTable((alice, bob), SHORT)
        table.go_on()
        other = alice.new()
        games = {each["game"]: each["dealer"] for each in service.ask("GET", "/v1/games").json["games"]}
        assert games == {table.game: "sealed/v1", other: "server/v1"}
        for game, dealer in games.items():
            assert service.ask("GET", f"/v1/games/{game}").json["dealer"] == dealer


def test_a_service_without_sealed_games_refuses_them_in_words_and_goes_on_with_those_it_has(place: Place) -> None:
    with place.running() as service:
        table = ServedTable(two_players(service), SHORT)
        table.until_deposited()
    with place.running(sealed="false") as service:
        assert service.ask("GET", "/v1/service").json["dealers"] == ["server/v1"]
        moved_to(table, service)
        before = len(place.rows("game"))
        for dealer, words in (("sealed/v1", "offers no sealed games"), ("other/v1", "does not know the dealer")):
            answer = ask_for(table.players[0], SHORT, dealer=dealer)
            assert answer.status == 422
            assert words in answer.json["detail"]
            assert "nothing was created" in answer.json["hint"]
        assert len(place.rows("game")) == before
        table.finish()
