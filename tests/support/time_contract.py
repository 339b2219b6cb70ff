"""The tests of time that every store must pass: deadlines, ages, statements about games, beats and outages."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, NewGame
from hkoji_server.store.tables import KeptStatement
from hkoji_server.store.time_contract import OLDEST, StaleDecisionError

from hkoji.errors import ConflictError, IllegalError, NotFoundError, RevokedError, UsageError
from hkoji.game.clock import Outage, Way, format_time, parse_time
from hkoji.log.canonical import JsonValue
from hkoji.log.line import Line, make_entry
from hkoji.log.private_key import PrivateKey
from tests.support.loops import run
from tests.support.rows import a_player, a_retired_key, a_statement, replace
from tests.support.table import AT, Table
from tests.support.timed_table import later
from tests.support.times import log_time, now
from tests.support.waiting_contract import new_game, next_line

ClockSetter = Callable[[datetime], None]
Clocked = Callable[[datetime], AbstractContextManager[tuple[Store, ClockSetter]]]
"""Opens a store by whose clock, which is set, decisions are judged."""

MOMENT = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
FIRST, SECOND, THIRD = "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"


def gift(table: Table, seq: int, seconds: int | None = 3600, **changes: Any) -> KeptStatement:  # Any: fields by name
    """A gift of bob's for the entry after number `seq`."""
    made = a_statement(table.game, table.lines[seq].entry.head, "give", "bob", seconds, "c2ln", now())
    return replace(made, **changes)


def annulment(table: Table, seq: int, name: str) -> KeptStatement:
    """A player's wish to call the game off."""
    return gift(table, seq, None, kind="annul", name=name)


def received(table: Table, seq: int, at: str) -> Line:
    """The line of entry number `seq`, with a receipt of that time, as the store sees it."""
    line = table.lines[seq]
    assert line.receipt is not None
    receipt = line.receipt.receipt
    text = receipt.text.replace(f'"at":"{receipt.at}"', f'"at":"{at}"')
    return line._replace(receipt=line.receipt._replace(receipt=receipt._replace(at=at, text=text)))


def taken(table: Table, seq: int, at: str) -> Append:
    """The append of the line after entry number `seq`, with the time of record `at`."""
    return replace(next_line(table, seq, updated=at), lines=(received(table, seq + 1, at),))


async def record(store: Store, begin: str, until: str) -> None:
    """Records an outage of that time in a store without a later one."""
    await store.add_outage(Outage(begin, until, Way.HTTP), until)


def state(store: Store, table: Table) -> tuple[object, ...]:
    """The rows that a refused write must leave as they are."""
    game = table.game
    return run(store.summary(game)), run(store.lines(game)), run(store.statements(game)), run(store.outages())


