"""The clock of a sealed game: docs/spec/sealed.md, "Time", with the rules of docs/spec/log.md, "Clock".

A second clock here follows the two pages line by line. The referee, the deadlines that it states and the audit agree
with it, for each kind of debt and in random games.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.log_audit import AuditStep
from hkoji.audit.times import TimedLine, TimedLog
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import Pace, add_seconds, counted
from hkoji.game.dealer import SealedDealer
from hkoji.game.entry_kinds import Annul, ChanceBody, Credit, Release, Resign, Seed, Timeout, parse_body
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue
from hkoji.log.game_statements import make_annul
from hkoji.log.line import Line
from hkoji.rules.events import SEATS, Outcome, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.clock_games import controls
from tests.support.sealed_forgery import fork, found, holds, refused, taken
from tests.support.sealed_table import NAMES, SealedTable
from tests.support.stub_group import without_secrets
from tests.support.timed_sealed_table import TimedSealedTable

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

CONTROL = TimeControl(3600, 7200, 600, 9000)


# --- the clock of the page --------------------------------------------------------------------------------------------


class PageClock:
    """The clock after the entries that were added, by the two pages."""

    def __init__(self, control: TimeControl, joined: str) -> None:
        self.control = control
        self.reserve = [control.bank, control.bank]
        self.p: Seat | None = None
        self.spent = 0
        self.since = joined

    def end_the_turn(self) -> None:
        if self.p is not None:
            over = max(0, self.spent - self.control.move)
            self.reserve[self.p] = max(0, self.reserve[self.p] - over)

    def played(self, q: Seat, at: str, credits: int = 0) -> None:
        """A seed or move."""
        if self.p != q:
            self.end_the_turn()
            self.p = q
            self.reserve[q] = min(self.control.cap, self.reserve[q] + self.control.add)
            self.spent = 0
        self.spent += counted(self.control, self.since, at) - credits
        self.since = at

    def released(self, q: Seat, at: str, credits: int = 0, *, close: bool = False) -> None:
        passed = counted(self.control, self.since, at)
        over = max(0, (self.spent if self.p == q else 0) + passed - credits - self.control.move)
        self.reserve[q] = max(0, min(self.reserve[q], self.reserve[q] + self.control.add - over))
        if self.p is not None and self.p != q:
            self.spent = max(min(self.spent, 0), self.spent - passed)
        self.since = at
        if close:
            self.broken(at)

    def broken(self, at: str) -> None:
        """A chance."""
        self.end_the_turn()
        self.p, self.spent, self.since = None, 0, at

    def left(self, q: Seat, at: str, credits: int = 0) -> int:
        """How many counted seconds a seat has left at a time, for the entry that it owes; below 0 it is late."""
        reserve, spent = self.reserve[q], self.spent
        if self.p != q:
            reserve, spent = min(self.control.cap, reserve + self.control.add), 0
        return self.control.move + reserve - (spent + counted(self.control, self.since, at) - credits)

    @property
    def pace(self) -> Pace:
        """All of it, to be compared."""
        return Pace((self.reserve[0], self.reserve[1]), self.p, self.spent, self.since)

    @classmethod
    def of(cls, control: TimeControl, lines: list[Line]) -> PageClock:
        """The clock after the lines of a log, each of which has a receipt."""
        clock: PageClock | None = None
        for line, behind in zip(lines, [*lines[1:], None], strict=True):
            assert line.receipt is not None
            at, kind = line.receipt.receipt.at, line.entry.kind
            if kind == "join":
                clock = cls(control, at)
            if clock is None:
                continue
            credits = 0 if behind is None or behind.entry.kind != "credit" else credited(control, behind.entry.body)
            if kind in ("seed", "move"):
                clock.played(NAMES.index(line.entry.by), at, credits)
            elif kind == "release":
                clock.released(NAMES.index(line.entry.by), at, credits, close="close" in line.entry.body)
            elif kind in ("chance", "end", "timeout", "annul"):
                clock.broken(at)
        assert clock is not None
        return clock


def credited(control: TimeControl, body: dict[str, JsonValue]) -> int:
    """The seconds of a credit."""
    seconds = 0
    if isinstance(gift := body["gift"], dict):
        assert isinstance(gift["seconds"], int)
        seconds += gift["seconds"]
    assert isinstance(body["outages"], list)
    for outage in body["outages"]:
        assert isinstance(outage, dict)
        seconds += counted(control, str(outage["from"]), str(outage["until"]))
    return seconds


def gift_heads(lines: list[Line]) -> list[str]:
    """The heads that a gift for the entry behind these lines may name."""
    heads = []
    for line, before in zip(reversed(lines), [*reversed(lines[:-1]), None], strict=True):
        heads.append(line.entry.head)
        behind_release = line.entry.kind == "credit" and before is not None and before.entry.kind == "release"
        if line.entry.kind not in ("rekey", "revoke", "delegate", "release") and not behind_release:
            break
    return heads


# --- a table with a clock ---------------------------------------------------------------------------------------------


class ClockedTable(TimedSealedTable):
    """A sealed game with a clock, in which each entry takes a minute."""

    def __init__(self, ruleset: Ruleset, seed: int = 0, control: TimeControl = CONTROL) -> None:
        super().__init__(ruleset, seed, agreement=Agreement(control, rated=True), seconds=60)
        self.control = control

    def clock(self) -> PageClock:
        """The clock of the page, now."""
        return PageClock.of(self.control, self.lines)


def search(ruleset: Ruleset, fits: Callable[[ClockedTable], bool]) -> ClockedTable:
    """A game up to the first entry after which a release is owed as `fits` says."""
    for seed in range(20):
        table = ClockedTable(ruleset, seed)
        while not table.course.finished and len(table.lines) < 80:
            if table.course.debtor is not None and fits(table):
                return table
            table.step()
    raise AssertionError("no game has such a debt")


def before(table: SealedTable) -> str:
    """The kind of the last entry."""
    return table.lines[-1].entry.kind


def closes(table: ClockedTable, *, over: bool) -> bool:
    """Whether a close is owed, with which the game is over or goes on."""
    if table.course.state.due is not Due.REVEAL:
        return False
    ahead = fork(table)
    ahead.step()
    return ahead.course.finished is over


DEBTS: dict[str, tuple[Ruleset, Callable[[ClockedTable], bool]]] = {
    "a draw after an answer": (Hanamikoji(), lambda table: table.course.state.due is Due.DRAW),
    "a draw after chance": (Hanamikoji("random"), lambda table: before(table) == "chance"),
    "a draw after a pick": (
        GeishasRoad(),
        lambda table: (
            table.course.state.due is Due.DRAW
            and len(str(table.lines[-1].entry.body["action"])) == 2
            and str(table.lines[-1].entry.body["action"])[1].isdigit()
        ),
    ),
    "a close, and a hand": (Hanamikoji(), lambda table: closes(table, over=False)),
    "the last close": (Hanamikoji(max_rounds=1), lambda table: closes(table, over=True)),
}
every_debt = pytest.mark.parametrize("debt", DEBTS)


@cache
def _found(debt: str) -> ClockedTable:
    return search(*DEBTS[debt])


def owing(debt: str) -> ClockedTable:
    """A table at which that debt is owed."""
    return fork(_found(debt))


# --- each debt --------------------------------------------------------------------------------------------------------


@every_debt
def test_a_release_is_in_time_by_the_second(debt: str) -> None:
    table = owing(debt)
    debtor, body = table.owed()
    left = table.clock().left(debtor, table.at)
    assert table.seconds_left() == left > CONTROL.move
    late = fork(table)
    refused(late, lambda: late.send(debtor, body, seconds=left + 1), errors.TimeOverError)
    table.send(debtor, body, seconds=left)
    assert table.lines[-1 - table.course.finished].entry.kind == "release"
    holds(table)
    late.lines = taken(late, body, debtor, at=add_seconds(late.at, left + 1))
    # Without a further entry the log does not say that no credit follows the release.
    found(late, taken(late, Resign(), debtor, at=add_seconds(late.at, left + 1)), AuditStep.TIMES, "server", last=2)


@every_debt
def test_a_timeout_names_the_debtor(debt: str) -> None:
    table = owing(debt)
    debtor = table.course.debtor
    assert debtor is not None
    left = table.seconds_left()
    refused(table, lambda: table.time_out(left), errors.NotOverdueError)
    early = taken(table, Timeout(debtor), None, at=add_seconds(table.at, left))
    found(table, early, AuditStep.TIMES, "server")
    # The same lie about the other seat, whose clock stands: it is never right.
    wrong = taken(table, Timeout(1 - debtor), None, at=add_seconds(table.at, 30 * DAY))
    found(table, wrong, AuditStep.REPLAY, "server")
    ended(table, debtor)


def ended(table: ClockedTable, late: Seat) -> None:
    """Checks that a seat which stops for good loses on time, and that nobody can play on."""
    _, body = table.owed()
    table.time_out(table.seconds_left() + 1)
    assert table.lines[-2].entry.body == {"seat": late}
    assert table.course.outcome == Outcome("timeout", 1 - late)
    assert table.lines[-1].entry.body["openings"] == []
    refused(table, lambda: table.send(late, body), errors.GameOverError)
    refused(table, lambda: table.send(1 - late, Resign()), errors.GameOverError)
    holds(table)


def test_a_host_who_does_not_like_its_hand_loses_on_time_at_its_seed() -> None:
    """It knows its hand and who starts, and no other seed helps it."""
    ruleset = Hanamikoji("random")
    table = ClockedTable(ruleset)
    table.play(3)
    seat, body = table.owed()
    assert seat == table.course.actor == 0
    assert isinstance(body, Seed)
    sealed = table.course.sealed
    assert sealed is not None
    hand = table.sealers[0].cards(sealed.coming)
    coin = SealedDealer(table.game, ruleset, *table.entropy).chance()
    left = table.seconds_left()
    seeded = fork(table)
    seeded.send(seat, body, seconds=left)
    assert seeded.course.sealed is not None
    assert seeded.sealers[0].cards(seeded.course.sealed.now) == hand
    assert coin is not None
    assert seeded.public.steps[-1].body == ChanceBody(coin.first, coin.markers)
    holds(seeded)
    refused(table, lambda: table.send(seat, body, seconds=left + 1), errors.TimeOverError)
    refused(table, lambda: table.time_out(left), errors.NotOverdueError)
    other = body._replace(entropy="ab" * 32)
    refused(table, lambda: table.send(seat, other), errors.CommitmentError)
    found(table, taken(table, Timeout(1), None, at=add_seconds(table.at, 30 * DAY)), AuditStep.REPLAY, "server")
    ended(table, 0)


@every_debt
def test_an_outage_is_credited_to_a_release(debt: str) -> None:
    table = owing(debt)
    debtor, body = table.owed()
    left = table.seconds_left()
    without = fork(table)
    table.lose(60, 560)
    assert table.seconds_left() == left + 500
    refused(table, lambda: table.send(debtor, body, seconds=left + 501), errors.TimeOverError)
    refused(without, lambda: without.send(debtor, body, seconds=left + 500), errors.TimeOverError)
    accepted = table.send(debtor, body, seconds=left + 500)
    assert [line.entry.kind for line in accepted.lines[:2]] == ["release", "credit"]
    assert PageClock.of(CONTROL, table.lines).pace == settled(table)
    holds(table)


@every_debt
def test_a_gift_counts_for_a_release(debt: str) -> None:
    table = owing(debt)
    debtor, body = table.owed()
    left = table.seconds_left()
    without = fork(table)
    table.give(1 - debtor, 300)
    table.give(1 - debtor, 1000)
    table.give(1 - debtor, 9999, head=table.lines[-2].entry.prev)  # of long ago
    table.give(debtor, 5000)  # nobody gives time to oneself
    assert table.seconds_left() == left + 1000
    refused(table, lambda: table.send(debtor, body, seconds=left + 1001), errors.TimeOverError)
    refused(without, lambda: without.send(debtor, body, seconds=left + 1000), errors.TimeOverError)
    accepted = table.send(debtor, body, seconds=left + 1000)
    credit = parse_body(accepted.lines[1].entry.kind, accepted.lines[1].entry.body)
    assert isinstance(credit, Credit)
    assert credit.gift is not None
    assert (credit.gift.seconds, credit.outages) == (1000, ())
    assert PageClock.of(CONTROL, table.lines).pace == settled(table)
    holds(table)


@every_debt
def test_a_credit_with_a_gift_that_is_not_for_the_release_convicts_the_service(debt: str) -> None:
    table = owing(debt)
    debtor, body = table.owed()
    true = table.give(1 - debtor, 500)
    # Behind the entry in front of the last one nothing but this release may stand for the gift to count.
    old = table.give(1 - debtor, 500, head=table.lines[-2].entry.head)
    released = fork(table)
    released.lines = taken(table, body, debtor)
    found(table, taken(released, Credit(old), None), AuditStep.TIMES, "server")
    own = table.give(debtor, 500)
    found(table, taken(released, Credit(own), None), AuditStep.TIMES, "server")
    other = fork(table)
    other.gifts = ((1 - debtor, true),)
    other.send(debtor, body)
    assert before(other) in ("credit", "end")
    holds(other)


def settled(table: ClockedTable) -> Pace:
    """The clock of the referee, with the time of record of the last entry."""
    clock = table.course.clock
    assert clock is not None
    return clock.settled(table.at)


# --- gifts that reach behind a release --------------------------------------------------------------------------------


def closing_and_moving() -> ClockedTable:
    """A seat owes its close, and behind it the first decision of the next round."""
    ruleset, fits = DEBTS["a close, and a hand"]

    def moves_next(table: ClockedTable) -> bool:
        if not fits(table):
            return False
        ahead = fork(table)
        debtor = ahead.course.debtor
        ahead.step()
        return ahead.course.actor == debtor

    return search(ruleset, moves_next)


@pytest.mark.parametrize("credits", [False, True])
def test_a_gift_for_a_release_also_helps_the_move_behind_it(credits: bool) -> None:
    """Also if a credit stands between them: for the gift, which was there when the release came."""
    table = closing_and_moving()
    debtor, body = table.owed()
    head = table.course.head
    if credits:
        table.give(1 - debtor, 100, head)
    accepted = table.send(debtor, body)
    assert [line.entry.kind for line in accepted.lines] == ["release", "credit"][: 1 + credits]
    assert table.course.actor == debtor
    assert gift_heads(table.lines)[-1] == head
    left = table.seconds_left()
    assert left == table.clock().left(debtor, table.at) + 100 * credits
    gift = table.give(1 - debtor, 777, head)
    assert table.seconds_left() == table.clock().left(debtor, table.at) + 777
    seat, move = table.owed()
    assert seat == debtor
    accepted = table.send(seat, move, seconds=left + 777 - 100 * credits)
    credit = parse_body(accepted.lines[1].entry.kind, accepted.lines[1].entry.body)
    assert credit == Credit(gift)
    holds(table)


def test_a_gift_for_a_move_does_not_help_the_move_of_the_other_seat() -> None:
    """A head before a release serves what is owed behind it; but a gift is always one of the opponent."""
    table = owing("a draw after an answer")
    debtor, body = table.owed()
    gift = table.give(1 - debtor, 500)
    table.send(debtor, body)
    assert table.course.actor == 1 - debtor
    assert table.seconds_left() == table.clock().left(1 - debtor, table.at)
    seat, move = table.owed()
    played = fork(table)
    played.lines = taken(table, move, seat)
    found(table, taken(played, Credit(gift), None), AuditStep.TIMES, "server")
    table.send(seat, move)
    assert before(table) == "move"
    holds(table)


def test_no_gift_reaches_behind_a_move() -> None:
    table = owing("a draw after an answer")
    head = table.course.head
    table.step()
    seat = table.course.actor
    assert seat is not None
    table.step()
    assert head not in gift_heads(table.lines)
    actor = table.course.actor
    assert actor is not None
    left = table.seconds_left()
    table.give(1 - actor, 500, head)
    assert table.seconds_left() == left
    table.give(1 - actor, 500)
    assert table.seconds_left() == left + 500


def test_a_game_can_be_called_off_while_a_release_is_owed() -> None:
    table = owing("a draw after an answer")
    debtor = table.course.debtor
    assert debtor is not None
    sigs = tuple(
        table.keys[seat].sign(
            sshsig.ANNUL, make_annul(game=table.game, head=table.course.head, name=NAMES[seat]).message
        )
        for seat in SEATS
    )
    lines = taken(table, Annul(None, (), debtor, (sigs[0], sigs[1])), None)
    accepted = referee.annul(table.refereed, (sigs[0], sigs[1]), signer=table.server, at=table.at)
    assert accepted.lines[0].entry.body == lines[-1].entry.body
    assert accepted.refereed.course.outcome == Outcome("cancel", None)
    late = add_seconds(table.at, table.seconds_left() + 1)
    with pytest.raises(errors.TimeOverError):
        referee.annul(table.refereed, (sigs[0], sigs[1]), signer=table.server, at=late)
    wrong = taken(table, Annul(None, (), 1 - debtor, (sigs[0], sigs[1])), None)
    found(table, wrong, AuditStep.REPLAY, "server")


# --- reserves and turns -----------------------------------------------------------------------------------------------


def test_add_pays_for_a_slow_release_and_raises_no_reserve() -> None:
    table = owing("a draw after an answer")
    debtor, body = table.owed()
    reserve = table.clock().reserve
    assert reserve[debtor] <= CONTROL.cap - CONTROL.add  # so that it could rise
    for seconds, lost in (
        (0, 0),
        (CONTROL.move, 0),
        (CONTROL.move + 1, 0),
        (CONTROL.move + CONTROL.add, 0),
        (CONTROL.move + CONTROL.add + 1, 1),
        (CONTROL.move + CONTROL.add + reserve[debtor], reserve[debtor]),
    ):
        other = fork(table)
        other.send(debtor, body, seconds=seconds)
        banks = list(settled(other).banks)
        assert banks[debtor] == reserve[debtor] - lost
        assert banks[1 - debtor] == reserve[1 - debtor]
        holds(other)


def test_the_turn_of_the_other_seat_goes_on_and_gets_back_the_time_of_the_release() -> None:
    table = owing("a draw after an answer")
    debtor, body = table.owed()
    spent = table.clock().spent
    assert (table.clock().p, spent) == (1 - debtor, 60)
    for seconds, then in ((0, 60), (1, 59), (59, 1), (60, 0), (3000, 0)):
        other = fork(table)
        other.send(debtor, body, seconds=seconds)
        pace = settled(other)
        assert (pace.seat, pace.spent, pace.since) == (1 - debtor, then, other.at)
        assert other.course.actor == 1 - debtor
        assert other.seconds_left() == CONTROL.move + pace.banks[1 - debtor] - then


def test_no_release_takes_the_rest_of_a_gift() -> None:
    """`spent` is below 0 then, and stays as it is."""
    table = owing("a draw after an answer")
    number = len(table.lines) - 1
    again = ClockedTable(Hanamikoji(), 0)
    again.play(number - 1)
    assert [line.entry for line in again.lines] == [line.entry for line in table.lines[:-1]]
    seat, answer = again.owed()
    again.give(1 - seat, 5000)
    again.send(seat, answer)
    assert again.clock().spent == 60 - 5000
    debtor, body = again.owed()
    assert debtor == 1 - seat
    again.send(debtor, body, seconds=1000)
    assert settled(again).spent == 60 - 5000
    assert settled(again) == again.clock().pace
    holds(again)


@pytest.mark.parametrize("debt", ["a close, and a hand", "the last close"])
def test_a_release_with_close_ends_the_turn(debt: str) -> None:
    """So the last answer of a round, and the next action of the same seat, are two turns."""
    table = owing(debt)
    debtor, body = table.owed()
    before_it = table.clock()
    assert before_it.p == 1 - debtor
    assert isinstance(body, Release)
    released = fork(table)
    released.lines = taken(table, body, debtor, at=add_seconds(table.at, 100))
    after = PageClock.of(CONTROL, released.lines)
    assert (after.p, after.spent) == (None, 0)
    table.send(debtor, body, seconds=100)
    if not table.course.finished:
        assert settled(table) == after.pace
        actor = table.course.actor
        assert actor is not None
        reserve = min(CONTROL.cap, after.reserve[actor] + CONTROL.add)
        assert table.seconds_left() == CONTROL.move + reserve  # a turn that begins


# --- the formula ------------------------------------------------------------------------------------------------------


class Clocks(NamedTuple):
    """A control, the clocks before a release, and the release."""

    control: TimeControl
    pace: Pace
    seat: Seat
    seconds: int
    credits: int


@st.composite
def clocks(draw: st.DrawFn) -> Clocks:
    control = draw(controls())
    p = draw(st.sampled_from((0, 1, None)))
    spent = 0 if p is None else draw(st.integers(-30 * DAY, 2 * DAY) | st.integers(-5, control.move + control.bank + 5))
    banks = draw(st.tuples(st.integers(0, control.cap), st.integers(0, control.cap)))
    since = add_seconds("2026-11-28T12:00:00Z", draw(st.integers(0, 14 * DAY)))
    most = control.move + control.cap
    seconds = draw(st.integers(0, 40 * DAY) | st.integers(0, 100) | st.integers(max(0, most - 5), most + 5))
    credits = draw(st.just(0) | st.integers(0, 30 * DAY))
    return Clocks(control, Pace(banks, p, spent, since), draw(st.sampled_from(SEATS)), seconds, credits)


@given(clocks())
def test_a_release_counts_as_the_page_says(given: Clocks) -> None:
    control, pace, seat, seconds, credits = given
    at = add_seconds(pace.since, seconds)
    page = PageClock(control, pace.since)
    page.reserve, page.p, page.spent = list(pace.banks), pace.seat, pace.spent
    assert pace.is_late(control, seat, at, credits) is (page.left(seat, at, credits) < 0)
    page.released(seat, at, credits)
    after = pace.released(control, seat, at, credits)
    assert after == page.pace
    page.broken(at)
    assert after.broken(control, at) == page.pace


@given(clocks())
def test_a_release_raises_no_reserve_and_takes_nothing_from_the_other_seat(given: Clocks) -> None:
    control, pace, seat, seconds, credits = given
    after = pace.released(control, seat, add_seconds(pace.since, seconds), credits)
    assert 0 <= after.banks[seat] <= pace.banks[seat]
    assert after.banks[1 - seat] == pace.banks[1 - seat]
    assert after.seat == pace.seat
    if pace.seat == 1 - seat:
        assert min(pace.spent, 0) <= after.spent <= pace.spent
    else:
        assert after.spent == pace.spent


# --- random games -----------------------------------------------------------------------------------------------------

CONTROLS = (
    CONTROL,
    TimeControl(60, 120, 0, 120),
    TimeControl(0, 600, 30, 900),
    TimeControl(DAY, 2 * DAY, 3600, 3 * DAY, "67", "+01:00"),
)
RULESETS: tuple[Ruleset, ...] = (Hanamikoji(), Hanamikoji("random", 2), GeishasRoad(), GeishasRoad("random", "random"))


def play_at_random(table: ClockedTable, chance: random.Random) -> None:
    """One entry that is owed, or the end: with gifts and outages, at any time or in the last second."""
    actor = table.course.actor
    assert actor is not None
    if chance.random() < 0.2:
        table.give(1 - actor, chance.choice((1, 59, 7200)), chance.choice(gift_heads(table.lines)))
    wait = 0
    if chance.random() < 0.2:
        wait = chance.randint(20, 60)
        table.lose(chance.randint(1, 19), wait)
    left = table.seconds_left()
    if left < wait:
        table.time_out(max(left, 0) + 1)
        return
    seconds = left if chance.random() < 0.1 else chance.randint(wait, max(wait, min(left, 2 * table.control.move)))
    seat, body = table.owed()
    if chance.random() < 0.1:
        refused(table, lambda: table.send(seat, body, seconds=left + 1), errors.TimeOverError)
    table.send(seat, body, seconds=seconds)


@pytest.mark.parametrize(
    ("ruleset", "control"),
    [
        pytest.param(ruleset, CONTROLS[(number + more) % 4], id=f"{ruleset.name}-{number}-{more}")
        for number, ruleset in enumerate(RULESETS)
        for more in (0, 1)
    ],
)
def test_referee_and_audit_keep_the_clock_of_the_page(ruleset: Ruleset, control: TimeControl) -> None:
    table = ClockedTable(ruleset, 3, control)
    table.play(3)
    chance = random.Random(f"{ruleset.name} {control.text}")
    for _ in range(35):
        play_at_random(table, chance)
        actor, page = table.course.actor, table.clock()
        if table.course.finished or actor is None:
            break
        assert settled(table) == page.pace
        due = table.course.deadline(table.at)
        assert due is not None
        assert page.left(actor, due) >= 0
        assert page.left(actor, add_seconds(due, 1)) < 0
    assert table.public.stop is None
    holds(table)
    timed = TimedLog([TimedLine(line, parse_body(line.entry.kind, line.entry.body)) for line in table.lines], 10**6)
    if table.course.finished:
        assert timed.reserves() == tuple(table.clock().reserve)
