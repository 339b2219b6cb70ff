"""The store on SQLite: the contract, and SQLite's own cases."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.sqlite import connections as module
from hkoji_server.store.sqlite import writer
from hkoji_server.store.sqlite.connections import driver
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.tables import GameTable
from sqlalchemy import Connection

from hkoji.errors import StorageError
from hkoji.game.commitments import Opening
from tests.support.driver_calls import driver_watched
from tests.support.loops import run
from tests.support.new_database import copy_new_database
from tests.support.store_contract import Opened, StoreContract, append_of, with_game
from tests.support.stores import (
    sqlite_at,
)
from tests.support.time_contract import Clocked, ClockSetter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "hkoji.sqlite3"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that each test leaves empty."""
    path = tmp_path_factory.mktemp("kept") / "data" / "hkoji.sqlite3"
    copy_new_database(path)
    return path


@pytest.fixture(scope="module")
def kept_store(kept: Path) -> Iterator[Store]:
    with sqlite_at(kept) as store:
        yield store


class TestSqlite(StoreContract):
    @pytest.fixture
    def opened(self, kept: Path) -> Iterator[Opened]:
        """Opens the kept database. Its rows are removed after the test."""
        yield partial(sqlite_at, kept)
        with closing(sqlite3.connect(kept)) as connection, connection:
            for each in reversed(GameTable.metadata.sorted_tables):
                connection.execute(f"DELETE FROM {each.name}")

    @pytest.fixture
    def store(self, opened: Opened, kept_store: Store) -> Store:
        return kept_store

    @pytest.fixture
    def clocked(self, path: Path) -> Clocked:
        @contextmanager
        def clocked(moment: datetime) -> Iterator[tuple[Store, ClockSetter]]:
            shown = [moment]

            def show(now: datetime) -> None:
                shown[0] = now

            store = SqliteStore(path, lambda: shown[0])
            try:
                yield store, show
            finally:
                store.close()

        return clocked


def test_acknowledged_moves_survive_a_power_cut_by_these_settings(path: Path) -> None:
    with sqlite_at(path) as store:

        def settings(connection: Connection) -> list[object]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [driver(connection).execute(f"PRAGMA {name}").fetchone()[0] for name in names]

        assert run(store._writer.run(settings)) == ["wal", 2, 1]


def test_a_store_that_cannot_be_made_safe_does_not_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = NORMAL")

    monkeypatch.setattr(module, "_configure", careless)
    with pytest.raises(StorageError, match="synchronous is 1"):
        SqliteStore(path)


def test_new_files_have_large_pages_and_old_ones_keep_theirs(path: Path) -> None:
    """In small pages long entries spill into pages of their own, and a database is a sixth larger."""
    for size, folder in ((8192, path.parent), (4096, path.parent / "old")):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / path.name
        if size != 8192:
            old = sqlite3.connect(file)
            old.executescript(f"PRAGMA page_size = {size}; CREATE TABLE t (c); DROP TABLE t")
            old.close()
        with sqlite_at(file), sqlite3.connect(file) as connection:
            assert connection.execute("PRAGMA page_size").fetchone() == (size,)
        connection.close()


def test_only_the_owner_may_read_the_files(path: Path) -> None:
    mask = os.umask(0)
    try:
        with sqlite_at(path) as store, with_game(store):
            assert path.parent.stat().st_mode & 0o777 == 0o700
            found = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    finally:
        os.umask(mask)
    assert sorted(found) == ["hkoji.sqlite3", "hkoji.sqlite3-shm", "hkoji.sqlite3-wal"]
    assert set(found.values()) == {0o600}


