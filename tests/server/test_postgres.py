"""The store on PostgreSQL: the contract, on a real server, and PostgreSQL's own cases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hkoji_server.settings import load
from hkoji_server.store import game_lists, players
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Query
from hkoji_server.store.location import parse_location
from hkoji_server.store.open_store import location_of, open_store
from hkoji_server.store.player_tables import RetiredKey
from hkoji_server.store.postgres import statements as said
from hkoji_server.store.postgres import store as module
from hkoji_server.store.postgres.connections import LostError, PostgresConnections, check_safe
from hkoji_server.store.postgres.store import PostgresStore
from hkoji_server.store.sql_steps import compiled
from hkoji_server.store.tables import GameTable
from sqlalchemy import Connection, create_engine, text

from hkoji.errors import ConflictError, ExistsError, ForbiddenError, RevokedError, StorageError
from hkoji.game.commitments import Opening
from hkoji.log.line import Line
from hkoji.log.private_key import PrivateKey
from tests.support.cluster import Cluster, DatabaseClock
from tests.support.ledger import connected, everything
from tests.support.loops import run
from tests.support.mail_contract import with_mailbox
from tests.support.own_key_contract import begun, entry, own
from tests.support.rows import a_code, a_player, a_retired_key, replace
from tests.support.service import serving
from tests.support.store_contract import Opened, StoreContract, append_of, with_game
from tests.support.stores import (
    postgres_at,
)
from tests.support.table import AT
from tests.support.time_contract import Clocked, ClockSetter

INDEXES = tuple(f"game_{name}" for name in ("pkey", "waiting", "host", "guest", "invite", "status", "shown")) + tuple(
    f"game_{seat}_ended" for seat in ("host", "guest", "invite")
)


def replace_text(line: Line) -> Line:
    """The same place, taken by another entry."""
    assert line.receipt is not None
    return line._replace(sig=b"another signature")


@pytest.fixture(scope="module")
def kept(cluster: Cluster) -> Iterator[str]:
    """The URL of a database that each test leaves empty: to make one takes longer than most tests of the contract."""
    name = cluster.create("migrated")
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture(scope="module")
def kept_store(kept: str) -> Iterator[Store]:
    with postgres_at(kept) as store:
        yield store


class TestPostgres(StoreContract):
    @pytest.fixture
    def opened(self, kept: str) -> Iterator[Opened]:
        """Opens the kept database. Its rows are removed after the test."""
        yield partial(postgres_at, kept)
        with connected(kept) as server:
            server.execute("SET lock_timeout = '20s'")  # a test that failed may have left a transaction open
            server.execute("; ".join(f"DELETE FROM {each.name}" for each in reversed(GameTable.metadata.sorted_tables)))

    @pytest.fixture
    def store(self, opened: Opened, kept_store: Store) -> Store:
        return kept_store

    @pytest.fixture
    def clocked(self, postgres: str) -> Clocked:
        @contextmanager
        def clocked(moment: datetime) -> Iterator[tuple[Store, ClockSetter]]:
            clock = DatabaseClock(postgres, moment)
            with postgres_at(postgres) as store:
                yield store, clock.show

        return clocked


# --- who may use it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["off", "local", "remote_write"])
def test_a_database_that_could_lose_what_was_acknowledged_is_refused(postgres: str, value: str) -> None:
    name = str(parse_location(postgres).database)
    with connected(postgres) as server:
        server.execute(f"ALTER DATABASE {name} SET synchronous_commit = '{value}'")
    before = everything(postgres)
    with pytest.raises(StorageError, match=f"synchronous_commit is {value}") as raised, postgres_at(postgres):
        pass
    assert "synchronous_commit to on" in raised.value.hint
    assert everything(postgres) == before


def test_safe_addresses_and_others() -> None:
    good = {"fsync": "on", "synchronous_commit": "on"}
    check_safe(good.__getitem__, 150000)
    check_safe({**good, "synchronous_commit": "remote_apply"}.__getitem__, 180000)
    with pytest.raises(StorageError, match="fsync is off"):
        check_safe({**good, "fsync": "off"}.__getitem__, 150000)
    with pytest.raises(StorageError, match="PostgreSQL 14; hkoji needs 15"):
        check_safe(good.__getitem__, 149999)


def test_a_connection_that_has_become_unsafe_is_not_used(postgres: str) -> None:
    """Settings may be changed while the service runs; later connections have the new ones."""
    name = str(parse_location(postgres).database)
    with postgres_at(postgres) as store, with_game(store) as table:
        with connected(postgres) as server:
            server.execute(f"ALTER DATABASE {name} SET synchronous_commit = 'off'")
            end_all(server)
        store._connections._pool.timeout = 0.2
        with pytest.raises(StorageError):
            run(store.append(append_of(table, 0, (table.lines[1],))))
        with connected(postgres) as server:
            assert server.execute("SELECT seq FROM game").fetchall() == [(0,)]


def test_a_reload_of_settings_does_not_change_a_checked_connection(postgres: str) -> None:
    def setting() -> str:
        with connected(postgres) as fresh:
            return str(fresh.execute("SHOW synchronous_commit").fetchone()[0])

    with postgres_at(postgres) as store, connected(postgres) as server:
        run(store.head("0" * 32))
        try:
            server.execute("ALTER SYSTEM SET synchronous_commit = 'off'")
            server.execute("SELECT pg_reload_conf()")
            while setting() != "off":
                time.sleep(0.01)
            assert run(store._connections.rows("SHOW synchronous_commit", {})) == [("on",)]
        finally:
            server.execute("ALTER SYSTEM RESET synchronous_commit")
            server.execute("SELECT pg_reload_conf()")
        while setting() != "on":
            time.sleep(0.01)


def test_the_schema_is_the_migrations(postgres: str) -> None:
    engine = create_engine(postgres)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), GameTable.metadata) == []
    engine.dispose()


def test_many_that_start_at_once_on_an_empty_database_migrate_it_once(cluster: Cluster) -> None:
    name = cluster.create()
    together = threading.Barrier(5)

    def start(_: int) -> tuple[str, str]:
        async def work() -> tuple[str, str]:
            store = PostgresStore(parse_location(cluster.url(name)))
            together.wait()
            await store.open()
            try:
                return await store.add_identity(f"key {_}", "http://one")
            finally:
                await store.close()

        return asyncio.run(work())

    with ThreadPoolExecutor(5) as pool:
        assert len(set(pool.map(start, range(5)))) == 1
    cluster.drop(name)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://hkoji:PASSWORD@127.0.0.1:1/hkoji",
        "postgresql+psycopg://hkoji@127.0.0.1:1/hkoji?password=PASSWORD",
        "postgresql+psycopg://hkoji:PASSWORD@127.0.0.1:one/hkoji",
        "mysql://hkoji:PASSWORD@127.0.0.1/hkoji",
        "PASSWORD",
    ],
)
def test_passwords_are_in_no_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_DATABASE", url.replace("PASSWORD", "s3cret"))
    settings = load()
    assert "s3cret" not in repr(settings)

    async def work() -> None:
        async with open_store(location_of(settings)):
            pass

    with pytest.raises(StorageError, match="database") as raised:
        asyncio.run(work())
    said: list[str] = []
    error: BaseException | None = raised.value
    while error is not None:
        said.append(f"{error!r} {error} {getattr(error, 'hint', '')}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "s3cret" not in "".join(said)


def test_passwords_are_in_no_log_and_no_message(postgres: str, tmp_path: Path) -> None:
    """A server that asks for none takes any."""
    url = postgres.replace("hkoji@", "hkoji:s3cret@")
    with serving(tmp_path / "data", database=url, log_level="debug") as service:
        assert service.ask("GET", "/v1/service").status == 200
        with connected(postgres) as server:
            end_all(server)
        assert service.ask("GET", "/v1/games").status == 200
        words = Path(f"/proc/{service.process.pid}/cmdline")
        assert not words.exists() or b"s3cret" not in words.read_bytes()
    said = service.log.read_text()
    assert "PostgreSQL database test_" in said
    assert "s3cret" not in said


def test_errors_hold_no_secrets(postgres: str) -> None:
    salt = "5a17" * 16
    with postgres_at(postgres) as store, with_game(store) as table:
        twice = (Opening(1, 0, "A", salt), Opening(1, 0, "A", salt))
        with pytest.raises(StorageError) as raised:
            run(store.append(append_of(table, 0, (table.lines[1],), openings=twice)))
        said: list[str] = []
        error: BaseException | None = raised.value
        while error is not None:
            said.append(repr(error) + str(error))
            error = error.__cause__ or error.__context__
        assert salt not in "".join(said)


# --- races between processes --------------------------------------------------------------------------------------


async def _revoked_early(store: Store, key: str, slow: Any) -> bool:  # Any: psycopg has no types here
    """Revokes a key of alice's while `slow` has an open transaction, which ends then.

    Returns whether the revocation returned before that.
    """
    revoking = asyncio.create_task(store.revoke_key(a_retired_key(key, "alice", AT, True)))
    while await store.retired(key) is None:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    early = revoking.done()
    await asyncio.to_thread(slow.execute, "COMMIT")
    await revoking
    return early


def test_a_revocation_returns_when_nothing_can_come_that_has_not_seen_it(postgres: str) -> None:
    key = PrivateKey.from_seed(b"\x01" * 32).public.text
    with postgres_at(postgres) as store, with_game(store) as table:
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        append = append_of(table, 0, (table.lines[1],), key=key)
        values = said.append_values(append)
        slow = connected(postgres)  # another process, during an append
        slow.execute("BEGIN")
        slow.execute(said.HOLD, values)
        assert slow.execute(said.append_statement(append), values).fetchone() == (1, None)

        assert not run(_revoked_early(store, key, slow))
        slow.close()
        assert run(store.lines(table.game)) == tuple(table.lines[:2])
        with pytest.raises(RevokedError):
            run(store.append(append_of(table, 1, (table.lines[2],), key=key)))
        assert run(store.lines(table.game)) == tuple(table.lines[:2])


def test_a_revocation_waits_for_an_append_that_began_before_with_a_higher_number(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append begins while the revocation's transaction is open, and has not ended when that one has."""
    key = PrivateKey.from_seed(b"\x01" * 32).public.text
    with postgres_at(postgres) as store, with_game(store) as table, connected(postgres) as slow:
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        append = append_of(table, 0, (table.lines[1],), key=key)
        values = said.append_values(append)
        numbers: list[int] = []
        revoke = players.revoke

        def revoke_and_go_on(connection: Connection, retired: RetiredKey) -> None:
            revoke(connection, retired)
            numbers.append(int(connection.execute(text("SELECT pg_current_xact_id()::text")).scalar_one()))
            slow.execute("BEGIN")
            slow.execute(said.HOLD, values)
            assert slow.execute(said.append_statement(append), values).fetchone() == (1, None)
            numbers.append(int(slow.execute("SELECT pg_current_xact_id()::text").fetchone()[0]))

        monkeypatch.setattr(players, "revoke", revoke_and_go_on)

        assert not run(_revoked_early(store, key, slow))
        assert numbers == sorted(numbers)
        assert run(store.lines(table.game)) == tuple(table.lines[:2])
        with pytest.raises(RevokedError):
            run(store.append(append_of(table, 1, (table.lines[2],), key=key)))