class TimeContract:
    """The promises of `hkoji_server.store.time_contract`."""

    # --- what an append was decided with --------------------------------------------------------------------------

    @pytest.mark.parametrize("deadline", [None, FIRST])
    def test_an_append_that_was_decided_with_another_deadline_changes_nothing(
        self, store: Store, deadline: str | None
    ) -> None:
        table = new_game(store, 1, deadline=deadline)
        append = next_line(table, 0, deadline=SECOND)
        before = state(store, table)
        for other in {None, FIRST, THIRD} - {deadline}:
            with pytest.raises(StaleDecisionError) as raised:
                run(store.append(replace(append, deadline=other)))
            assert raised.value.game == table.game
            assert state(store, table) == before
        run(store.append(replace(append, deadline=deadline)))
        summary = run(store.summary(table.game))
        assert summary is not None
        assert (summary.seq, summary.deadline) == (1, SECOND)

    def test_an_append_that_was_decided_without_an_outage_changes_nothing(self, store: Store) -> None:
        table = new_game(store, 1)
        run(record(store, "2026-11-25T00:00:00Z", "2026-11-25T01:00:00Z"))
        run(record(store, "2026-11-26T00:00:00Z", "2026-11-26T01:00:00Z"))
        append = next_line(table, 0)
        before = state(store, table)
        for outages in (0, 1):
            with pytest.raises(StaleDecisionError):
                run(store.append(replace(append, outages=outages)))
            assert state(store, table) == before
        run(store.append(replace(append, outages=2)))
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)

    def test_a_new_game_that_was_decided_without_an_outage_is_not_added(self, store: Store) -> None:
        other = new_game(store, 1)
        run(record(store, "2026-11-25T00:00:00Z", "2026-11-25T01:00:00Z"))
        table = Table(seed=2)
        summary = run(store.summary(other.game))
        assert summary is not None
        new = NewGame(
            summary._replace(game=table.game, head=table.lines[0].entry.head, deadline=FIRST),
            table.lines[0],
            "5e" * 32,
            "alice",
            now(),
            outages=0,
        )
        with pytest.raises(StaleDecisionError):
            run(store.add_game(new))
        assert run(store.summary(table.game)) is None
        assert run(store.lines(table.game)) == ()
        run(store.add_game(replace(new, outages=1)))
        assert run(store.summary(table.game)) == new.summary
        assert run(store.lines(table.game)) == (table.lines[0],)

    def test_another_head_and_a_revoked_key_are_told_from_a_stale_decision(self, store: Store) -> None:
        """Also where the deadline, the outages and the age differ too."""
        key = PrivateKey.from_seed(b"\x01" * 32).public.text
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        table = new_game(store, 1)
        append = next_line(table, 0)
        run(store.append(append))
        for stale in (
            append,
            replace(append, deadline=FIRST),
            replace(append, outages=7),
            replace(append, at=now(-OLDEST - 5)),
        ):
            with pytest.raises(ConflictError) as raised:
                run(store.append(stale))
            assert (raised.value.seq, raised.value.head) == (1, table.lines[1].entry.head)
        with pytest.raises(NotFoundError):
            run(store.append(replace(append, game="0" * 32, outages=7)))
        run(store.revoke_key(a_retired_key(key, "alice", AT, True)))
        with pytest.raises(RevokedError):
            run(store.append(replace(next_line(table, 1), key=key, deadline=FIRST)))
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)

    # --- ages -----------------------------------------------------------------------------------------------------

    def test_a_decision_may_be_a_minute_old_and_no_older(self, clocked: Clocked) -> None:
        with clocked(MOMENT) as (store, show):
            table = new_game(store, 1)
            show(MOMENT + timedelta(seconds=OLDEST, microseconds=1))
            before = state(store, table)
            append = replace(next_line(table, 0), at=AT)
            for late in (append, lambda: append):  # also one that is decided in a thread of the store
                with pytest.raises(StaleDecisionError):
                    run(store.append(late))
            with pytest.raises(StaleDecisionError):
                run(store.add_statement(gift(table, 0, at=AT), deadline=None, after=None, outages=0))
            assert state(store, table) == before
            show(MOMENT + timedelta(seconds=OLDEST))
            assert run(store.add_statement(gift(table, 0, at=AT), deadline=None, after=None, outages=0))
            run(store.append(append))
            # A time of the future is not old. Decisions are raised to the entry before and to the end of an outage.
            show(MOMENT - timedelta(days=1))
            run(store.append(replace(next_line(table, 1), at=AT)))
            assert run(store.head(table.game)) == (2, table.lines[2].entry.head)

    def test_a_new_game_may_be_a_minute_old_and_no_older(self, clocked: Clocked) -> None:
        with clocked(MOMENT) as (store, show):
            summary = run(store.summary(new_game(store, 1).game))
            assert summary is not None
            table = Table(seed=2)
            new = NewGame(summary._replace(game=table.game), table.lines[0], "5e" * 32, "alice", AT, outages=0)
            show(MOMENT + timedelta(seconds=OLDEST, microseconds=1))
            with pytest.raises(StaleDecisionError):
                run(store.add_game(new))
            assert run(store.summary(table.game)) is None
            show(MOMENT + timedelta(seconds=OLDEST))
            run(store.add_game(new))
            assert run(store.lines(table.game)) == (table.lines[0],)

    def test_after_drained_nothing_is_written_that_is_over_a_minute_older(self, clocked: Clocked) -> None:
        with clocked(MOMENT) as (store, show):
            table = new_game(store, 1)
            show(MOMENT + timedelta(seconds=2 * OLDEST))
            run(store.drained())
            with pytest.raises(StaleDecisionError):
                run(store.append(replace(next_line(table, 0), at=log_time(MOMENT + timedelta(seconds=OLDEST - 1)))))
            run(store.append(replace(next_line(table, 0), at=log_time(MOMENT + timedelta(seconds=OLDEST)))))

    # --- deadlines ------------------------------------------------------------------------------------------------

    def test_overdue_games_come_by_their_deadlines(self, store: Store) -> None:
        third, none, first, second, tomorrow = (
            new_game(store, seed, deadline=deadline)
            for seed, deadline in enumerate((THIRD, None, FIRST, SECOND, "2026-11-24T00:00:00Z"))
        )
        assert run(store.overdue(Way.HTTP, later(THIRD, 1), 10)) == (first.game, second.game, third.game)
        assert run(store.overdue(Way.HTTP, THIRD, 10)) == (
            first.game,
            second.game,
        )  # not the one whose last second it is
        assert run(store.overdue(Way.HTTP, later(THIRD, 1), 2)) == (first.game, second.game)
        assert run(store.overdue(Way.HTTP, FIRST, 10)) == ()
        run(store.append(replace(next_line(first, 0, deadline=None, status="finished"), deadline=FIRST)))
        assert run(store.overdue(Way.HTTP, "2026-12-01T00:00:00Z", 10)) == (second.game, third.game, tomorrow.game)
        assert run(store.summary(none.game)) is not None

    def test_a_game_whose_deadline_moves_on_is_looked_at_once(self, store: Store) -> None:
        """A look takes it off the list until its deadline, so that most moves need not change the index of the list."""
        moved, still = new_game(store, 1, deadline=FIRST), new_game(store, 2, deadline=SECOND)
        head = moved.lines[1].entry.head
        run(store.append(replace(next_line(moved, 0, deadline=THIRD), deadline=FIRST)))
        assert run(store.overdue(Way.HTTP, later(FIRST, 1), 10)) == (moved.game,)
        run(store.set_deadline(moved.game, head, THIRD, THIRD))
        assert run(store.overdue(Way.HTTP, THIRD, 10)) == (still.game,)
        assert run(store.overdue(Way.HTTP, later(THIRD, 1), 10)) == (still.game, moved.game)

    @pytest.mark.parametrize("before", [None, THIRD])
    def test_a_game_whose_deadline_comes_earlier_is_never_missed(self, store: Store, before: str | None) -> None:
        table = new_game(store, 1, deadline=before)
        run(store.append(replace(next_line(table, 0, deadline=FIRST), deadline=before)))
        assert run(store.overdue(Way.HTTP, FIRST, 10)) == ()
        assert run(store.overdue(Way.HTTP, later(FIRST, 1), 10)) == (table.game,)
        run(store.append(replace(next_line(table, 1, deadline=None), deadline=FIRST)))
        assert run(store.overdue(Way.HTTP, "2999-01-01T00:00:00Z", 10)) == ()

    def test_a_deadline_is_changed_where_it_and_the_head_are_as_they_were(self, store: Store) -> None:
        table = new_game(store, 1, deadline=FIRST)
        head, before = table.lines[0].entry.head, state(store, table)
        with pytest.raises(StaleDecisionError):
            run(store.set_deadline(table.game, head, SECOND, THIRD))
        with pytest.raises(StaleDecisionError):
            run(store.set_deadline(table.game, head, None, THIRD))
        with pytest.raises(ConflictError) as raised:
            run(store.set_deadline(table.game, table.lines[1].entry.head, FIRST, THIRD))
        assert (raised.value.seq, raised.value.head) == (0, head)
        with pytest.raises(NotFoundError):
            run(store.set_deadline("0" * 32, head, FIRST, THIRD))
        assert state(store, table) == before
        run(store.set_deadline(table.game, head, FIRST, THIRD))
        summary = run(store.summary(table.game))
        assert summary == before[0]._replace(deadline=THIRD)  # type: ignore[attr-defined] # it is a summary
        assert run(store.overdue(Way.HTTP, later(THIRD, 1), 10)) == (table.game,)
        run(store.set_deadline(table.game, head, THIRD, None))
        assert run(store.overdue(Way.HTTP, "2999-01-01T00:00:00Z", 10)) == ()

    # --- statements about games -----------------------------------------------------------------------------------

    def test_a_gift_changes_the_deadline_and_no_append_misses_it(self, store: Store) -> None:
        table = new_game(store, 1, deadline=FIRST)
        given = gift(table, 0)
        assert run(store.add_statement(given, deadline=FIRST, after=SECOND, outages=0))
        assert run(store.statements(table.game)) == (given,)
        before = state(store, table)
        with pytest.raises(StaleDecisionError):
            run(store.append(replace(next_line(table, 0), deadline=FIRST)))
        assert state(store, table) == before
        history = run(store.history(table.game))
        assert history is not None
        assert (history.deadline, history.statements) == (SECOND, (given,))
        run(store.append(replace(next_line(table, 0), deadline=history.deadline)))

    def test_the_largest_gift_is_kept(self, store: Store) -> None:
        table = new_game(store, 1, deadline=FIRST)
        hour = gift(table, 0, 3600)
        assert run(store.add_statement(hour, deadline=FIRST, after=SECOND, outages=0))
        before = state(store, table)
        for again in (hour, replace(hour, at=now(1)), replace(hour, seconds=1, sig="b3RoZXI=")):
            assert not run(store.add_statement(again, deadline=SECOND, after=THIRD, outages=0))
            assert state(store, table) == before
        more = gift(table, 0, 7200, sig="bW9yZQ==")
        assert run(store.add_statement(more, deadline=SECOND, after=THIRD, outages=0))
        assert run(store.statements(table.game)) == (more,)
        summary = run(store.summary(table.game))
        assert summary is not None
        assert summary.deadline == THIRD

    def test_a_statement_that_was_decided_with_something_else_is_not_kept(self, store: Store) -> None:
        table = new_game(store, 1, deadline=FIRST)
        run(record(store, "2026-11-25T00:00:00Z", "2026-11-25T01:00:00Z"))
        before = state(store, table)
        for said in (gift(table, 0), annulment(table, 0, "alice")):
            for deadline, outages in ((SECOND, 1), (None, 1), (FIRST, 0)):
                with pytest.raises(StaleDecisionError):
                    run(store.add_statement(said, deadline=deadline, after=THIRD, outages=outages))
            other = replace(said, head=table.lines[1].entry.head)
            with pytest.raises(ConflictError) as raised:
                run(store.add_statement(other, deadline=FIRST, after=THIRD, outages=1))
            assert (raised.value.seq, raised.value.head) == (0, table.lines[0].entry.head)
            with pytest.raises(NotFoundError):
                run(store.add_statement(replace(said, game="0" * 32), deadline=FIRST, after=THIRD, outages=1))
        assert state(store, table) == before

    def test_one_annulment_is_kept_and_the_others_is_not(self, store: Store) -> None:
        """The second player's is the end of the game, and its transaction is an append."""
        table = new_game(store, 1, deadline=FIRST)
        alice, bob = annulment(table, 0, "alice"), annulment(table, 0, "bob")
        assert run(store.add_statement(alice, deadline=FIRST, after=FIRST, outages=0))
        assert not run(store.add_statement(alice, deadline=FIRST, after=FIRST, outages=0))
        before = state(store, table)
        with pytest.raises(StaleDecisionError):
            run(store.add_statement(bob, deadline=FIRST, after=FIRST, outages=0))
        assert state(store, table) == before
        # Once it is withdrawn, or is about an entry that has passed, the other may say it first.
        assert run(store.remove_statement(table.game, alice.head, "annul", "alice"))
        assert not run(store.remove_statement(table.game, alice.head, "annul", "alice"))
        assert run(store.add_statement(bob, deadline=FIRST, after=FIRST, outages=0))
        run(store.append(replace(next_line(table, 0, deadline=FIRST), deadline=FIRST)))
        assert run(store.add_statement(annulment(table, 1, "alice"), deadline=FIRST, after=FIRST, outages=0))

    def test_of_two_annulments_at_once_one_is_kept(self, store: Store) -> None:
        table = new_game(store, 1)

        async def race(seq: int) -> list[bool | BaseException]:
            said = [annulment(table, seq, name) for name in ("alice", "bob")]
            tries = (store.add_statement(each, deadline=None, after=None, outages=0) for each in said)
            return await asyncio.gather(*tries, return_exceptions=True)

        for seq in range(4):
            results = run(race(seq))
            assert results.count(True) == 1, results
            assert sum(isinstance(each, StaleDecisionError) for each in results) == 1, results
            assert len(run(store.statements(table.game))) == seq + 1
            run(store.append(next_line(table, seq)))

    @pytest.mark.parametrize("status", ["finished", "cancelled"])
    def test_an_append_that_ends_a_game_forgets_what_was_said_about_it(self, store: Store, status: str) -> None:
        table, other = new_game(store, 1), new_game(store, 2)
        for each in (table, other):
            assert run(store.add_statement(gift(each, 0), deadline=None, after=None, outages=0))
        run(store.append(next_line(table, 0)))
        assert len(run(store.statements(table.game))) == 1
        run(store.append(next_line(table, 1, status=status)))
        assert run(store.statements(table.game)) == ()
        assert len(run(store.statements(other.game))) == 1

    def test_an_offer_is_removed_with_what_was_said_about_it(self, store: Store) -> None:
        table = new_game(store, 1)
        assert run(store.add_statement(gift(table, 0), deadline=None, after=None, outages=0))
        assert run(store.remove_expired(AT, "2999-01-01T00:00:00Z", 10)).offers == 1
        assert (run(store.summary(table.game)), run(store.statements(table.game))) == (None, ())

    # --- beats and outages ----------------------------------------------------------------------------------------

    def test_a_beat_never_goes_back(self, store: Store) -> None:
        assert run(store.last_beat(Way.HTTP)) is None
        for at, noted in ((SECOND, SECOND), (FIRST, SECOND), (SECOND, SECOND), (THIRD, THIRD)):
            assert run(store.beat(Way.HTTP, at)).at == noted
            assert run(store.last_beat(Way.HTTP)) == noted

    def test_a_gap_begins_after_all_that_was_taken(self, store: Store) -> None:
        run(store.beat(Way.HTTP, FIRST))
        new_game(store, 1, updated="2026-11-20T00:00:00Z")
        until = later(FIRST, 600)
        assert run(store.close_gap(Way.HTTP, FIRST, until)) == Outage(later(FIRST, 1), until, Way.HTTP)
        assert run(store.last_beat(Way.HTTP)) == until
        # A game that was changed after the last beat: the gap begins after that.
        table = new_game_after(store, later(until, 40), Way.HTTP)
        end = later(until, 700)
        assert run(store.close_gap(Way.HTTP, until, end)) == Outage(later(until, 41), end, Way.HTTP)
        assert run(store.outages()) == (
            Outage(later(FIRST, 1), until, Way.HTTP),
            Outage(later(until, 41), end, Way.HTTP),
        )
        assert run(store.last_beat(Way.HTTP)) == end
        assert run(store.head(table.game)) is not None
        # The operator has recorded one after the last beat: the gap begins after that one, and does not touch it.
        run(store.add_outage(Outage(later(end, 100), later(end, 200), Way.HTTP), later(end, 300)))
        assert run(store.close_gap(Way.HTTP, end, later(end, 400))) == Outage(
            later(end, 201), later(end, 400), Way.HTTP
        )

    def test_each_way_has_a_beat_of_its_own(self, store: Store) -> None:
        run(store.beat(Way.MAIL, FIRST))
        assert [run(store.last_beat(way)) for way in (Way.HTTP, Way.MAIL)] == [None, FIRST]
        run(store.beat(Way.HTTP, SECOND))
        assert [run(store.last_beat(way)) for way in (Way.HTTP, Way.MAIL)] == [SECOND, FIRST]

    @pytest.mark.parametrize(("way", "other"), [(Way.HTTP, Way.MAIL), (Way.MAIL, Way.HTTP)])
    def test_a_gap_of_one_way_begins_after_what_came_that_way_only(self, store: Store, way: Way, other: Way) -> None:
        for each in Way:
            run(store.beat(each, FIRST))
        new_game_after(store, later(FIRST, 100), other)
        run(store.add_outage(Outage(later(FIRST, 200), later(FIRST, 300), other), later(FIRST, 400)))
        found = run(store.close_gap(way, FIRST, later(FIRST, 600)))
        assert found == Outage(later(FIRST, 1), later(FIRST, 600), way)
        assert [run(store.last_beat(each)) for each in (way, other)] == [later(FIRST, 600), FIRST]

    def test_an_entry_that_nobody_sent_bounds_no_gap(self, store: Store) -> None:
        """A `seed` that the service sends for a held seat has a mail of the grade `none`."""
        for way in Way:
            run(store.beat(way, FIRST))
        append = taken(new_game(store, 2), 0, later(FIRST, 100))
        run(store.append(replace(append, lines=(by_mail(append.lines[0], "none"),))))
        for way in Way:
            recorded = run(store.close_gap(way, FIRST, later(FIRST, 600)))
            assert recorded == Outage(later(FIRST, 1), later(FIRST, 600), way)

    @pytest.mark.parametrize("way", list(Way))
    def test_an_outage_by_hand_is_bounded_by_its_way_only(self, store: Store, way: Way) -> None:
        other = Way.MAIL if way is Way.HTTP else Way.HTTP
        at, until = later(FIRST, 100), later(FIRST, 300)
        new_game_after(store, at, way)
        with pytest.raises(IllegalError, match=way):
            run(store.add_outage(Outage(at, until, way), until))
        assert run(store.outages()) == ()
        run(store.add_outage(Outage(at, until, other), until))
        run(store.add_outage(Outage(later(at, 1), until, way), until))  # it touches one of the other way
        assert len(run(store.outages())) == 2

    def test_an_append_that_does_not_know_an_outage_of_the_other_way_changes_nothing(self, store: Store) -> None:
        table = new_game(store, 1)
        run(store.add_outage(Outage(FIRST, SECOND, Way.MAIL), SECOND))
        before = state(store, table)
        with pytest.raises(StaleDecisionError):
            run(store.append(next_line(table, 0)))
        assert state(store, table) == before

    def test_a_deadline_is_found_by_its_way(self, store: Store) -> None:
        """Each append says which way it is, also where the time from which the keeper looks could stay."""
        table = new_game(store, 1)
        run(store.append(replace(next_line(table, 0, deadline=FIRST), way=Way.MAIL)))
        assert [run(store.overdue(way, THIRD, 5)) for way in (Way.HTTP, Way.MAIL)] == [(), (table.game,)]
        history = run(store.history(table.game))
        assert history is not None
        assert (history.deadline, history.way) == (FIRST, Way.MAIL)
        append = replace(next_line(table, 1, deadline=SECOND), deadline=FIRST, way_before=Way.MAIL)
        run(store.append(append))
        assert [run(store.overdue(way, THIRD, 5)) for way in (Way.HTTP, Way.MAIL)] == [(table.game,), ()]
        assert run(store.overdue(Way.HTTP, SECOND, 5)) == ()

    def test_an_empty_gap_is_none(self, store: Store) -> None:
        assert run(store.close_gap(Way.HTTP, None, FIRST)) is None  # the first start
        assert run(store.last_beat(Way.HTTP)) == FIRST
        assert run(store.close_gap(Way.HTTP, FIRST, later(FIRST, 1))) is None
        beat = later(FIRST, 1)
        assert run(store.last_beat(Way.HTTP)) == beat
        run(store.append(taken(new_game(store, 1), 0, later(beat, 500))))
        assert run(store.close_gap(Way.HTTP, beat, later(beat, 400))) is None
        assert run(store.last_beat(Way.HTTP)) == later(beat, 400)
        assert run(store.close_gap(Way.HTTP, later(beat, 400), FIRST)) is None
        assert run(store.last_beat(Way.HTTP)) == later(beat, 400)  # never back
        assert run(store.outages()) == ()

    def test_of_several_that_find_a_gap_one_records_it(self, store: Store) -> None:
        run(store.beat(Way.HTTP, FIRST))

        async def race() -> list[Outage | BaseException | None]:
            tries = (store.close_gap(Way.HTTP, FIRST, later(SECOND, n)) for n in range(6))
            return await asyncio.gather(*tries, return_exceptions=True)

        results = run(race())
        (recorded,) = (each for each in results if isinstance(each, Outage))
        assert sum(isinstance(each, StaleDecisionError) for each in results) == 5, results
        assert run(store.outages()) == (recorded,)
        assert run(store.last_beat(Way.HTTP)) == recorded.until
        for beat in (None, FIRST, THIRD):
            with pytest.raises(StaleDecisionError):
                run(store.close_gap(Way.HTTP, beat, "2026-12-01T00:00:00Z"))
        assert (run(store.outages()), run(store.last_beat(Way.HTTP))) == ((recorded,), recorded.until)

    def test_an_outage_by_hand_is_over_and_touches_no_other(self, store: Store) -> None:
        first = Outage(FIRST, later(FIRST, 100), Way.HTTP)
        run(store.add_outage(first, later(FIRST, 100)))  # it ends now
        now_ = later(FIRST, 1000)
        for begin, until, error in (
            (later(FIRST, 200), later(FIRST, 1001), UsageError),  # the future
            (later(FIRST, 200), later(FIRST, 200), UsageError),
            (later(FIRST, 300), later(FIRST, 200), UsageError),
            (later(FIRST, 100), later(FIRST, 200), IllegalError),
            (later(FIRST, -50), FIRST, IllegalError),
            (later(FIRST, 10), later(FIRST, 20), IllegalError),
            (later(FIRST, -50), later(FIRST, 150), IllegalError),
            (FIRST, later(FIRST, 100), IllegalError),
        ):
            with pytest.raises(error):
                run(store.add_outage(Outage(begin, until, Way.HTTP), now_))
            assert run(store.outages()) == (first,)
        before, after = (
            Outage(later(FIRST, -50), later(FIRST, -1), Way.HTTP),
            Outage(later(FIRST, 101), later(FIRST, 200), Way.HTTP),
        )
        run(store.add_outage(after, now_))
        run(store.add_outage(before, now_))
        assert run(store.outages()) == (before, first, after)

    def test_no_entry_lies_within_an_outage_by_hand(self, store: Store) -> None:
        """The times are those of all receipts, not only of the last ones."""
        table = new_game(store, 1, updated=FIRST)
        times = [FIRST, SECOND, THIRD]
        for seq, at in enumerate(times):
            run(store.append(taken(table, seq, at)))
        now_ = "2026-12-01T00:00:00Z"
        for at in times:
            for begin, until in ((at, later(at, 1)), (later(at, -60), later(at, 60)), (later(at, -60), later(at, 1))):
                with pytest.raises(IllegalError) as raised:
                    run(store.add_outage(Outage(begin, until, Way.HTTP), now_))
                assert at in str(raised.value)
        assert run(store.outages()) == ()
        for at in times:  # until the second of an entry, and from the second after one
            run(store.add_outage(Outage(later(at, -60), at, Way.HTTP), now_))
            run(store.add_outage(Outage(later(at, 1), later(at, 60), Way.HTTP), now_))
        assert len(run(store.outages())) == 6

    def test_no_time_of_record_lies_within_an_outage_however_much_happens_at_once(self, opened: Any) -> None:
        """Two stores that append, begin games and record gaps: a clock that goes on at each look stands for time."""
        rng = random.Random(5)
        clock = [parse_time("2999-01-01T00:00:00Z")]  # never old
        times: list[str] = []

        def look() -> str:
            clock[0] += rng.randrange(3)
            return format_time(clock[0])

        async def decide(store: Store) -> tuple[str, int]:
            known = await store.outages()
            at = max([look(), *(each.until for each in known)])
            await asyncio.sleep(rng.random() * 0.002)  # signatures
            return at, len(known)

        async def append_all(store: Store, table: Table) -> None:
            for seq in range(len(table.lines) - 1):
                while True:
                    at, outages = await decide(store)
                    try:
                        await store.append(replace(taken(table, seq, at), at=at, outages=outages))
                    except StaleDecisionError:
                        continue
                    times.append(at)
                    break

        async def record_all(store: Store) -> int:
            recorded = 0
            for _ in range(12):
                beat = await store.last_beat(Way.HTTP)
                clock[0] += 5
                await asyncio.sleep(rng.random() * 0.004)
                try:
                    recorded += await store.close_gap(Way.HTTP, beat, look()) is not None
                except StaleDecisionError:
                    continue
            return recorded

        async def race(one: Store, two: Store, tables: list[Table]) -> int:
            await one.beat(Way.HTTP, look())
            appends = (append_all(store, table) for store, table in zip((one, two) * 3, tables, strict=True))
            *_, first, second = await asyncio.gather(*appends, record_all(one), record_all(two))
            return (first or 0) + (second or 0)

        with opened() as one, opened() as two:
            tables = [new_game(one, seed) for seed in range(6)]
            assert run(race(one, two, tables)) >= 3
            outages = run(two.outages())
        assert len(times) == sum(len(table.lines) - 1 for table in tables)
        for at in times:
            assert not any(outage.holds(at) for outage in outages), at
        for before, after in itertools.pairwise(outages):
            assert before.until < after.begin


