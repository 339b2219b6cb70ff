"""Counts over games agree with counts made from the games' transcripts, as text."""

from __future__ import annotations

import re
from collections import Counter
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.game import entry_kinds
from hkoji.game.replay import Replay, replay
from hkoji.rules.geishas_road.position import prestige, winner
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.rules.transcript import format_rounds, format_ruleset
from hkoji.study.shares import Share, spread, three_digits
from hkoji.study.stops import stops
from hkoji.study.tally import GameRecord, GameTally, record
from tests.support.redistribution import replayed
from tests.support.table import Table, new_game
from tests.toy.showdown import Showdown

RULESETS: tuple[Ruleset, ...] = (Hanamikoji("random"), GeishasRoad("random"))


SEEDS = range(16)
"""Those of the random games. Among these, both seats win, and the orders, the first player and the rounds differ."""


def recorded(result: Replay) -> GameRecord:
    return record(result, format_ruleset(result.steps[-1].course.setup.ruleset))


# --- one game ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda r: r.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_record_is_what_the_transcript_says(ruleset: Ruleset, seed: int) -> None:
    result = replayed(seed, ruleset)
    game = recorded(result)
    *lines, last = format_rounds(ruleset, result.events)
    assert last == f"#{game.winner} {game.reason}"
    assert len(game.rounds) == len(lines)
    for each, line in zip(game.rounds, lines, strict=True):
        actions = re.findall(r" ([1-4RIGC])[A-GX][^ ]*", line)
        assert len(actions) == 8
        assert each.first is not None
        assert each.actions[each.first] == "".join(actions[0::2])
        assert each.actions[1 - each.first] == "".join(actions[1::2])
        assert each.offers == line.count("-") == 4
        assert each.orders == line.count(">")
        assert each.decisions == 8 + len(re.findall(r"[->!^]", line))
        assert each.scored


@pytest.mark.parametrize("seed", SEEDS)
def test_hand_overs_are_changes_of_who_decides(seed: int) -> None:
    result = replayed(seed, Hanamikoji("random"))
    deciding: dict[int, str] = {}
    for step in result.steps:
        if step.entry.kind == "move":
            number = result.steps[step.entry.seq - 1].course.state.round
            deciding[number] = deciding.get(number, "") + str(0 if step.entry.by == "alice" else 1)
    changes = [len(re.findall(r"(?=01|10)", seats)) for seats in deciding.values()]
    assert [each.hand_overs for each in recorded(result).rounds] == changes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_winner_of_a_round_is_the_one_that_the_scoring_says(seed: int) -> None:
    result = replayed(seed, GeishasRoad("random"))
    won = []
    for stop in stops(result):
        state = stop.step.course.state
        assert isinstance(state, GeishasRoadState)
        if stop.step.entry.kind == "reveal" and state.due in (Due.DEAL, Due.OVER):
            assert state.first is not None
            won.append(winner(state.road.lanterns, state.markers, state.first))
            assert prestige(state.road.lanterns, state.markers, won[-1]) >= prestige(
                state.road.lanterns, state.markers, 1 - won[-1]
            )
    game = recorded(result)
    assert [each.winner for each in game.rounds] == won
    assert Counter(won)[game.winner or 0] == 2


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda r: r.name)
def test_the_games_of_these_tests_differ(ruleset: Ruleset) -> None:
    games = [recorded(replayed(seed, ruleset)) for seed in SEEDS]
    assert {game.winner for game in games} == {game.rounds[0].first for game in games} == {0, 1}
    assert len({len(game.rounds) for game in games}) > 1
    assert {each.orders > 0 for game in games for each in game.rounds} == {False, ruleset.name == "geishas-road"}


def test_a_broken_off_round_is_not_a_scored_one() -> None:
    table = new_game(3).play(5)
    running = recorded(replay(table.lines))
    assert (running.finished, running.reason, running.winner) == (False, None, None)
    assert running.decisions == 5
    table.send(table.entry(1, entry_kinds.Resign()))
    resigned = recorded(replay(table.lines))
    assert (resigned.finished, resigned.reason, resigned.winner) == (True, "resign", 0)
    assert [each.scored for each in resigned.rounds] == [False]
    assert recorded(replay(table.lines[:4])).rounds == ()


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda r: r.name)
def test_a_game_with_its_seed_unopened_counts_like_one_with_it_opened(ruleset: Ruleset) -> None:
    table = Table(ruleset, 3, deal=("5e" * 16, "7a" * 32)).begin().play()
    unopened = recorded(replay(table.lines))
    table.unseal()
    assert unopened.finished
    assert recorded(replay(table.lines)) == unopened


# --- many games -------------------------------------------------------------------------------------------------------