def test_a_revocation_that_cannot_be_certain_says_so(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    key = PrivateKey.from_seed(b"\x01" * 32).public.text
    with postgres_at(postgres) as store, connected(postgres) as slow:
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        slow.execute("BEGIN")
        slow.execute("SELECT pg_current_xact_id()")
        with pytest.raises(StorageError, match="may still appear"):
            run(store.revoke_key(a_retired_key(key, "alice", AT, True)))
        slow.execute("COMMIT")
        run(store.revoke_key(a_retired_key(key, "alice", AT, True)))
        assert run(store.retired(key)) == a_retired_key(key, "alice", AT, True)


@pytest.mark.parametrize("last", [2, 4])
def test_a_recovery_waits_for_what_the_held_key_is_signing(postgres: str, last: int) -> None:
    """A join by mail, after which the key is still needed, or a later entry; its transaction is under way."""
    with postgres_at(postgres) as store, connected(postgres) as slow:
        box = with_mailbox(store)
        run(store.add_code(a_code("code", "2027-06-01T00:00:00Z", name="bob")))
        table = begun(store, last - 1)
        append = replace(entry(table, last), key=box.held_key)
        values = said.append_values(append)
        slow.execute("BEGIN")
        slow.execute(said.HOLD, values)
        assert slow.execute(said.append_statement(append), values).fetchone() == (1, None)

        async def race() -> tuple[bool, BaseException | None]:
            recovering = asyncio.create_task(store.recover(own(), "code", AT))
            await asyncio.sleep(0.1)
            early = recovering.done()
            await asyncio.to_thread(slow.execute, "COMMIT")
            (result,) = await asyncio.gather(recovering, return_exceptions=True)
            return early, result

        early, result = run(race())
        assert not early
        assert run(store.head(table.game)) == (last, table.lines[last].entry.head)
        kept = run(store.player("bob"))
        assert kept is not None
        if last == 2:
            assert isinstance(result, ConflictError)
            assert kept.key == box.held_key
            assert run(store.retired(box.held_key)) is None
        else:
            assert result is None
            assert kept == own()
            with pytest.raises(RevokedError):
                run(store.append(replace(entry(table, last + 1), key=box.held_key)))


def test_a_key_is_one_players_however_many_ask_for_it_at_once(postgres: str) -> None:
    texts = [PrivateKey.from_seed(bytes([n + 1]) * 32).public.text for n in range(30)]
    with postgres_at(postgres) as one, postgres_at(postgres) as two:
        run(one.add_player(a_player("alice", texts[0], AT, "text", "sig")))
        held = texts[0]

        async def race(new: str, turn: int) -> tuple[object, ...]:
            changed = a_player("alice", new, AT, f"text {turn}", "sig")
            return await asyncio.gather(
                one.replace_key(changed, a_retired_key(held, "alice", AT, False)),
                two.add_player(a_player(f"bob{turn}", new, AT, "text", "sig")),
                one.add_player(a_player(f"carol{turn}", held, AT, "text", "sig")),
                two.replace_key(replace(changed, text="other"), a_retired_key(held, "alice", AT, False)),
                return_exceptions=True,
            )

        for turn, new in enumerate(texts[1:9]):
            results = run(race(new, turn))
            errors = [each for each in results if isinstance(each, BaseException)]
            assert all(isinstance(each, (ExistsError, ForbiddenError)) for each in errors), errors
            alice, bob = run(two.player("alice")), run(one.player(f"bob{turn}"))
            assert alice is not None
            assert run(one.player(f"carol{turn}")) is None  # it was alice's before
            assert (alice.key == new) != (bob is not None)
            held = alice.key


def test_no_login_outlives_the_revocation_that_it_met(postgres: str) -> None:
    now, later = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    with postgres_at(postgres) as one, postgres_at(postgres) as two:

        async def race(name: str, key: str) -> list[BaseException]:
            await one.add_player(a_player(name, key, AT, "text", "sig"))
            done = await asyncio.gather(
                *(one.add_token(f"{name} {n}", name, later, now, key) for n in range(3)),
                two.revoke_key(a_retired_key(key, name, AT, True)),
                return_exceptions=True,
            )
            return [each for each in done if isinstance(each, BaseException)]

        for turn in range(8):
            key = PrivateKey.from_seed(bytes([turn + 1]) * 32).public.text
            assert all(isinstance(error, RevokedError) for error in run(race(f"alice{turn}", key)))
            assert [run(two.token(f"alice{turn} {n}", now)) for n in range(3)] == [None] * 3


# --- lost connections ---------------------------------------------------------------------------------------------


def end_all(server: Any) -> None:  # Any: a connection
    """Ends all other connections to this database, as an administrator or a crash does."""
    others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ended = [pid for pid, _ in server.execute(f"SELECT pid, pg_terminate_backend(pid) FROM ({others}) AS others")]
    while server.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)", (ended,)).fetchone()[0]:
        time.sleep(0.005)


