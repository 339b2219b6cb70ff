"""The naive clock agrees with the games that were worked out by hand, and with the project's clock in random games."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from hkoji.errors import InvalidError
from hkoji.game.agreement import DAY, TimeControl, read_time_control
from hkoji.game.clock import Effect, GameClock, Pace
from tests.lab.machine.naive_time import NaiveClock, is_control, to_moment, to_number
from tests.support.clock_games import ClockGame, clock_games

FORM = "%Y-%m-%dT%H:%M:%SZ"


@pytest.mark.parametrize("game", clock_games(), ids=lambda game: game.name)
def test_the_naive_clock_agrees_with_the_hand(game: ClockGame) -> None:
    clock = NaiveClock(*game.numbers, game.rest, game.zone)
    for entry in game.entries:
        assert clock.take(entry.kind, entry.by, entry.at, entry.credits or 0, entry.owes) is entry.late
        assert (tuple(clock.banks), clock.turn) == (entry.banks, entry.owes)
        if entry.owes is not None:
            assert (clock.spent, clock.deadline()) == (entry.spent, entry.deadline)


def random_control(random: Random) -> TimeControl:
    unit = random.choice((1, 60, 3600, DAY))
    move = random.choice((0, random.randrange(1, 4) * unit))
    bank = random.randrange(0 if move else 1, 15) * unit
    add = random.choice((0, random.randrange(1, 3) * unit))
    cap = max(bank, add) + random.randrange(3) * unit if add else bank
    rest = "".join(sorted(random.sample("1234567", random.choice((0, 0, 1, 2, 2, 4, 6)))))
    quarters = random.randrange(-59, 60) if rest else 0
    hours, quarter = divmod(abs(quarters), 4)
    zone = f"{'-' if quarters < 0 else '+'}{hours:02}:{15 * quarter:02}"
    return TimeControl(move, bank, add, cap, rest, zone)


def step(random: Random, control: TimeControl, since: str, deadline: str) -> str:
    """A time of record not before `since`: soon, around the deadline, around a midnight, or at any time."""
    begin, end = to_number(since), to_number(deadline)
    midnight = begin // DAY * DAY + random.randrange(1, 9) * DAY + random.randrange(-2, 3) * 900
    found = random.choice(
        (
            begin,
            begin + random.randrange(1, 5000),
            begin + random.randrange(0, max(1, control.move + control.bank)),
            end + random.randrange(-1, 2),
            midnight + random.randrange(-1, 2),
        )
    )
    return to_moment(max(begin, min(found, to_number("8999-12-31T23:59:59Z")))).strftime(FORM)


def next_entry(random: Random, number: int, owes: int | None, seeds: int) -> tuple[str, int | None, int | None]:
    """A kind of entry that can come next, its author and the seat that owes the entry after it."""
    if owes is None:
        return random.choice((("chance", None, 0), ("reveal", None, random.randrange(2)), ("reveal", None, None)))
    if random.random() < 0.15:
        return random.choice((("rekey", random.randrange(2), owes), ("revoke", None, owes)))
    if seeds == 0:
        return "seed", owes, 1 - owes
    if seeds == 1:
        return "seed", owes, random.choice((owes, None))
    if number > 12 and random.random() < 0.2:
        return random.choice((("resign", random.randrange(2), None), ("timeout", None, None)))
    return "move", owes, random.choice((0, 1, None))


EFFECTS = {
    **dict.fromkeys(("seed", "move"), Effect.PLAYS),
    **dict.fromkeys(("chance", "reveal"), Effect.BREAKS),
    **dict.fromkeys(("resign", "timeout"), Effect.ENDS),
    **dict.fromkeys(("rekey", "revoke"), Effect.NONE),
}


def same(naive: NaiveClock, control: TimeControl, pace: Pace, at: str, credits: int) -> None:
    if naive.turn is None:
        assert pace.broken(control, at).banks == tuple(naive.banks)
        return
    due = pace.due(control, naive.turn)
    assert (due.banks, due.spent) == (tuple(naive.banks), naive.spent)
    assert due.deadline(control, naive.turn, credits) == naive.deadline(credits)


@pytest.mark.parametrize("seed", range(60))
def test_both_clocks_agree_in_random_games(seed: int) -> None:
    """The naive clock is told who owes; the project's clock only who wrote what, and sees times one entry later."""
    random = Random(seed)
    control = random_control(random)
    assert is_control(control.to_json())
    year = random.choice((2000, 2026, 2099, 8998))
    at = (datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(360 * DAY))).strftime(FORM)
    naive = NaiveClock(*control)
    naive.take("join", 1, at, owes=1)
    clock = GameClock.joined(control, "0", at)
    owes: int | None = 1
    seeds, late = 0, 0
    for number in range(40):
        pace = clock.settled(at)
        credits = random.choice((0, 0, 0, random.randrange(2 * max(1, control.move))))
        same(naive, control, pace, at, credits)
        kind, by, owes_next = next_entry(random, number, owes, seeds)
        seeds += kind == "seed"
        now = (
            at if kind in ("chance", "reveal") else step(random, control, at, at if owes is None else naive.deadline())
        )
        if kind in ("seed", "move"):
            assert by is not None
            was_late = naive.take(kind, by, now, credits, owes_next)
            assert pace.is_late(control, by, now, credits) is was_late
            assert (now > pace.deadline(control, by, credits)) is was_late
            late += bool(was_late)
        else:
            naive.take(kind, by, now, 0, owes_next)
        clock = clock.follow(EFFECTS[kind], by, str(number), at)
        if kind in ("seed", "move") and credits:
            clock = clock.follow(Effect.CREDITS, None, f"{number} credit", now, credits)
        at, owes = now, owes_next
        if EFFECTS[kind] is Effect.ENDS:
            break
    same(naive, control, clock.settled(at), at, 0)
    assert seeds == 2


def test_both_agree_on_what_a_control_is() -> None:
    random = Random(1)
    values = {
        "move": (0, 1, 60 * DAY, 60 * DAY + 1, True, -1, "1", None),
        "bank": (0, 1, 5, 366 * DAY, 366 * DAY + 1, 1.0),
        "add": (0, 1, 5, 30 * DAY, 30 * DAY + 1, False),
        "cap": (0, 1, 4, 5, 30 * DAY, 366 * DAY, 366 * DAY + 1),
        "rest": ("", "1", "67", "76", "77", "123456", "1234567", "8", "0", "6 7", None, 67),
        "zone": ("+00:00", "-00:00", "+14:45", "-14:45", "+15:00", "+05:45", "+05:50", "5:45", "+0545", "Z", None),
    }
    good: list[dict[str, object]] = [control.to_json() for control in map(random_control, [random] * 50)]  # type: ignore[misc] # dict is invariant
    taken = 0
    for _ in range(20_000):
        value = dict(random.choice(good))
        for key in random.sample(sorted(values), random.randrange(4)):
            value[key] = random.choice(values[key])
        if random.random() < 0.02:
            del value[random.choice(sorted(value))]
        try:
            read_time_control(value)  # type: ignore[arg-type] # wrong on purpose
            taken += 1
            assert is_control(value), value
        except InvalidError:
            assert not is_control(value), value
    assert 2_000 < taken < 18_000
