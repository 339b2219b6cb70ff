"""Matches: both ways to play agree, deals are duplicate, processes make no difference, and bots may fail."""

from __future__ import annotations

import os
import pickle
import random
import signal
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.arena import match
from hkoji.arena.match import PlayedGame, play, play_deal
from hkoji.arena.plan import TABLES, MatchPlan, seated
from hkoji.arena.referees import LoggingReferee, RulesReferee
from hkoji.bots import registry
from hkoji.bots.protocol import Seen
from hkoji.bots.registry import RandomBot
from hkoji.errors import HkojiError, SeatedBotError
from hkoji.game.replay import replay
from hkoji.log.line import parse_log
from hkoji.rules.events import Act, Deal, Draw, Event
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.rules import GAMES, choose, fewer

RULESETS = st.sampled_from([ruleset for game in GAMES for ruleset in game.rulesets])
SEEDS = st.text("abcdefghij0123456789 .:", min_size=1, max_size=12)


def plan(
    deals: int = 3,
    seed: str = "5",
    bots: tuple[str, str] = ("random", "random"),
    ruleset: Ruleset | None = None,
) -> MatchPlan:
    return MatchPlan(bots, ruleset or Hanamikoji(), deals, seed)


def rules_of(made: MatchPlan, number: int) -> RulesReferee:
    terms, seed = made.deal(number)
    dealer = terms.dealer("", made.ruleset, seed, (None, None))
    assert dealer is not None
    return RulesReferee(made.ruleset, dealer)


# --- two referees, one game -------------------------------------------------------------------------------------------


@fewer
@given(RULESETS, SEEDS, st.integers(1, 1000), st.sampled_from(TABLES), st.integers(0, 2**32))
def test_rules_and_scribe_referee_alike_and_the_log_tells_the_same(
    ruleset: Ruleset, seed: str, number: int, table: str, moves: int
) -> None:
    made = plan(seed=seed, ruleset=ruleset)
    quick, scribe = rules_of(made, number), LoggingReferee(made, number, table)
    happened: list[Event] = list(quick.begin())
    assert tuple(happened) == scribe.begin()
    chance = random.Random(moves)
    while quick.state.due is not Due.OVER:
        assert quick.state == scribe.state
        action = choose(quick.state.legal_actions(), chance)
        events = quick.decide(action)
        assert events == scribe.decide(action)
        happened.extend(events)
    assert quick.state == scribe.state
    log = replay(parse_log(scribe.unseal()))
    assert log.stop is None
    assert log.events == tuple(happened)


@pytest.mark.parametrize("action", ["1X", "9A", "", "-", "4ABCD ", "1Z", "x", "RX", "0"])
@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()])
def test_a_refused_action_changes_nothing_and_reads_the_same_in_both(action: str, ruleset: Ruleset) -> None:
    made = plan(ruleset=ruleset)
    said = []
    for referee in (rules_of(made, 1), LoggingReferee(made, 1, "a")):
        referee.begin()
        before = referee.state
        with pytest.raises(HkojiError) as caught:
            referee.decide(action)
        assert referee.state is before
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


@fewer
@given(RULESETS, SEEDS)
def test_keeping_logs_does_not_change_the_games(ruleset: Ruleset, seed: str) -> None:
    made = plan(seed=seed, ruleset=ruleset)
    quick = play_deal(made, 2, perf_counter)
    kept = play_deal(made, 2, perf_counter, keep=True)
    assert quick.games == kept.games
    assert [len(times) for times in quick.times] == [len(times) for times in kept.times]
    assert quick.logs == ()
    for game, log in zip(kept.games, kept.logs, strict=True):
        course = replay(parse_log(log)).course
        assert course is not None
        outcome = course.outcome
        assert outcome is not None
        assert game.reason == outcome.reason
        assert game.winner == (None if outcome.winner is None else seated(game.table, outcome.winner))
        assert sum(game.moves) == sum(line.entry.kind == "move" for line in parse_log(log))
        assert game.rounds == course.state.round


