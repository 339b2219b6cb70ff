"""Time on PostgreSQL: what waits for what, so that no T lies within an outage, and nothing old is written late.

Another process is a connection of its own, `slow`, which executes the store's statements one by one and stops where the
test says. Each case fails without the lock, the number or the order of statements that it is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hkoji_server.store.game_values import Append, NewGame
from hkoji_server.store.postgres import statements as said
from hkoji_server.store.postgres import store as module
from hkoji_server.store.postgres.store import PostgresStore
from hkoji_server.store.time_contract import OLDEST, StaleDecisionError

from hkoji.errors import StorageError
from hkoji.game.clock import Outage, Way
from tests.support.cluster import DatabaseClock
from tests.support.finished_contract import ending, reader
from tests.support.ledger import connected
from tests.support.loops import run
from tests.support.service_in_process import Clock
from tests.support.stores import postgres_at
from tests.support.table import AT, Table
from tests.support.time_contract import FIRST, MOMENT, SECOND, annulment, append_summary, gift, taken
from tests.support.timed_table import later
from tests.support.times import now
from tests.support.waiting_contract import new_game, next_line

UNTIL = later(FIRST, 1000)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def another(url: str) -> Iterator[Any]:  # Any: a connection of the driver
    """Another process, in a transaction."""
    with connected(url) as slow:
        slow.execute("BEGIN")
        yield slow


def appending(slow: Any, append: Append) -> object:
    """Executes the two statements of an append, without a commit. Returns what the second one has answered."""
    values = said.append_values(append)
    slow.execute(said.HOLD, values)
    return slow.execute(said.append_statement(append), values).fetchone()


async def waiting(url: str, task: asyncio.Task[Any]) -> None:
    """Returns when `task` waits for a lock in the database. Fails if it ends instead."""
    with connected(url) as witness:
        while witness.execute(WAITING).fetchone() == (0,):
            assert not task.done(), task
            await asyncio.sleep(0.005)


async def held_up(url: str, work: Coroutine[Any, Any, Any], slow: Any) -> Any:
    """Lets `work` wait for the transaction of `slow`, which is committed then. Returns the result, or the error."""
    task = asyncio.ensure_future(work)
    await waiting(url, task)
    await asyncio.to_thread(slow.execute, "COMMIT")
    return (await asyncio.gather(task, return_exceptions=True))[0]


# --- outages ------------------------------------------------------------------------------------------------------


def test_a_recording_waits_for_an_append_and_begins_after_it(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1, updated=FIRST)
        run(store.beat(Way.HTTP, FIRST))
        at = later(FIRST, 500)
        assert appending(slow, taken(table, 0, at)) == (1, None)
        recorded = run(held_up(postgres, store.close_gap(Way.HTTP, FIRST, UNTIL), slow))
        assert recorded == Outage(later(at, 1), UNTIL, Way.HTTP)
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)


def test_a_recording_waits_for_an_append_that_holds_its_row_and_has_written_nothing(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1, updated=FIRST)
        run(store.beat(Way.HTTP, FIRST))
        at = later(FIRST, 500)
        append = taken(table, 0, at)
        values = said.append_values(append)
        slow.execute(said.HOLD, values)

        async def race() -> Outage | None:
            recording = asyncio.ensure_future(store.close_gap(Way.HTTP, FIRST, UNTIL))
            await waiting(postgres, recording)
            assert slow.execute(said.append_statement(append), values).fetchone() == (1, None)
            slow.execute("COMMIT")
            return await recording

        assert run(race()) == Outage(later(at, 1), UNTIL, Way.HTTP)


def test_a_recording_waits_for_a_new_game_which_no_player_has_sent(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        run(store.beat(Way.HTTP, FIRST))
        at, table = later(FIRST, 500), Table(seed=1)
        other = new_game(store, 2)
        summary = run(store.summary(other.game))
        assert summary is not None
        new = NewGame(
            summary._replace(game=table.game, updated=at), table.lines[0], "5e" * 32, "alice", now(), outages=0
        )
        slow.execute(said.ENTER)
        slow.execute(said.NUMBER)

        async def race() -> Outage | None:
            recording = asyncio.ensure_future(store.close_gap(Way.HTTP, FIRST, UNTIL))
            await waiting(postgres, recording)
            assert slow.execute(said.ADD_GAME, said.game_values(new)).fetchone() == (table.game,)
            slow.execute("COMMIT")
            return await recording

        assert run(race()) == Outage(later(FIRST, 1), UNTIL, Way.HTTP)


def test_an_outage_by_hand_waits_for_appends_too(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1, updated=FIRST)
        append = taken(table, 0, table.lines[1].entry.at)
        assert appending(slow, append) == (1, None)
        begin = table.lines[1].entry.at
        refused = run(held_up(postgres, store.add_outage(Outage(begin, later(begin, 1), Way.HTTP), UNTIL), slow))
        assert begin in str(refused)
        assert run(store.outages()) == ()


@pytest.mark.parametrize("what", ["append", "game", "give", "annul"])
def test_everything_that_waits_for_a_recording_finds_the_outage(postgres: str, what: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table, other = new_game(store, 1), Table(seed=2)
        summary = run(store.summary(table.game))
        assert summary is not None
        new = NewGame(summary._replace(game=other.game), other.lines[0], "5e" * 32, "alice", now(), outages=0)
        slow.execute(said.ALONE)
        slow.execute("INSERT INTO outage (number, way, \"from\", until) VALUES (1, 'http', %s, %s)", (FIRST, SECOND))
        work = {
            "append": store.append(next_line(table, 0)),
            "game": store.add_game(new),
            "give": store.add_statement(gift(table, 0), deadline=None, after=FIRST, outages=0),
            "annul": store.add_statement(annulment(table, 0, "bob"), deadline=None, after=None, outages=0),
        }
        chosen = work.pop(what)
        for unused in work.values():
            unused.close()
        assert isinstance(run(held_up(postgres, chosen, slow)), StaleDecisionError)
        assert (run(store.summary(table.game)), run(store.summary(other.game))) == (summary, None)
        assert (run(store.lines(table.game)), run(store.statements(table.game))) == ((table.lines[0],), ())


def test_reads_and_backups_go_on_while_an_outage_is_recorded(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow, another(postgres) as backup:
        table = new_game(store, 1)
        slow.execute(said.ALONE)
        assert run(store.lines(table.game)) == (table.lines[0],)
        assert run(store.history(table.game)) is not None
        backup.execute("LOCK TABLE game IN ACCESS SHARE MODE")  # as pg_dump does
        slow.execute("ROLLBACK")


def test_a_beat_is_no_older_than_the_one_that_a_recording_replaces(postgres: str) -> None:
    """A beat of another process, which a recording meets, makes it start over."""
    with postgres_at(postgres) as store, another(postgres) as slow:
        run(store.beat(Way.HTTP, FIRST))
        slow.execute("UPDATE beat SET at = %s", (SECOND,))
        result = run(held_up(postgres, store.close_gap(Way.HTTP, FIRST, later(SECOND, 5)), slow))
        assert isinstance(result, StaleDecisionError)
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (SECOND, ())


# --- gifts --------------------------------------------------------------------------------------------------------


def test_an_append_that_waits_for_a_gift_does_not_miss_it(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1, deadline=FIRST)
        slow.execute("SELECT 1 FROM game WHERE game = %s FOR NO KEY UPDATE", (table.game,))
        slow.execute("UPDATE game SET deadline = %s WHERE game = %s", (SECOND, table.game))
        result = run(held_up(postgres, store.append(replace(next_line(table, 0), deadline=FIRST)), slow))
        assert isinstance(result, StaleDecisionError)
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)


def test_a_gift_that_waits_for_an_append_is_about_a_past_head(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1, deadline=FIRST)
        assert appending(slow, replace(next_line(table, 0, deadline=SECOND), deadline=FIRST)) == (1, None)
        work = store.add_statement(gift(table, 0), deadline=FIRST, after=SECOND, outages=0)
        result = run(held_up(postgres, work, slow))
        assert type(result).__name__ == "ConflictError"
        assert result.head == table.lines[1].entry.head
        summary = run(store.summary(table.game))
        assert summary is not None
        assert (summary.deadline, run(store.statements(table.game))) == (SECOND, ())


# --- ages, and what was drained -----------------------------------------------------------------------------------


async def early(store: PostgresStore, slow: Any) -> bool:
    """Returns whether `drained` returned before the transaction of `slow` ended."""
    draining = asyncio.ensure_future(store.drained())
    await asyncio.sleep(0.15)
    done = draining.done()
    await asyncio.to_thread(slow.execute, "COMMIT")
    await draining
    return done


def test_drained_waits_for_an_append_that_has_looked_at_the_clock(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1)
        assert appending(slow, next_line(table, 0)) == (1, None)
        assert not run(early(store, slow))
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)


def test_drained_waits_for_an_append_that_holds_its_row(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1)
        slow.execute(said.HOLD, said.append_values(next_line(table, 0)))
        assert not run(early(store, slow))


def test_the_list_of_finished_games_waits_for_an_end_that_is_being_written(postgres: str) -> None:
    """Otherwise this game would come into the list before a place that has been given out."""
    with postgres_at(postgres) as store, another(postgres) as slow:
        table, other = new_game(store, 1), new_game(store, 2)
        run(store.append(ending(other, now())))
        clock = Clock(datetime.now(UTC) + timedelta(seconds=29))
        listed = reader(store, clock)
        append = ending(table, now(-OLDEST + 10))
        assert appending(slow, append) == (1, None)

        async def asked() -> tuple[object, ...]:
            listing = asyncio.ensure_future(listed.finished(None, 50))
            await asyncio.sleep(0.15)
            done = listing.done()
            await asyncio.to_thread(slow.execute, "COMMIT")
            page = await listing
            assert page.before <= append.at
            clock.pass_by(1000)
            return done, page.last, *(each.summary.game for each in (await listed.finished(page.last, 50)).games)

        assert run(asked()) == (False, None, table.game, other.game)


def test_drained_does_not_wait_for_what_only_reads(postgres: str) -> None:
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game(store, 1)
        slow.execute("SELECT * FROM game").fetchall()
        run(store.drained())
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)
        slow.execute("COMMIT")


def test_a_transaction_without_a_number_looks_at_the_clock_after_drained(postgres: str) -> None:
    """It has begun, and `drained` cannot see it. So the age is judged when it has its number, in a later statement."""
    clock = DatabaseClock(postgres, MOMENT)
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game_at(store)
        append = replace(next_line(table, 0), at=AT)
        slow.execute("SELECT 1")
        run(store.drained())
        clock.show(MOMENT + timedelta(seconds=OLDEST + 1))
        assert appending(slow, append) == (0, None)
        slow.execute("COMMIT")
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)


def test_drained_waits_for_a_new_game_that_has_looked_at_the_clock(postgres: str) -> None:
    """It stops between that look and its first row, when a transaction has no number of its own accord."""
    clock = DatabaseClock(postgres, MOMENT)
    with postgres_at(postgres) as store:
        summary = run(store.summary(new_game_at(store).game))
        assert summary is not None
        table = Table(seed=2)
        new = NewGame(summary._replace(game=table.game), table.lines[0], "5e" * 32, "alice", AT, outages=0)

        async def race() -> tuple[bool, object]:
            with clock.stopping():
                adding = asyncio.ensure_future(store.add_game(new))
                await waiting(postgres, adding)
                draining = asyncio.ensure_future(store.drained())
                await asyncio.sleep(0.15)
                done = draining.done()
            await adding
            await draining
            return done, await store.head(table.game)

        assert run(race()) == (False, (0, summary.head))


def test_drained_waits_for_a_statement_that_has_looked_at_the_clock(postgres: str) -> None:
    clock = DatabaseClock(postgres, MOMENT)
    with postgres_at(postgres) as store:
        table = new_game_at(store)

        async def race() -> tuple[bool, bool]:
            with clock.stopping():
                said_ = store.add_statement(gift(table, 0, at=AT), deadline=None, after=None, outages=0)
                adding = asyncio.ensure_future(said_)
                await waiting(postgres, adding)
                draining = asyncio.ensure_future(store.drained())
                await asyncio.sleep(0.15)
                done = draining.done()
            kept = await adding
            await draining
            return done, kept

        assert run(race()) == (False, True)


def test_the_age_is_judged_when_the_row_is_held(postgres: str) -> None:
    """An append that waits for its row grows old meanwhile."""
    clock = DatabaseClock(postgres, MOMENT)
    with postgres_at(postgres) as store, another(postgres) as slow:
        table = new_game_at(store)
        append = replace(next_line(table, 0), at=AT)
        slow.execute(said.HOLD, said.append_values(append))
        clock_is_late = MOMENT + timedelta(seconds=OLDEST, microseconds=1)

        async def race() -> object:
            appending_ = asyncio.ensure_future(store.append(append))
            await waiting(postgres, appending_)
            clock.show(clock_is_late)
            slow.execute("COMMIT")
            return (await asyncio.gather(appending_, return_exceptions=True))[0]

        assert isinstance(run(race()), StaleDecisionError)
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)


def test_a_beat_says_the_time_of_the_database(postgres: str) -> None:
    clock = DatabaseClock(postgres, datetime(2026, 3, 4, 5, 6, 7, 999_999, tzinfo=UTC))
    with postgres_at(postgres) as store:
        assert run(store.beat(Way.HTTP, FIRST)) == (FIRST, "2026-03-04T05:06:07Z")
        clock.show(MOMENT)
        assert run(store.beat(Way.HTTP, AT)) == (FIRST, AT)


def test_a_queue_that_cannot_be_drained_is_reported(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    with postgres_at(postgres) as store, another(postgres) as slow:
        slow.execute("SELECT pg_current_xact_id()")
        with pytest.raises(StorageError, match="under way"):
            run(store.drained())
        slow.execute("COMMIT")
        run(store.drained())


def new_game_at(store: PostgresStore) -> Table:
    """A new game, decided when the clock of these tests shows `MOMENT`."""
    table = Table(seed=9).begin().play(4)
    run(store.add_game(NewGame(append_summary(table), table.lines[0], "5e" * 32, "alice", now(), outages=0)))
    return table