def test_new_folders_are_synced_into_those_that_hold_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power cut takes away the folder, with everything acknowledged in it."""
    synced: list[int] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    with sqlite_at(tmp_path / "one" / "two" / "hkoji.sqlite3"):
        assert set(synced) == {tmp_path.stat().st_ino, (tmp_path / "one").stat().st_ino}
    synced.clear()
    with sqlite_at(tmp_path / "one" / "two" / "hkoji.sqlite3"):
        assert synced == []


def test_a_stop_leaves_one_file(path: Path) -> None:
    with sqlite_at(path) as store, with_game(store):
        pass
    assert [each.name for each in path.parent.iterdir()] == ["hkoji.sqlite3"]


def test_another_file_is_refused_and_not_touched(path: Path) -> None:
    content = b"no database at all" * 100
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StorageError):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot use"):
        SqliteStore(tmp_path / "file" / "hkoji.sqlite3")


class _NthCall:
    """An observer that lets one call of the driver fail, before it is made."""

    def __init__(self, at: int) -> None:
        self.left = at

    def before_call(self, what: str, sql: str) -> None:
        if what not in ("close", "rollback"):  # SQLAlchemy goes on after their failures
            self.left -= 1
            if not self.left:
                raise sqlite3.OperationalError("disk I/O error")

    def after_call(self, what: str, sql: str) -> None:
        pass


def test_a_start_in_which_a_call_fails_is_a_storage_error(path: Path) -> None:
    copy_new_database(path)
    with driver_watched(counted := _NthCall(0)):
        store = SqliteStore(path)
        calls = -counted.left
        store.close()
    assert calls > 10
    for at in range(1, calls + 1):
        with driver_watched(_NthCall(at)), pytest.raises(StorageError, match="disk I/O error"):
            SqliteStore(path)


def test_two_stores_on_one_file_see_each_other_at_once(path: Path) -> None:
    with sqlite_at(path) as one, sqlite_at(path) as two, with_game(one) as table:
        assert run(two.head(table.game)) == (0, table.lines[0].entry.head)
        run(two.append(append_of(table, 0, (table.lines[1],))))
        assert run(one.head(table.game)) == (1, table.lines[1].entry.head)
        run(one.append(append_of(table, 1, (table.lines[2],))))
        assert run(two.lines(table.game, 1)) == (table.lines[2],)


def test_a_commit_that_fails_fails_all_that_waited_for_it(path: Path) -> None:
    with sqlite_at(path) as store, with_game(store) as table:

        def spoils_the_commit(connection: Connection) -> None:
            driver(connection).execute("PRAGMA defer_foreign_keys = 1")
            driver(connection).execute("INSERT INTO opening VALUES ('no such game', 1, 0, 'A', 'aa')")

        async def together() -> tuple[BaseException | None, ...]:
            append = store.append(append_of(table, 0, (table.lines[1],)))
            return await asyncio.gather(append, store._writer.run(spoils_the_commit), return_exceptions=True)

        for result in run(together()):
            assert isinstance(result, StorageError)
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)
        run(store.append(append_of(table, 0, (table.lines[1],))))  # and the writer goes on
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)


@pytest.mark.parametrize("spoiled", ["BEGIN", "ROLLBACK"])
def test_a_failed_read_does_not_make_the_next_ones_fail(path: Path, spoiled: str) -> None:
    """A connection left in a transaction would fail for ever, or show the old state for ever."""

    class Once:
        armed = False

        def before_call(self, what: str, sql: str) -> None:
            if self.armed and sql == spoiled == "ROLLBACK":
                self.armed = False
                raise sqlite3.OperationalError("disk I/O error")

        def after_call(self, what: str, sql: str) -> None:
            if self.armed and sql == spoiled == "BEGIN":
                self.armed = False
                raise sqlite3.OperationalError("disk I/O error")

    once = Once()
    with driver_watched(once), sqlite_at(path) as store, with_game(store) as table:
        once.armed = True
        with pytest.raises(StorageError, match="could not be read"):
            run(store.history(table.game))
        assert not once.armed
        run(store.append(append_of(table, 0, (table.lines[1],))))
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)
        history = run(store.history(table.game))
        assert history is not None
        assert history.lines == tuple(table.lines[:2])


def test_a_stop_succeeds_although_its_checkpoint_fails(path: Path) -> None:
    class Full:
        armed = False

        def before_call(self, what: str, sql: str) -> None:
            if self.armed and "wal_checkpoint" in sql:
                raise sqlite3.OperationalError("database or disk is full")

        def after_call(self, what: str, sql: str) -> None:
            return

    full = Full()
    with driver_watched(full), sqlite_at(path) as store, with_game(store) as table:
        full.armed = True
    with sqlite_at(path) as store:
        assert run(store.lines(table.game)) == (table.lines[0],)


def test_errors_hold_no_secrets(path: Path) -> None:
    salt = "5a17" * 16
    with sqlite_at(path) as store, with_game(store) as table:
        twice = (Opening(1, 0, "A", salt), Opening(1, 0, "A", salt))
        with pytest.raises(StorageError) as raised:
            run(store.append(append_of(table, 0, (table.lines[1],), openings=twice)))
        said: list[str] = []
        error: BaseException | None = raised.value
        while error is not None:
            said.append(repr(error) + str(error))
            error = error.__cause__ or error.__context__
        assert salt not in "".join(said)


class _Tries:
    """Ends another process's transaction when a transaction is begun for the `last` time."""

    def __init__(self, other: sqlite3.Connection, last: int) -> None:
        self._other = other
        self._last = last
        self.begun = 0

    def before_call(self, what: str, sql: str) -> None:
        if sql == "BEGIN IMMEDIATE":
            self.begun += 1
            if self.begun == self._last:
                self._other.rollback()

    def after_call(self, what: str, sql: str) -> None:
        """Nothing."""


def test_a_write_waits_for_another_process_and_tries_again_soon(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite_at(path) as store:
        run(store.add_identity("key", "http://one"))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    tries = _Tries(other, last=8)
    with driver_watched(tries), sqlite_at(path) as store:
        run(store.set_origin("http://two"))
        other.execute("BEGIN IMMEDIATE")
        tries.begun = 0
        run(store.set_origin("http://three"))
        assert tries.begun == 8
        assert run(store.identity()) == ("key", "http://three")
        monkeypatch.setattr(writer, "_PATIENCE", 0.05)
        other.execute("BEGIN IMMEDIATE")
        tries.begun = 8
        with pytest.raises(StorageError, match="could not be written; nothing was changed"):
            run(store.set_origin("http://four"))
        other.rollback()
        run(store.set_origin("http://five"))
        assert run(store.identity()) == ("key", "http://five")
    other.close()