def test_connections_that_were_lost_while_idle_are_replaced(postgres: str) -> None:
    with postgres_at(postgres) as store, with_game(store) as table, connected(postgres) as server:
        assert run(store.add_identity("key", "http://one")) == ("key", "http://one")
        end_all(server)
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)
        end_all(server)
        run(store.append(append_of(table, 0, (table.lines[1],))))
        end_all(server)
        run(store.set_origin("http://two"))
        end_all(server)
        assert run(store.history(table.game)) is not None
        assert run(store.identity()) == ("key", "http://two")
        assert run(store.lines(table.game)) == tuple(table.lines[:2])


def test_a_fatal_error_ends_the_connection(postgres: str) -> None:
    """A FATAL error arrives before the closing of the connection is seen; the statement under way may have been
    executed."""
    severities = {"FATAL": LostError, "PANIC": LostError, "ERROR": StorageError}
    with postgres_at(postgres) as store, with_game(store) as table:
        for severity, expected in severities.items():
            words = Mock(severity_nonlocalized=severity)

            async def spoken(_: Any) -> None:  # Any: a connection
                raise psycopg.errors.CrashShutdown("terminating connection")

            with patch.object(psycopg.Error, "diag", words), pytest.raises(StorageError) as raised:
                run(store._connections.once(spoken))
            assert type(raised.value) is expected
            assert ("nothing was changed" in str(raised.value)) == (severity == "ERROR")
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)


