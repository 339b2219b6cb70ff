"""The clock: the laws of its formula for every control, rest day and zone, with times of the years 2000 to 8999.

It agrees with games that were worked out by hand: tests/data/clocks.txt.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hkoji.errors import NotUnderstoodError
from hkoji.game.agreement import DAY, TimeControl, read_time_control
from hkoji.game.clock import (
    LAST_TIME,
    Effect,
    GameClock,
    Outage,
    Pace,
    Way,
    after_outages,
    counted,
    format_time,
    outages_between,
    parse_time,
    read_outage,
)
from hkoji.log.canonical import is_time
from tests.support.clock_games import ClockEntry, ClockGame, clock_games, controls

Json = Any  # wrong on purpose

FORM = "%Y-%m-%dT%H:%M:%SZ"
FIRST = datetime(2000, 1, 1, tzinfo=UTC)
END = datetime(9000, 1, 1, tzinfo=UTC)
ALL = (END - FIRST) // timedelta(seconds=1)
PLAIN = TimeControl(100, 50, 0, 50)
WEEKEND = TimeControl(DAY, 0, 0, 0, "67")


def time(second: int) -> str:
    """The time of the log so many seconds after its first."""
    return (FIRST + timedelta(seconds=second)).strftime(FORM)


def later(at: str, seconds: int) -> str:
    return (datetime.fromisoformat(at) + timedelta(seconds=seconds)).strftime(FORM)


SECONDS = st.integers(0, ALL - 1)
TIMES = SECONDS.map(time)
SPANS = st.integers(0, 40 * DAY) | st.integers(0, 3 * DAY) | st.integers(0, 400).map(lambda quarters: quarters * 900)


# --- times ------------------------------------------------------------------------------------------------------------


@given(SECONDS, SECONDS)
@example(0, ALL - 1)
def test_times_are_those_of_the_calendar(first: int, second: int) -> None:
    assert parse_time(time(second)) - parse_time(time(first)) == second - first
    assert format_time(parse_time(time(first))) == time(first)
    assert is_time(format_time(parse_time(time(first))))


def test_every_day_of_two_eras_is_that_of_the_calendar() -> None:
    begin = parse_time("2000-01-01T00:00:00Z")
    for day in [*range(147_000), *range(ALL // DAY - 147_000, ALL // DAY)]:
        date = FIRST + timedelta(days=day)
        assert format_time(begin + day * DAY) == f"{date:%Y-%m-%d}T00:00:00Z"
    assert begin % (7 * DAY) == 5 * DAY  # a Saturday


# --- counted ----------------------------------------------------------------------------------------------------------


def counted_by_quarters(control: TimeControl, begin: str, until: str) -> int:
    """The same number, quarter hour by quarter hour of the local time, with the calendar of the standard library."""
    sign = -1 if control.zone[0] == "-" else 1
    offset = sign * timedelta(hours=int(control.zone[1:3]), minutes=int(control.zone[4:6]))
    moment, end = (datetime.fromisoformat(at) + offset for at in (begin, until))
    total = timedelta()
    while moment < end:
        quarter = moment.replace(minute=moment.minute // 15 * 15, second=0) + timedelta(minutes=15)
        if str(moment.isoweekday()) not in control.rest:
            total += min(quarter, end) - moment
        moment = quarter
    return total // timedelta(seconds=1)


@given(controls(), TIMES, SPANS)
@example(WEEKEND, "2026-11-20T12:00:00Z", 7 * DAY)
def test_counted_is_counting_by_quarter_hours(control: TimeControl, begin: str, span: int) -> None:
    assume(parse_time(begin) + span <= parse_time(LAST_TIME))
    until = later(begin, span)
    assert counted(control, begin, until) == counted_by_quarters(control, begin, until)


@given(controls(), TIMES, TIMES, TIMES)
def test_counted_is_additive(control: TimeControl, one: str, two: str, three: str) -> None:
    begin, middle, until = sorted((one, two, three))
    assert counted(control, begin, until) == counted(control, begin, middle) + counted(control, middle, until)
    assert counted(control, until, begin) == -counted(control, begin, until)
    assert counted(control, begin, begin) == 0
    assert 0 <= counted(control, begin, until) <= parse_time(until) - parse_time(begin)


@given(controls(), SECONDS, st.integers(0, 10_000))
def test_whole_weeks_count_all_days_but_the_rest_days(control: TimeControl, begin: int, weeks: int) -> None:
    assume(begin + weeks * 7 * DAY < ALL)
    days = weeks * (7 - len(control.rest))
    assert counted(control, time(begin), time(begin + weeks * 7 * DAY)) == days * DAY


# --- the deadline -----------------------------------------------------------------------------------------------------


@st.composite
def paces(draw: st.DrawFn, control: TimeControl) -> Pace:
    """The clocks after any entry: `spent` may be less than nothing, or more than there was."""
    banks = draw(st.tuples(*[st.integers(0, control.cap)] * 2))
    seat = draw(st.sampled_from((0, 1, None)))
    spent = (
        0 if seat is None else draw(st.integers(-30 * DAY, 2 * DAY) | st.integers(-5, control.move + control.bank + 5))
    )
    # An entry of this turn, so far spent, began no earlier than the log.
    return Pace(banks, seat, spent, draw(st.integers(max(0, 8 * spent + 40 * DAY), ALL - 1).map(time)))


CLOCKS = controls().flatmap(lambda control: st.tuples(st.just(control), paces(control)))
SEATS = st.sampled_from((0, 1))
CREDITS = st.just(0) | st.integers(0, 30 * DAY)


def budget(control: TimeControl, pace: Pace, actor: int, credits: int) -> tuple[int, int]:
    """The two sides of the formula: the seconds spent before `since`, and move + bank + credits."""
    bank, spent = pace.banks[actor], pace.spent
    if pace.seat != actor:
        bank, spent = min(control.cap, bank + control.add), 0
    return spent, control.move + bank + credits


@given(CLOCKS, SEATS, CREDITS)
@example((WEEKEND, Pace((0, 0), 0, 0, "2026-11-20T00:00:00Z")), 0, 0)
@example((WEEKEND, Pace((0, 0), 0, DAY, "2026-11-22T12:00:00Z")), 0, 0)
def test_the_deadline_is_the_last_second_that_is_not_too_late(
    clocks: tuple[TimeControl, Pace], actor: int, credits: int
) -> None:
    control, pace = clocks
    spent, limit = budget(control, pace, actor, credits)
    deadline = pace.deadline(control, actor, credits)
    assert is_time(deadline)
    assert spent + counted(control, pace.since, deadline) <= limit
    if deadline == LAST_TIME:
        return
    assert spent + counted(control, pace.since, later(deadline, 1)) == limit + 1


@given(CLOCKS, SEATS, CREDITS, SPANS, st.integers(-2, 2))
def test_late_exactly_after_the_deadline(
    clocks: tuple[TimeControl, Pace], actor: int, credits: int, span: int, around: int
) -> None:
    control, pace = clocks
    deadline = pace.deadline(control, actor, credits)
    for second in (parse_time(deadline) + around, parse_time(pace.since) + span):
        at = format_time(min(max(second, parse_time(pace.since)), parse_time(LAST_TIME)))
        assert pace.is_late(control, actor, at, credits) is (at > deadline)


@pytest.mark.parametrize(
    ("since", "move", "deadline"),
    [
        ("2026-11-20T12:00:00Z", 43199, "2026-11-20T23:59:59Z"),
        ("2026-11-20T12:00:00Z", 43200, "2026-11-23T00:00:00Z"),
        ("2026-11-20T12:00:00Z", 43201, "2026-11-23T00:00:01Z"),
        ("2026-11-21T12:00:00Z", 0, "2026-11-23T00:00:00Z"),
        ("2026-11-22T23:59:59Z", 1, "2026-11-23T00:00:01Z"),
    ],
)
def test_a_deadline_runs_through_the_rest_days_that_follow(since: str, move: int, deadline: str) -> None:
    control = WEEKEND._replace(move=move)
    assert Pace((0, 0), 0, 0, since).deadline(control, 0) == deadline


def test_a_deadline_after_the_last_time_of_the_log_is_that_time() -> None:
    control = TimeControl(60 * DAY, 366 * DAY, 0, 366 * DAY)
    pace = Pace((control.bank, control.bank), None, 0, "8999-06-01T00:00:00Z")
    assert pace.deadline(control, 1) == LAST_TIME == "8999-12-31T23:59:59Z"
    assert not pace.is_late(control, 1, LAST_TIME)


# --- banks ------------------------------------------------------------------------------------------------------------


Steps: TypeAlias = list[tuple[Effect, int | None, int, int | None]]
"""Entries: effect, author, seconds after the entry before, credits recorded for it."""


@st.composite
def courses(draw: st.DrawFn) -> tuple[TimeControl, str, Steps]:
    """A control, T of the join, and the entries after it."""
    control = draw(controls() | st.just(PLAIN) | st.just(TimeControl(10, 50, 20, 60, "67", "-05:00")))
    steps = []
    small = st.integers(0, 2 * (control.move + control.cap)) | st.integers(0, 3 * DAY)
    for _ in range(draw(st.integers(1, 12))):
        effect = draw(st.sampled_from((Effect.PLAYS, Effect.PLAYS, Effect.PLAYS, Effect.BREAKS, Effect.NONE)))
        seat = draw(SEATS) if effect is not Effect.BREAKS else None
        credits = draw(st.none() | st.integers(0, 30 * DAY)) if effect is Effect.PLAYS else None
        steps.append((effect, seat, draw(small), credits))
    steps.extend([(Effect.ENDS, None, draw(small), None)] * draw(st.integers(0, 2)))
    return control, draw(st.integers(0, ALL - 6000 * DAY).map(time)), steps


def formula(
    control: TimeControl, join: str, entries: list[tuple[Effect, int | None, str, int]]
) -> tuple[list[int], int]:
    """Reserves after the last entry and its turn's seconds: the four lines of the formula, turn by turn.

    The entries are cut into turns first: runs of what one seat plays, without what has no effect.
    """
    banks, spent, since = [control.bank, control.bank], 0, join
    turns: list[tuple[int | None, list[tuple[str, int]]]] = []
    for effect, seat, at, credits in entries:
        if effect is Effect.PLAYS and turns and turns[-1][0] == seat:
            turns[-1][1].append((at, credits))
        elif effect is not Effect.NONE:
            turns.append((seat if effect is Effect.PLAYS else None, [(at, credits)]))
    for number, (seat, plays) in enumerate(turns):
        spent = 0
        if seat is not None:
            banks[seat] = min(control.cap, banks[seat] + control.add)
        for at, credits in plays:
            spent += counted(control, since, at) - credits if seat is not None else 0
            since = at
        if seat is not None and number + 1 < len(turns):
            banks[seat] = max(0, banks[seat] - max(0, spent - control.move))
    return banks, spent


@given(courses())
def test_following_a_game_is_the_formula_read_directly(
    course: tuple[TimeControl, str, Steps],
) -> None:
    control, at, steps = course
    join = at
    clock = GameClock.joined(control, "join", join)
    done: list[tuple[Effect, int | None, str, int]] = []
    for number, (effect, seat, seconds, credits) in enumerate(steps):
        clock = clock.follow(effect, seat, f"head {number}", at)
        at = later(at, seconds)
        pace = clock.settled(at, credits or 0)
        done.append((effect, seat, at, credits or 0))
        banks, spent = formula(control, join, done)
        assert (list(pace.banks), pace.spent) == (banks, spent)
        if credits is not None:
            clock = clock.follow(Effect.CREDITS, None, f"credit {number}", at, credits)
            assert clock.pace == clock.settled(at) == pace
            assert clock.heads == (f"credit {number}",)
        assert all(0 <= bank <= control.cap for bank in pace.banks)
        for actor in (0, 1):
            assert all(0 <= bank <= control.cap for bank in pace.due(control, actor).banks)


@given(CLOCKS, SEATS, SPANS, CREDITS)
def test_a_gift_never_raises_a_bank(clocks: tuple[TimeControl, Pace], seat: int, span: int, gift: int) -> None:
    control, pace = clocks
    at = format_time(min(parse_time(pace.since) + span, parse_time(LAST_TIME)))
    before = pace.due(control, seat).banks
    after = pace.played(control, seat, at, gift).broken(control, at).banks
    without = pace.played(control, seat, at).broken(control, at).banks
    assert all(0 <= bank <= most for bank, most in zip(after, before, strict=True))
    assert after[1 - seat] == without[1 - seat] == before[1 - seat]
    assert without[seat] <= after[seat]


@given(CLOCKS, SEATS)
def test_a_turn_that_is_due_is_begun_once(clocks: tuple[TimeControl, Pace], actor: int) -> None:
    control, pace = clocks
    due = pace.due(control, actor)
    assert due.due(control, actor) == due
    assert (due.seat, due.since) == (actor, pace.since)
    assert due.deadline(control, actor) == pace.deadline(control, actor)


# --- the fold ---------------------------------------------------------------------------------------------------------

AT = "2026-11-20T12:00:00Z"


def test_a_gift_may_name_the_head_that_is_due_or_one_before_new_keys() -> None:
    clock = GameClock.joined(PLAIN, "join", AT)
    assert clock.heads == ("join",)
    clock = clock.follow(Effect.NONE, 0, "rekey", AT)
    clock = clock.follow(Effect.NONE, None, "revoke", AT)
    assert clock.heads == ("join", "rekey", "revoke")
    clock = clock.follow(Effect.PLAYS, 1, "seed", AT)
    assert clock.heads == ("seed",)
    clock = clock.follow(Effect.NONE, 1, "rekey", AT)
    clock = clock.follow(Effect.PLAYS, 0, "move", AT)
    clock = clock.follow(Effect.CREDITS, None, "credit", AT, 5)
    assert clock.heads == ("credit",)
    assert clock.follow(Effect.BREAKS, None, "reveal", AT).heads == ("reveal",)
    assert clock.follow(Effect.ENDS, 0, "resign", AT).heads == ()
    assert clock.heads == ("credit",)


def test_new_keys_do_not_change_what_is_spent_or_since() -> None:
    clock = GameClock.joined(PLAIN, "join", AT).follow(Effect.PLAYS, 1, "seed", AT)
    late = later(AT, 90)
    with_keys = clock.follow(Effect.NONE, 0, "rekey", later(AT, 30)).follow(Effect.NONE, 1, "rekey", later(AT, 40))
    assert with_keys.settled(late) == clock.settled(later(AT, 30))
    assert with_keys.settled(late).since == later(AT, 30)


def test_a_strangers_play_is_nobodys_turn() -> None:
    clock = GameClock.joined(PLAIN, "join", AT).follow(Effect.PLAYS, None, "move", AT)
    assert clock.settled(later(AT, 500)) == Pace((50, 50), None, 0, AT)


def test_the_limits_of_the_tests_are_those_of_the_form() -> None:
    assert is_time(time(0))
    assert is_time(time(ALL - 1))
    assert time(ALL - 1) == LAST_TIME
    assert not is_time("1999-12-31T23:59:59Z")
    assert not is_time("9000-01-01T00:00:00Z")
    assert read_time_control(PLAIN.to_json()) == PLAIN


# --- outages ----------------------------------------------------------------------------------------------------------


def test_an_outage() -> None:
    value: Json = {"from": "2026-11-20T12:00:00Z", "until": "2026-11-20T12:00:01Z", "way": "mail"}
    outage = read_outage(value)
    assert outage == Outage("2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z", Way.MAIL)
    assert outage.to_json() == value


def test_a_later_key_of_an_outage_is_not_understood() -> None:
    with pytest.raises(NotUnderstoodError, match="outage key 'why'"):
        read_outage({"from": AT, "until": later(AT, 1), "way": "mail", "why": "a storm"})


def test_a_later_way_is_not_understood() -> None:
    with pytest.raises(NotUnderstoodError, match="outage 'pigeon'"):
        read_outage({"from": AT, "until": later(AT, 1), "way": "pigeon"})


_OUTAGES = st.builds(
    lambda begin, length, way: Outage(later(AT, begin), later(AT, begin + length), way),
    st.integers(0, 100),
    st.integers(1, 50),
    st.sampled_from(Way),
)


@given(st.lists(_OUTAGES, max_size=8), st.sampled_from(Way), st.integers(0, 100), st.integers(0, 60) | st.none())
def test_a_second_between_two_times_is_out_exactly_if_an_outage_of_that_way_has_it(
    outages: list[Outage], way: Way, begin: int, length: int | None
) -> None:
    since, until = later(AT, begin), None if length is None else later(AT, begin + length)
    found = outages_between(outages, way, since, until)
    assert list(found) == sorted(found)
    assert all(each.begin < each.until and each.way is way for each in found)
    for second in range(-1, 160):
        at = later(AT, second)
        out = any(each.way is way and each.begin <= at < each.until for each in outages)
        assert any(each.holds(at) for each in found) == (out and since <= at and (until is None or at < until))


@given(st.lists(_OUTAGES, max_size=1), st.sampled_from(Way), st.integers(-1, 160))
def test_only_an_outage_of_its_way_moves_a_time_to_its_end(outages: list[Outage], way: Way, second: int) -> None:
    at = later(AT, second)
    around = [each.until for each in outages if each.way is way and each.begin <= at < each.until]
    assert after_outages(at, outages, way) == (around or [at])[0]


# --- games that were worked out by hand -------------------------------------------------------------------------------


EFFECTS = (
    dict.fromkeys(("rekey", "revoke"), Effect.NONE)
    | dict.fromkeys(("seed", "move"), Effect.PLAYS)
    | dict.fromkeys(("join", "chance", "reveal"), Effect.BREAKS)
    | dict.fromkeys(("resign", "timeout", "end"), Effect.ENDS)
)
GAMES = pytest.mark.parametrize("game", clock_games(), ids=lambda game: game.name)


def test_there_are_fifty_games_of_every_kind_of_entry_and_outcome() -> None:
    games = clock_games()
    assert len({game.name for game in games}) == len(games) == 50
    entries = [entry for game in games for entry in game.entries]
    assert {entry.kind for entry in entries} == set(EFFECTS)
    assert {entry.late for entry in entries} == {True, False, None}
    assert {len(game.rest) for game in games} == {0, 1, 2, 6}
    assert {game.zone[0] for game in games if game.rest} == {"+", "-"}
    assert all(entry.late is None or entry.by is not None for entry in entries)
    assert any(entry.spent is not None and entry.spent < 0 for entry in entries)


def control_of(game: ClockGame) -> TimeControl:
    control = TimeControl(*game.numbers, game.rest, game.zone)
    assert read_time_control(control.to_json()) == control
    return control


def check(entry: ClockEntry, control: TimeControl, pace: Pace) -> None:
    if entry.owes is None:
        assert pace.broken(control, entry.at).banks == entry.banks
        return
    due = pace.due(control, entry.owes)
    assert (due.banks, due.seat, due.spent) == (entry.banks, entry.owes, entry.spent)
    assert due.deadline(control, entry.owes) == pace.deadline(control, entry.owes) == entry.deadline


@GAMES
def test_the_pace_after_each_entry_is_that_of_the_hand(game: ClockGame) -> None:
    control = control_of(game)
    pace = Pace((control.bank, control.bank), None, 0, game.entries[0].at)
    for entry in game.entries:
        effect = EFFECTS[entry.kind]
        if effect is Effect.PLAYS:
            assert entry.by is not None
            credits = entry.credits or 0
            assert pace.is_late(control, entry.by, entry.at, credits) is entry.late
            assert (entry.at > pace.deadline(control, entry.by, credits)) is entry.late
            pace = pace.played(control, entry.by, entry.at, credits)
        elif effect is not Effect.NONE:
            pace = pace.broken(control, entry.at)
        check(entry, control, pace)


@GAMES
def test_the_fold_over_entries_is_that_of_the_hand(game: ClockGame) -> None:
    """Each time of record becomes known with the next entry, or by `settled` before it; credits with the `credit`."""
    control = control_of(game)
    join, *entries = game.entries
    clock = GameClock.joined(control, "head 0", "2000-01-01T00:00:00Z")
    before = join
    heads: tuple[str, ...] = ("head 0",)
    check(before, control, clock.settled(before.at))
    for number, entry in enumerate(entries, 1):
        effect, head = EFFECTS[entry.kind], f"head {number}"
        clock = clock.follow(effect, entry.by, head, before.at)
        heads = (*heads, head) if effect is Effect.NONE else () if effect is Effect.ENDS else (head,)
        assert (clock.control, clock.last, clock.seat, clock.heads) == (control, effect, entry.by, heads)
        check(before, control, clock.pace)
        check(entry, control, clock.settled(entry.at, entry.credits or 0))
        if entry.credits is not None:
            clock = clock.follow(Effect.CREDITS, None, f"credit {number}", entry.at, entry.credits)
            heads = (f"credit {number}",)
            assert clock.heads == heads
            check(entry, control, clock.pace)
            check(entry, control, clock.settled(entry.at))
        before = entry
