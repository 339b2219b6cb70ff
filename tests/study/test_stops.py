"""Stops of a replay: every decision once, every round's end before its next deal, and nothing else."""

from __future__ import annotations

import pytest

from hkoji.game import entry_kinds
from hkoji.game.replay import replay
from hkoji.rules.events import DECISIONS, Deal
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.study.stops import EVERY, Eyes, at_decision, at_entry, at_round, see, stops
from tests.support.redistribution import RULESETS, replayed
from tests.support.table import new_game, whole_game


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: f"{ruleset.name}-{ruleset.first}")
@pytest.mark.parametrize("eyes", EVERY, ids=lambda eyes: eyes.word)
def test_every_event_of_play_is_passed_once(ruleset: Ruleset, eyes: Eyes) -> None:
    seen = see(replayed(3, ruleset), eyes)
    found = stops(seen)
    decided = [event for event in seen.events if isinstance(event, DECISIONS)]
    assert [stop.decision for stop in found if stop.made] == [*range(1, len(decided) + 1)]
    for number in range(len(decided) + 1):
        index = at_decision(found, number)
        assert index is not None
        assert found[index].decision == number
    assert at_decision(found, len(decided) + 1) is None
    rounds = sum(isinstance(event, Deal) for event in seen.events)
    ends = [stop for stop in found if stop.step.course.state.due is Due.DEAL]
    assert len(ends) == rounds - 1
    for stop in found:
        assert stop.until(seen).events == seen.events[: len(stop.until(seen).events)]
        state = seen.steps[0].course.setup.ruleset.initial()
        for event in stop.until(seen).events:
            state = state.apply(event)
        assert state == stop.step.course.state
    assert found[-1].until(seen).steps == seen.steps


def test_finding_places() -> None:
    table = whole_game(2, Hanamikoji(max_rounds=2, tiebreak="charm"))
    found = stops(replay(table.lines))
    first = found[0]
    assert (first.seq, first.decision, first.round) == (4, 0, 1)
    assert [at_entry(found, seq) for seq in (0, 4, 5)] == [0, 0, 1]
    assert at_entry(found, len(table.lines)) is None
    assert at_entry(found, -1) is None
    assert at_round(found, 1) == 0
    assert at_round(found, 3) is None
    second = at_round(found, 2)
    if second is not None:
        assert found[second - 1].seq == found[second].seq
        assert at_entry(found, found[second].seq) == second
        assert found[second - 1].step.course.state.due is Due.DEAL


def test_a_game_that_has_not_begun_has_one_stop() -> None:
    for count in (1, 2, 4):
        (stop,) = stops(replay(new_game(1).lines[:count]))
        assert (stop.seq, stop.decision, stop.round) == (count - 1, 0, 0)


@pytest.mark.parametrize("moves", [0, 1, 5])
def test_a_resigned_game_stops_at_the_resignation_and_at_the_end(moves: int) -> None:
    table = new_game(3).play(moves)
    table.send(table.entry(1, entry_kinds.Resign()))
    found = stops(replay(table.lines))
    assert len(found) == 1 + moves + 2
    assert [stop.made for stop in found[-2:]] == [False, False]
    assert [stop.step.entry.kind for stop in found[-2:]] == ["resign", "end"]