class _Losing:
    """Loses the connection of the next append, before or after it is done. `first` runs before the loss is seen."""

    def __init__(self, store: PostgresStore, *, done: bool, first: Any = None) -> None:  # Any: a coroutine
        self.store, self.done, self.first = store, done, first
        self.lost = 0

    async def once(self, work: Any) -> Any:
        real = PostgresConnections.once
        if self.lost:
            return await real(self.store._connections, work)
        self.lost += 1
        if self.done:
            await real(self.store._connections, work)
        if self.first is not None:
            await self.first
        raise LostError


@pytest.mark.parametrize("done", [False, True])
def test_an_append_whose_connection_is_lost_is_done_once(postgres: str, done: bool) -> None:
    with postgres_at(postgres) as store, with_game(store) as table:
        losing = _Losing(store, done=done)
        with patch.object(store._connections, "once", losing.once):
            run(store.append(append_of(table, 0, (table.lines[1],), openings=(Opening(1, 0, "A", "aa" * 32),))))
        assert losing.lost == 1
        history = run(store.history(table.game))
        assert history is not None
        assert history.lines == tuple(table.lines[:2])
        assert len(history.secrets.openings) == 1


def test_an_append_that_was_lost_and_overtaken_is_refused(postgres: str) -> None:
    with postgres_at(postgres) as store, postgres_at(postgres) as other, with_game(store) as table:
        line = table.lines[1]
        theirs = append_of(table, 0, (replace_text(line),))
        losing = _Losing(store, done=False, first=other.append(theirs))
        with patch.object(store._connections, "once", losing.once), pytest.raises(ConflictError):
            run(store.append(append_of(table, 0, (line,))))
        assert run(store.lines(table.game)) == (table.lines[0], *theirs.lines)


