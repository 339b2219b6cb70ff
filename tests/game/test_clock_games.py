"""The clock agrees with games that were worked out by hand: tests/data/clocks.txt."""

from __future__ import annotations

import pytest

from hkoji.game.agreement import TimeControl, read_time_control
from hkoji.game.clock import Effect, GameClock, Pace
from tests.support.clock_games import ClockEntry, ClockGame, clock_games

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