def played(ruleset: Ruleset, start: int, count: int) -> list[GameRecord]:
    return [recorded(replayed(seed, ruleset)) for seed in range(start, start + count)]


def test_groups_and_players() -> None:
    tally = GameTally()
    games = played(RULESETS[0], 0, 16) + played(RULESETS[1], 100, 16)
    running = recorded(replay(new_game(500, RULESETS[1]).play(3).lines))
    for game in [*games, running, *games[:7]]:
        tally.add(game)
    assert (tally.games, tally.repeated) == (33, 7)
    road, row = (tally.groups[format_ruleset(each)] for each in reversed(RULESETS))
    assert (row.games, row.finished, row.won) == (16, 16, 16)
    assert (road.games, road.finished, road.won) == (17, 16, 16)
    assert row.seats[0] == sum(game.winner == 0 for game in games[:16])
    assert row.first[True] == sum(game.winner == game.rounds[0].first for game in games[:16])
    assert row.round_first_share().total == 0
    assert road.round_first_share().total == road.scored == sum(len(game.rounds) for game in games[16:])
    assert road.order_share().total == 4 * road.scored + sum(each.offers for each in running.rounds)
    assert 0 < road.orders < road.offers / 4
    assert row.orders == 0
    for group in (road, row):
        assert len(group.kinds()) == 4
        for place in range(4):
            assert sum(group.place(kind, place).part for kind in group.kinds()) == 2 * group.scored
        for kind in group.kinds():
            assert sum(group.place(kind, place).part for place in range(4)) == 2 * group.scored
        # In every round one of the two seats is the game's winner.
        for place in range(4):
            assert sum(group.wins(kind, place).part for kind in group.kinds()) == group.scored
    players = dict(tally.ranking())
    assert {name: each.games for name, each in players.items()} == {"alice": 33, "bob": 33}
    assert players["alice"].won == players["bob"].lost == row.seats[0] + road.seats[0]
    assert players["alice"].drawn == 0
    assert players["alice"].first + players["bob"].first == 32


def test_a_game_of_which_nothing_is_known_but_its_rules() -> None:
    tally = GameTally()
    for game in played(Showdown(), 0, 20):
        tally.add(game)
    (group,) = tally.groups.values()
    assert (group.games, group.finished) == (20, 20)
    assert group.scored == sum(number * times for number, times in group.rounds.items())
    assert group.most_places() > 0
    for place in range(group.most_places()):
        assert sum(group.wins(kind, place).part for kind in group.kinds()) <= group.places.total()


def test_a_shared_win_is_nobodys() -> None:
    tally = GameTally()
    ruleset = Hanamikoji(max_rounds=1)
    games = played(ruleset, 0, 50)
    shared = sum(game.winner is None for game in games)
    assert shared > 0
    for game in games:
        tally.add(game)
    (group,) = tally.groups.values()
    assert (group.finished, group.won) == (50, 50 - shared)
    assert all(each.drawn == shared for _, each in tally.ranking())


# --- arithmetic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "total", "low", "high"),
    [
        # From the literature (Newcombe 1998, method 3), to four digits.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_wilson_interval(part: int, total: int, low: float, high: float) -> None:
    interval = Share(part, total).interval
    assert interval is not None
    assert isclose(interval[0], low, abs_tol=5e-5)
    assert isclose(interval[1], high, abs_tol=5e-5)


@given(st.integers(1, 10**6), st.data())
def test_an_interval_holds_its_rate_and_is_mirrored(total: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, total))
    share, other = Share(part, total), Share(total - part, total)
    assert share.rate is not None
    assert share.interval is not None
    assert other.interval is not None
    low, high = share.interval
    assert 0 <= low <= share.rate + 1e-12
    assert share.rate - 1e-12 <= high <= 1
    assert isclose(low, 1 - other.interval[1], abs_tol=1e-9)


def test_shares_of_nothing() -> None:
    assert Share(0, 0).to_json() == {"count": 0, "total": 0, "rate": None, "interval95": None}
    assert spread(Counter()) is None


@given(st.lists(st.integers(0, 10**4), min_size=1))
def test_a_spread_is_that_of_the_list(numbers: list[int]) -> None:
    found = spread(Counter(numbers))
    assert found is not None
    assert (found.number, found.least, found.greatest) == (len(numbers), min(numbers), max(numbers))
    assert isclose(found.mean, sum(numbers) / len(numbers))
    assert found.median == sorted(numbers)[(len(numbers) - 1) // 2]


@given(st.integers(0, 10**9))
def test_three_digits_are_kept(number: int) -> None:
    rounded = three_digits(number)
    assert rounded <= number <= rounded * 1.01 + (number < 1000)
    assert len(str(rounded).rstrip("0")) <= 3