def test_a_committed_append_with_a_lost_answer_counts_though_its_key_was_revoked_then(postgres: str) -> None:
    key = PrivateKey.from_seed(b"\x01" * 32).public.text
    with postgres_at(postgres) as store, postgres_at(postgres) as other, with_game(store) as table:
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        losing = _Losing(store, done=True, first=other.revoke_key(a_retired_key(key, "alice", AT, True)))
        with patch.object(store._connections, "once", losing.once):
            run(store.append(append_of(table, 0, (table.lines[1],), key=key)))
        assert run(store.lines(table.game)) == tuple(table.lines[:2])


def test_a_new_game_whose_connection_is_lost_is_there_once(postgres: str) -> None:
    with postgres_at(postgres) as store:
        losing = _Losing(store, done=True)
        with patch.object(store._connections, "once", losing.once), with_game(store) as table:
            assert losing.lost == 1
        assert run(store.lines(table.game)) == (table.lines[0],)


def test_an_answer_that_came_before_the_commit_is_not_believed(postgres: str) -> None:
    """The statement's own result comes before the end of its transaction."""
    with postgres_at(postgres) as store:

        async def unfinished(connection: Any) -> None:  # Any: a connection
            await connection.execute("BEGIN")
            await connection.execute("INSERT INTO challenge VALUES ('a', 'b')")

        with pytest.raises(LostError):
            run(store._connections.once(unfinished))
        with connected(postgres) as server:
            assert server.execute("SELECT count(*) FROM challenge").fetchone() == (0,)