# --- duplicate deals --------------------------------------------------------------------------------------------------


@fewer
@given(RULESETS, SEEDS, st.integers(1, 10**6))
def test_both_tables_of_a_deal_have_the_same_cards_and_exchanged_seats(
    ruleset: Ruleset, seed: str, number: int
) -> None:
    played = play_deal(plan(seed=seed, ruleset=ruleset), number, perf_counter, keep=True)
    logs = [replay(parse_log(log)) for log in played.logs]
    deals = [[event for event in log.events if isinstance(event, Deal)] for log in logs]
    common = min(len(each) for each in deals)
    assert common
    assert deals[0][:common] == deals[1][:common]
    names = [log.course.setup.names for log in logs if log.course]
    assert names == [("random-1", "random-2"), ("random-2", "random-1")]
    starters = [next(event.seat for event in log.events if isinstance(event, Draw)) for log in logs]
    assert [game.starter for game in played.games] == [
        seated(table, seat) for table, seat in zip(TABLES, starters, strict=True)
    ]


def test_the_starting_player_is_exchanged_with_the_seats() -> None:
    for first, starter in (("host", 0), ("guest", 1)):
        one, other = play_deal(plan(ruleset=Hanamikoji(first)), 1, perf_counter).games
        assert (one.starter, other.starter) == (starter, 1 - starter)


def test_deals_seeds_and_games_are_told_apart() -> None:
    made = plan()
    assert len({made.deal(number) for number in range(1, 50)}) == 49
    places = [(number, table) for number in range(1, 50) for table in TABLES]
    assert len({made.bot_seed(*place, bot) for place in places for bot in (0, 1)}) == 2 * len(places)
    assert all(0 <= made.bot_seed(*place, 0) < 2**63 for place in places)
    others = (plan(seed="6"), plan(bots=("random", "greedy")), plan(ruleset=Hanamikoji("guest")))
    assert len({each.game(*place) for each in (made, *others) for place in places}) == 4 * len(places)
    assert made.deal(1) != others[0].deal(1)
    assert made.deal(1) == others[1].deal(1) == others[2].deal(1)


@pytest.mark.parametrize(
    ("bots", "labels"),
    [
        (("random", "greedy"), ("random", "greedy")),
        (("random", "random"), ("random-1", "random-2")),
        (("./My Bot", "../other/my-bot"), ("my-bot-1", "my-bot-2")),
        (("cmd:python3 mybot.py --fast", "server"), ("cmd-python3-mybot-py---fast", "bot-server")),
        (("./\u00e9", "x"), ("bot-x-1", "bot-x-2")),
    ],
)
def test_bots_get_names_that_a_log_takes(bots: tuple[str, str], labels: tuple[str, str]) -> None:
    assert plan(bots=bots).labels == labels
    scribe = LoggingReferee(plan(bots=bots), 1, "b")
    scribe.begin()


# --- what bots are shown, and that they are closed --------------------------------------------------------------------


