"""The figures of a match agree with tables, brute force and simulated matches whose true values are known."""

from __future__ import annotations

import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.arena.match import MatchGame, PlayedGame
from hkoji.arena.results import MatchFigures, MatchTally, quantile, student, student_quantile
from hkoji.study.shares import wilson


def deal(
    number: int, winners: tuple[int | None, int | None], times: tuple[list[float], list[float]] = ([], [])
) -> PlayedGame:
    """A deal with those winners: at table a bot 0 starts, at table b bot 1."""
    games = [
        MatchGame(number, table, winner, "charm", starter, 2, (3, 4))
        for starter, (table, winner) in enumerate(zip("ab", winners, strict=True))
    ]
    return PlayedGame((games[0], games[1]), (array("f", times[0]), array("f", times[1])))


def figures(*played: PlayedGame) -> MatchFigures:
    tally = MatchTally()
    for each in played:
        tally.add(each)
    return tally.figures()


def test_shared_wins_are_half_a_win() -> None:
    found = figures(deal(1, (0, 0)), deal(2, (0, 1)), deal(3, (None, 1)), deal(4, (None, None)))
    one, other = found.sides
    assert (one.wins, other.wins, found.shared, found.games, found.deals) == (3, 2, 3, 8, 4)
    assert (one.score, other.score) == (4.5 / 8, 3.5 / 8)
    assert one.by_games == wilson(4.5, 8)
    assert one.by_deals == student([1, 0.5, 0.25, 0.5])
    assert found.sweeps == (1, 0)
    assert (one.moves, other.moves, found.moves) == (24, 32, 56)
    # Regardless of who started: bot 0 at a, bot 1 at b.
    assert found.starter == (1 + 0 + 1 + 1 + 0.5 + 1 + 0.5 + 0.5) / 8


def test_the_two_sides_mirror_each_other() -> None:
    one, other = figures(deal(1, (0, 0)), deal(2, (0, 1)), deal(3, (None, 1))).sides
    for ours, theirs in ((one.by_games, other.by_games), (one.by_deals, other.by_deals)):
        assert ours is not None
        assert theirs is not None
        assert ours.low == pytest.approx(1 - theirs.high)
        assert ours.high == pytest.approx(1 - theirs.low)


def test_one_deal_says_nothing_about_the_next() -> None:
    found = figures(deal(1, (0, 0)))
    assert found.sides[0].by_deals is None
    assert found.sides[0].by_games.high == 1
    with pytest.raises(ValueError, match="no deal"):
        MatchTally().figures()


@given(st.permutations(range(1, 8)))
def test_the_order_of_arrival_does_not_matter(order: list[int]) -> None:
    chance = random.Random(1)
    winners = [None, 0, 1]
    played = {
        number: deal(number, (chance.choice(winners), chance.choice(winners)), ([number], [1, 2]))
        for number in range(1, 8)
    }
    assert figures(*(played[number] for number in order)) == figures(*played.values())
    tally = MatchTally()
    for number in order:
        tally.add(played[number])
    assert [game.deal for game in tally.games] == [number for number in range(1, 8) for _ in "ab"]


@pytest.mark.parametrize(
    ("part", "total", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (50, 100, 0.4038, 0.5962), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0)],
)
def test_wilson_against_published_values(part: float, total: int, low: float, high: float) -> None:
    assert wilson(part, total) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [
        *((1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (8, 2.306), (9, 2.262)),
        *((10, 2.228), (15, 2.131), (20, 2.086), (30, 2.042), (60, 2.000), (120, 1.980), (10**6, 1.960)),
    ],
)
def test_students_quantiles_against_the_table(freedom: int, expected: float) -> None:
    assert student_quantile(freedom) == pytest.approx(expected, abs=0.002)


def test_students_interval_by_hand() -> None:
    # Mean 0.5, standard deviation 0.25 and 5 values: 0.5 +- 2.776 * 0.25 / sqrt(5).
    low, high = student([0.25, 0.25, 0.5, 0.75, 0.75]) or (0.0, 0.0)
    assert (low, high) == pytest.approx((0.5 - 0.3104, 0.5 + 0.3104), abs=2e-4)
    assert student([0.5]) is None
    assert student([1, 0]) == (0, 1)


@pytest.mark.parametrize(("deals", "least"), [(8, 0.87), (30, 0.92), (100, 0.93)])
def test_the_interval_by_deals_holds_the_truth_as_often_as_it_says(deals: int, least: float) -> None:
    """In half of the deals the cards decide: the same seat wins at both tables, so each bot wins one of the games."""
    chance = random.Random(deals)
    strength, held, rounds = 0.6, 0, 500
    for _ in range(rounds):
        played = []
        for number in range(deals):
            if chance.random() < 0.5:
                seat = chance.randrange(2)
                winners = (seat, 1 - seat)
            else:
                winners = (int(chance.random() > strength), int(chance.random() > strength))
            played.append(deal(number, winners))
        interval = figures(*played).sides[0].by_deals
        assert interval is not None
        held += interval.low <= 0.5 * 0.5 + 0.5 * strength <= interval.high
    assert least <= held / rounds <= 0.975


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=50), st.sampled_from([0.5, 0.95, 1.0]))
def test_quantiles_against_counting(values: list[float], share: float) -> None:
    found = quantile(sorted(values), share)
    least = min(value for value in values if sum(other <= value for other in values) >= share * len(values))
    assert found == least


def test_no_decisions_have_no_times() -> None:
    assert quantile([], 0.5) is None
    assert figures(deal(1, (0, 1))).sides[0].median is None
    one, other = figures(deal(1, (0, 1), ([1.0, 2.0], [4.0])), deal(2, (0, 1), ([3.0], []))).sides
    assert (one.median, one.p95, other.median, other.p95) == (2.0, 3.0, 4.0, 4.0)