# --- reading ------------------------------------------------------------------------------------------------------


def test_any_number_may_be_asked_for(postgres: str) -> None:
    with postgres_at(postgres) as store, with_game(store) as table:
        assert run(store.lines(table.game, 2**31)) == ()
        history = run(store.history(table.game, 2**31))
        assert history is not None
        assert history.lines == ()


def test_lists_and_reads_are_walks_in_an_index(postgres: str) -> None:
    after = "2026-01-01T00:00:00Z~" + "0" * 32
    seats = {"game_host", "game_guest", "game_invite", "game_pkey"}
    queries = {
        Query(): {"game_shown"},
        Query(after=after): {"game_shown"},
        Query(status="open"): {"game_status"},
        Query(player="alice", status="playing"): {"game_host", "game_guest", "game_pkey"},
        Query(prefix="abcd"): {"game_pkey"},
        Query(player="alice", waiting=True): {"game_waiting", "game_invite", "game_pkey"},
        Query(player="alice"): seats,
        Query(player="alice", after=f"{after}~0"): seats,
        Query(player="alice", after=f"{after}~1"): seats,
    }
    with connected(postgres) as server:
        made = "SELECT md5(n::text), '{}', s, 'p' || n % 50, 'p' || n % 49, NULL, 1, '', 1, 0, 'p' || n % 50,"
        server.execute(
            "INSERT INTO game (game, ruleset, status, host, guest, invite, seq, head, round, actor, to_move, created,"
            f" updated, agreement) {made} to_char(n, 'FM00000000'), '', '{{}}' FROM generate_series(1, 20000) AS n,"
            " LATERAL (SELECT CASE WHEN n % 97 = 0 THEN 'open' WHEN n % 4 = 0 THEN 'offered'"
            " WHEN n % 3 = 0 THEN 'playing' WHEN n % 5 = 0 THEN 'cancelled' ELSE 'finished' END AS s) AS status"
        )
        server.execute("ANALYZE game")
        for query, expected in queries.items():
            asked = compiled(game_lists.listed(game_lists.statement_of(query)), said.DIALECT)
            plan = "\n".join(
                row[0] for row in server.execute(f"EXPLAIN {asked}", game_lists.values_of(query)).fetchall()
            )
            assert "Seq Scan" not in plan, (query, plan)
            assert {name for name in INDEXES if name in plan} == expected, (query, plan)
