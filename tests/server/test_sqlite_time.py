"""Time on SQLite: what waits for the one writer, so that no T lies within an outage, and nothing old is written late.

Another process is a connection of its own, `other`, which holds the write lock until the test commits.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.store.game_values import NewGame
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.statements import entry_values
from hkoji_server.store.time_contract import OLDEST, StaleDecisionError

from hkoji.errors import ConflictError
from hkoji.game.clock import Outage, Way
from tests.support.driver_calls import driver_watched
from tests.support.loops import run
from tests.support.table import AT, Table
from tests.support.time_contract import FIRST, MOMENT, SECOND, annulment, gift, received
from tests.support.timed_table import later
from tests.support.times import now
from tests.support.waiting_contract import new_game, next_line

UNTIL = later(FIRST, 1000)


class Waits:
    """Notes that a transaction waits for another process: it is begun for the second time. `shown` is on the clock."""

    def __init__(self) -> None:
        self.begun = 0
        self.shown = MOMENT

    def before_call(self, what: str, sql: str) -> None:
        self.begun += sql == "BEGIN IMMEDIATE"

    def after_call(self, what: str, sql: str) -> None:
        """Nothing."""


@contextmanager
def opened(tmp_path: Path) -> Iterator[tuple[SqliteStore, sqlite3.Connection, Waits]]:
    """A store, another process, and whether the store waits for that one."""
    path, waits = tmp_path / "data" / "hkoji.sqlite3", Waits()
    with driver_watched(waits):
        store = SqliteStore(path, lambda: waits.shown)
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            yield store, other, waits
        finally:
            other.close()
            store.close()


def held_up(work: Coroutine[Any, Any, Any], other: sqlite3.Connection, waits: Waits, *, show: Any = None) -> Any:
    """Lets `work` wait for the transaction of `other`, which is committed then. Returns the result, or the error."""

    async def race() -> Any:
        before = waits.begun
        task = asyncio.ensure_future(work)
        while waits.begun < before + 2:
            assert not task.done(), task
            await asyncio.sleep(0.002)
        if show is not None:
            show()
        other.execute("COMMIT")
        return (await asyncio.gather(task, return_exceptions=True))[0]

    return run(race())


def test_a_recording_waits_for_another_process_and_begins_after_what_it_took(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, other, waits):
        table = new_game(store, 1, updated=FIRST)
        run(store.beat(Way.HTTP, FIRST))
        at = later(FIRST, 500)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE game SET updated = ? WHERE game = ?", (at, table.game))
        other.execute(
            "INSERT INTO entry VALUES (:game, :seq, :text, :sig, :receipt, :receipt_sig)",
            entry_values(received(table, 1, at)),
        )
        assert held_up(store.close_gap(Way.HTTP, FIRST, UNTIL), other, waits) == Outage(later(at, 1), UNTIL, Way.HTTP)


@pytest.mark.parametrize("what", ["append", "decide", "game", "give", "annul"])
def test_everything_that_waits_for_a_recording_finds_the_outage(tmp_path: Path, what: str) -> None:
    with opened(tmp_path) as (store, other, waits):
        table, added = new_game(store, 1), Table(seed=2)
        summary = run(store.summary(table.game))
        assert summary is not None
        new = NewGame(summary._replace(game=added.game), added.lines[0], "5e" * 32, "alice", now(), outages=0)
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO outage (number, way, \"from\", until) VALUES (1, 'http', ?, ?)", (FIRST, SECOND))
        append = next_line(table, 0)
        work: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "append": lambda: store.append(append),
            "decide": lambda: store.append(lambda: append),
            "game": lambda: store.add_game(new),
            "give": lambda: store.add_statement(gift(table, 0), deadline=None, after=FIRST, outages=0),
            "annul": lambda: store.add_statement(annulment(table, 0, "bob"), deadline=None, after=None, outages=0),
        }
        assert isinstance(held_up(work[what](), other, waits), StaleDecisionError)
        assert (run(store.summary(table.game)), run(store.summary(added.game))) == (summary, None)
        assert (run(store.lines(table.game)), run(store.statements(table.game))) == ((table.lines[0],), ())


@pytest.mark.parametrize("what", ["append", "decide", "game", "give"])
def test_the_age_is_judged_when_the_write_lock_is_held(tmp_path: Path, what: str) -> None:
    """A write that waits for another process grows old meanwhile."""
    with opened(tmp_path) as (store, other, waits):
        table, added = new_game(store, 1), Table(seed=2)
        summary = run(store.summary(table.game))
        assert summary is not None
        new = NewGame(summary._replace(game=added.game), added.lines[0], "5e" * 32, "alice", AT, outages=0)
        append = replace(next_line(table, 0), at=AT)
        work: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "append": lambda: store.append(append),
            "decide": lambda: store.append(lambda: append),
            "game": lambda: store.add_game(new),
            "give": lambda: store.add_statement(gift(table, 0, at=AT), deadline=None, after=FIRST, outages=0),
        }

        def show() -> None:
            waits.shown = MOMENT + timedelta(seconds=OLDEST, microseconds=1)

        other.execute("BEGIN IMMEDIATE")
        assert isinstance(held_up(work[what](), other, waits, show=show), StaleDecisionError)
        assert (run(store.summary(table.game)), run(store.summary(added.game))) == (summary, None)
        assert run(store.statements(table.game)) == ()


def test_an_append_that_waits_for_a_gift_does_not_miss_it(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, other, waits):
        table = new_game(store, 1, deadline=FIRST)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE game SET deadline = ? WHERE game = ?", (SECOND, table.game))
        result = held_up(store.append(replace(next_line(table, 0), deadline=FIRST)), other, waits)
        assert isinstance(result, StaleDecisionError)
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)


def test_a_gift_that_waits_for_an_append_is_about_a_past_head(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, other, waits):
        table = new_game(store, 1)
        head = table.lines[1].entry.head
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE game SET seq = 1, head = ? WHERE game = ?", (head, table.game))
        work = store.add_statement(gift(table, 0), deadline=None, after=SECOND, outages=0)
        result = held_up(work, other, waits)
        assert isinstance(result, ConflictError)
        assert result.head == head
        assert run(store.statements(table.game)) == ()


def test_drained_waits_for_another_process(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, other, waits):
        table = new_game(store, 1)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE game SET seq = 1 WHERE game = ?", (table.game,))
        assert held_up(store.drained(), other, waits) is None
        head = run(store.head(table.game))
        assert head is not None
        assert head[0] == 1


def test_drained_waits_for_what_this_process_has_begun_to_write(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _, _):
        table = new_game(store, 1)

        async def race() -> tuple[int, str] | None:
            writing = asyncio.ensure_future(store.append(next_line(table, 0)))
            await asyncio.sleep(0)
            await store.drained()
            found = await store.head(table.game)
            await writing
            return found

        assert run(race()) == (1, table.lines[1].entry.head)
