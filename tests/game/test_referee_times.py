"""The referee keeps the clocks: docs/spec/log.md, "Time". All that it writes passes the audit, as does each prefix."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.log_audit import audit
from hkoji.game.agreement import UNTIMED, Agreement, TimeControl
from hkoji.game.clock import Outage, Way, parse_time
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Annul, Credit, Invite, Lapse, Resign, Timeout
from hkoji.log.line import format_log
from hkoji.rules.events import Outcome
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.forgery import every_pin
from tests.support.rules import fewer
from tests.support.table import AT, refused
from tests.support.timed_table import TimedTable, later, timed_game, too_late

DAY = 86400
CONTROLS = (
    TimeControl(60, 120, 0, 120),
    TimeControl(0, 600, 30, 900),
    TimeControl(3600, 0, 0, 0),
    TimeControl(DAY, 2 * DAY, 3600, 3 * DAY, "67", "+01:00"),
    TimeControl(0, 5 * DAY, 0, 5 * DAY, "123", "-11:45"),
)
RULESETS: tuple[Ruleset, ...] = (
    Hanamikoji(),
    Hanamikoji("random", 2, "charm"),
    GeishasRoad(),
    GeishasRoad("random", "random"),
)


def holds(table: TimedTable, *, prefixes: bool = False) -> None:
    """Checks that the log passes the audit, with receipts and without; `prefixes` checks each beginning too."""
    pins = every_pin(table)
    for receipts in (True, False):
        for count in range(1 if prefixes else len(table.lines), len(table.lines) + 1):
            result = audit(format_log(table.lines[:count], receipts=receipts), pins)
            assert result.findings == ()
            assert result.holds == count


def seconds_left(table: TimedTable) -> int:
    """The seconds from now to the deadline."""
    due = table.deadline()
    assert due is not None
    return parse_time(due) - parse_time(table.now)


class Play:
    """A random game: who must act waits, perhaps gets time, perhaps loses time to an outage, and moves or is late."""

    def __init__(self, data: st.DataObject, table: TimedTable) -> None:
        self.draw, self.table = data.draw, table

    def step(self) -> None:
        """One entry that somebody owes, or the end of the game."""
        table = self.table
        actor = table.course.actor
        assert actor is not None
        what = self.draw(st.sampled_from(("plain", "plain", "gift", "outage", "both", "rekey", "odd")))
        if what in ("gift", "both"):
            table.give_time(self.draw(st.sampled_from((1, 59, 7200, 2 * DAY))))
        if what == "rekey" and not table.course.rekeyed:
            table.rekey(actor)
        if what in ("outage", "both"):
            begin = self.draw(st.integers(1, 40))
            until = begin + self.draw(st.integers(1, 90))
            table.lose(begin, until)
            table.wait(until)
        if what == "odd":
            self.nonsense()
        left = seconds_left(table)
        if left < 0 or self.draw(st.integers(0, 11)) == 0:  # an outage that began after D saves nobody
            self.lose(left)
            return
        table.wait(self.draw(st.integers(0, left) | st.just(left)))
        self.act()

    def act(self) -> None:
        """The entry that is due, now."""
        table = self.table
        actor = table.course.actor
        assert actor is not None
        if table.course.seed_seat is not None:
            table.reveal_seed(actor)
        else:
            table.send(table.move(self.draw(st.sampled_from(table.course.state.legal_actions()))))

    def nonsense(self) -> None:
        """Statements that the service knows and must not use: gifts at past heads, and an outage of before the turn."""
        table = self.table
        table.gifts += (table.gift(10 * DAY, table.lines[-2].entry.prev),)
        before = parse_time(table.now) - parse_time(AT)
        if before > 100:
            table.lose(-before - 50, -before - 20)

    def lose(self, left: int) -> None:
        """A second too late: the move is refused, and the timeout is not."""
        table = self.table
        table.wait(max(left, 0))
        if left >= 0:
            refused(table, table.time_out, errors.NotOverdueError)
        table.wait(1)
        refused(table, self.act, errors.TimeOverError)
        table.time_out()


@fewer
@given(st.data(), st.integers(0, 10**6), st.sampled_from(RULESETS), st.sampled_from(CONTROLS))
def test_every_entry_of_the_referee_passes_the_audit(
    data: st.DataObject, seed: int, ruleset: Ruleset, control: TimeControl
) -> None:
    table = TimedTable(ruleset, seed, agreement=Agreement(control, rated=True))
    table.open()
    table.wait(data.draw(st.integers(0, DAY))).join()
    play = Play(data, table)
    for _ in range(data.draw(st.integers(1, 30))):
        if table.course.actor is None:
            break
        play.step()
    holds(table, prefixes=data.draw(st.integers(0, 9)) == 0)
    outages = [
        outage
        for line in table.lines
        for outage in line.entry.body.get("outages", [])  # type: ignore[union-attr] # a list in a credit
    ]
    times = [line.receipt.receipt.at for line in table.lines if line.receipt]
    assert times == sorted(times)
    for outage in outages:
        assert not any(outage["from"] <= at < outage["until"] for at in times)  # type: ignore[index, call-overload, operator]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("stage", [Stage.GUEST_SEED, Stage.HOST_SEED, Stage.PLAY])
def test_an_entry_at_the_deadline_is_taken_and_one_a_second_later_is_not(control: TimeControl, stage: Stage) -> None:
    table = TimedTable(seed=4, agreement=Agreement(control))
    table.open()
    table.wait(7).join()
    act: Callable[[], object] = lambda: table.send(table.move(table.course.state.legal_actions()[0]))  # noqa: E731
    for seat in (1, 0):
        if table.course.stage is not stage:
            table.wait(11).reveal_seed(seat)
        elif table.course.seed_seat == seat:
            act = lambda seat=seat: table.reveal_seed(seat)  # type: ignore[misc] # noqa: E731
            break
    due, late = table.deadline(), too_late(table)
    assert due is not None
    table.now = late
    error = refused(table, act, errors.TimeOverError)
    assert (error.code, due in error.message) == ("time-over", True)
    table.now = due
    refused(table, table.time_out, errors.NotOverdueError)
    act()
    assert table.refereed.at == due
    holds(table, prefixes=True)


def test_a_timeout_names_who_owes_the_entry_and_the_other_wins() -> None:
    for moves in (0, 1, 2):
        table = timed_game(5).play(moves)
        actor = table.course.actor
        assert actor is not None
        table.now = too_late(table)
        table.time_out()
        assert [line.entry.kind for line in table.lines[-2:]] == ["timeout", "end"]
        assert table.lines[-2].entry.body == Timeout(actor).to_json()
        assert table.course.outcome == Outcome("timeout", 1 - actor)
        refused(table, table.time_out, errors.GameOverError)
        holds(table, prefixes=True)


def test_a_game_without_a_clock_is_never_over_by_time() -> None:
    table = TimedTable(seed=5, agreement=UNTIMED)
    table.begin().wait(100 * 366 * DAY)
    assert table.deadline() is None
    refused(table, table.time_out, errors.NotOverdueError)
    table.give_time(60)
    table.play(1)
    assert table.lines[-1].entry.kind == "move"
    holds(table)


def test_resigning_and_a_new_key_are_judged_by_no_deadline() -> None:
    table = timed_game(6)
    table.now = later(too_late(table), 1000)
    table.rekey(0)
    refused(table, table.move(table.course.state.legal_actions()[0]), errors.TimeOverError, table.now)
    table.send(table.entry(0, Resign()))
    assert table.course.outcome == Outcome("resign", 1)
    holds(table, prefixes=True)


def test_credits_are_the_largest_gift_and_all_outages_of_the_turn() -> None:
    table = timed_game(7)
    due = table.deadline()
    assert due is not None
    table.give_time(10)
    largest = table.give_time(50)
    table.give_time(30)
    first, second = table.lose(5, 25), table.lose(40, 41)
    assert table.deadline() == later(due, 50 + 20 + 1)
    table.now = later(due, 71)
    table.lose(0, 60)  # T is never in an outage, so the move comes at its end, with 60 seconds more
    assert table.deadline() == later(due, 131)
    table.play(1)
    credit = table.lines[-1]
    assert table.refereed.at == later(due, 131)
    assert table.last_body() == Credit(largest, (first, second, Outage(later(due, 71), later(due, 131), Way.HTTP)))
    assert credit.entry.at == credit.entry.seen == later(due, 131)
    holds(table, prefixes=True)


def test_gifts_of_past_heads_are_ignored() -> None:
    table = timed_game(8)
    given = table.give_time(1000)
    table.play(1)
    assert table.last_body() == Credit(given, ())
    due = table.deadline()
    assert due is not None
    for head in (given.head, table.lines[-2].entry.head, table.lines[0].entry.head):
        table.gifts += (table.gift(5000, head),)
    assert table.deadline() == due
    table.now = later(due, 1)
    refused(table, table.move(table.course.state.legal_actions()[0]), errors.TimeOverError, table.now)
    table.now = due
    table.play(1)
    assert table.lines[-1].entry.kind != "credit"
    holds(table, prefixes=True)


@pytest.mark.parametrize("by_service", [False, True])
def test_a_gift_stays_good_over_a_new_key_of_who_must_act(*, by_service: bool) -> None:
    table = timed_game(9)
    due, given = table.deadline(), table.give_time(600)
    assert due is not None
    table.wait(20)
    if by_service:
        table.revoke(0)
    else:
        table.rekey(0)
    assert table.deadline() == later(due, 600)
    table.now = later(due, 600)
    table.play(1)
    assert table.last_body() == Credit(given, ())
    holds(table, prefixes=True)


def test_nobody_joins_after_the_offer_has_expired() -> None:
    expires = later(AT, 3600)
    table = TimedTable(seed=10, agreement=UNTIMED._replace(expires=expires))
    table.open()
    assert table.deadline() == expires
    table.now = later(expires, 1)
    refused(table, table.join, errors.TimeOverError)
    table.now = expires
    refused(table, lambda: table.lapse("expired"), errors.NotOverdueError)
    table.join()
    refused(table, lambda: table.lapse("expired"), errors.NotOverdueError)
    table.now = later(expires, 1)
    refused(table, lambda: table.lapse("expired"), errors.IllegalError)
    table.reveal_seeds()
    holds(table, prefixes=True)


@pytest.mark.parametrize("reason", ["expired", "declined"])
def test_an_open_game_lapses_once(reason: str) -> None:
    table = TimedTable(seed=11, agreement=UNTIMED._replace(expires=later(AT, 60)))
    table.wait(61)
    refused(table, lambda: table.lapse(reason), errors.IllegalError)  # nobody has opened it
    table.open(Invite("bob", None))
    table.lapse(reason)
    assert table.lines[-2].entry.body == Lapse(reason).to_json()
    assert (table.course.status, table.course.outcome) == ("cancelled", Outcome("cancel", None))
    refused(table, lambda: table.lapse(reason), errors.GameOverError)
    refused(table, table.join, errors.GameOverError)
    holds(table, prefixes=True)


def test_a_game_is_called_off_until_the_deadline() -> None:
    table = timed_game(12).play(3)
    actor, due = table.course.actor, table.deadline()
    assert actor is not None
    assert due is not None
    given = table.give_time(100)
    table.now = later(due, 101)
    refused(table, table.call_off, errors.TimeOverError)
    table.now = later(due, 100)
    sigs = table.calls_off(0), table.calls_off(1)
    table.call_off()
    annul, end = table.lines[-2:]
    assert (annul.entry.kind, end.entry.kind, annul.entry.at, end.entry.at) == ("annul", "end", table.now, table.now)
    assert annul.entry.body == Annul(given, (), actor, sigs).to_json()
    assert table.course.outcome == Outcome("cancel", None)
    refused(table, table.call_off, errors.GameOverError)
    holds(table, prefixes=True)


def test_a_game_without_a_clock_is_called_off_at_any_time_after_the_join() -> None:
    table = TimedTable(seed=13, agreement=UNTIMED)
    table.open()
    refused(table, table.call_off, errors.IllegalError)
    table.wait(DAY).join()
    table.lose(5, 10)
    table.wait(DAY).call_off()
    assert table.lines[-2].entry.body["outages"] == []
    assert table.course.outcome == Outcome("cancel", None)
    holds(table, prefixes=True)


def test_no_time_of_record_lies_in_an_outage_or_goes_back() -> None:
    table = timed_game(14)
    lost = table.lose(10, 50)
    for before in (0, 10, 30, 49, 50):
        again = timed_game(14)
        again.outages += (lost,)
        again.wait(before).play(1)
        assert again.refereed.at == (AT if before < 10 else lost.until)
        holds(again)
    table.wait(60).play(1)
    at = table.refereed.at
    table.wait(-30).play(1)
    assert table.refereed.at == at
    around = Outage(AT, "2027-01-01T00:00:00Z", Way.HTTP)
    with pytest.raises(errors.NotOverdueError):
        referee.timeout(table.refereed, signer=table.server, at=lost.begin, outages=[around])
    late = referee.timeout(table.refereed, signer=table.server, at="2028-01-01T00:00:00Z", outages=[around])
    assert {line.entry.at for line in late.lines} == {"2028-01-01T00:00:00Z"}