class Spy(RandomBot):
    """Plays at random and remembers what it saw, and whether it was closed."""

    made: list[Spy]

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed = seed
        self.seen: list[Seen] = []
        self.closed = 0
        self.made.append(self)

    def decide(self, seen: Seen) -> str:
        self.seen.append(seen)
        return super().decide(seen)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def spies(monkeypatch: pytest.MonkeyPatch) -> list[Spy]:
    monkeypatch.setattr(Spy, "made", [], raising=False)
    monkeypatch.setitem(registry.BOTS, "spy", Spy)
    return Spy.made


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()])
def test_a_bot_sees_its_own_seat_only_and_is_closed_after_its_game(ruleset: Ruleset, spies: list[Spy]) -> None:
    played = play_deal(plan(bots=("spy", "spy"), ruleset=ruleset), 1, perf_counter)
    assert len(spies) == 4
    assert len({spy.seed for spy in spies}) == 4
    assert all(spy.closed == 1 for spy in spies)
    for index, spy in enumerate(spies):
        assert len(spy.seen) == played.games[index // 2].moves[seated(TABLES[index // 2], index % 2)]
        for seen in spy.seen:
            assert seen.seat == index % 2
            assert seen.view.actor == seen.seat
            for event in seen.events:
                if isinstance(event, Deal):
                    assert "X" not in event.hands[seen.seat]
                    assert set(event.hands[1 - seen.seat] + event.rest + event.aside) == {"X"}
                if isinstance(event, Act) and event.seat != seen.seat:
                    assert event.action == ruleset.public(event.action)


class Broken(Spy):
    """A bot that fails at its third decision."""

    how = "crash"

    def decide(self, seen: Seen) -> str:
        if len(self.seen) < 2:
            return super().decide(seen)
        if self.how == "crash":
            return str(1 / 0)
        return None if self.how == "none" else self.how  # type: ignore[return-value] # a bot may do this


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("crash", "ZeroDivisionError: division by zero (test_match.py, line "),
        ("none", "TypeError: a decision is text, not NoneType"),
        ("9A", "'9A' is not a move"),
        ("1X", "1X is not legal"),
        ("-A", "-A is not legal"),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_a_bot_that_fails_is_named_with_its_game(
    how: str, said: str, keep: bool, spies: list[Spy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broken, "how", how)
    monkeypatch.setattr(Broken, "made", spies)
    monkeypatch.setitem(registry.BOTS, "broken", Broken)
    with pytest.raises(SeatedBotError) as caught:
        play_deal(plan(bots=("spy", "broken"), seed="11"), 7, perf_counter, keep=keep)
    error = caught.value
    assert (error.bot, error.deal, error.table, error.seat) == ("broken", 7, "a", 1)
    assert str(error).startswith(f"broken failed in game 7a: {said}")
    assert all(spy.closed == 1 for spy in spies)
    assert error.position[0].startswith("1. =")
    assert "XXXXXX/" in error.position[0]
    for line in error.position:
        assert line in error.hint
    assert pickle.loads(pickle.dumps(error)).hint == error.hint


# --- processes --------------------------------------------------------------------------------------------------------


def in_order(played: list[PlayedGame]) -> list[tuple[object, ...]]:
    return sorted((one.games, one.logs) for one in played)


def test_the_number_of_processes_does_not_change_anything() -> None:
    made = plan(deals=9, bots=("random", "greedy"))
    alone = in_order(list(play(made, jobs=1, keep=True)))
    assert [games[0].deal for games, _ in alone] == list(range(1, 10))  # type: ignore[index] # games
    for jobs in (2, 3):
        assert in_order(list(play(made, jobs=jobs, keep=True))) == alone
        assert not active_children()


def test_processes_end_when_nobody_wants_more() -> None:
    with closing(play(plan(deals=10**6), jobs=2)) as deals:
        for _ in range(5):
            next(deals)
        assert len(active_children()) == 2
    assert not active_children()


def test_a_process_that_does_not_end_in_time_has_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "FAREWELL", 0.0)
    with closing(play(plan(deals=10**6), jobs=2)) as deals:
        next(deals)
    assert not active_children()


def test_a_process_that_dies_is_not_waited_for() -> None:
    deals = play(plan(deals=10**6), jobs=2)
    next(deals)
    victim = active_children()[0]
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(HkojiError, match="a process of the match has died"):
        for _ in deals:
            pass
    assert not active_children()


def test_a_bot_that_fails_in_another_process_is_named_too(tmp_path: Path) -> None:
    program = tmp_path / "stubborn"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 9Z\n")
    program.chmod(0o755)
    with pytest.raises(SeatedBotError, match="stubborn failed in game") as caught:
        list(play(plan(deals=4, bots=("random", str(program))), jobs=2))
    assert caught.value.position
    assert not active_children()