def new_game_after(store: Store, at: str, way: Way) -> Table:
    """A game with a player's entry that came that way and has the time of record `at`, in a store with outages."""
    table = Table(seed=9).begin().play(4)
    outages = len(run(store.outages()))
    run(store.add_game(NewGame(append_summary(table), table.lines[0], "5e" * 32, "alice", now(), outages=outages)))
    append = replace(taken(table, 0, at), outages=outages)
    run(store.append(append if way is Way.HTTP else replace(append, lines=(by_mail(append.lines[0]),))))
    return table


def by_mail(line: Line, grade: str = "token") -> Line:
    """The line as if its entry had come by mail, as the store sees it."""
    entry = line.entry
    mail: dict[str, JsonValue] = {"commit": None if grade == "none" else "0" * 64, "grade": grade}
    body: dict[str, JsonValue] = {**entry.body, "mail": mail}
    made = make_entry(
        at=entry.at,
        body=body,
        by=entry.by,
        game=entry.game,
        kind=entry.kind,
        prev=entry.prev,
        seen=entry.seen,
        seq=entry.seq,
    )
    return line._replace(entry=made)


def append_summary(table: Table) -> Any:  # Any: a summary, which `next_line` makes
    """The summary of a game's first line."""
    append: Append = next_line(table, 0)
    return append.summary._replace(seq=0, head=table.lines[0].entry.head, status="offered", host=None, guest=None)
