"""Eyes: a seat's show what that seat had seen at the time, for every game, and nothing hidden. Stops are every
decision and every round's end, each once.
"""

from __future__ import annotations

import random

import pytest

from hkoji import referee
from hkoji.errors import IllegalError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.replay import Replay, replay, replay_own
from hkoji.rules.events import DECISIONS, Deal, project
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.study.stops import (
    ALL,
    EVERY,
    GUEST,
    HOST,
    SPECTATOR,
    Eyes,
    at_decision,
    at_entry,
    at_round,
    knows,
    parse_eyes,
    see,
    stops,
)
from tests.support.redistribution import RULESETS, replayed, retold
from tests.support.table import NAMES, Table, new_game, whole_game

every_ruleset = pytest.mark.parametrize("ruleset", RULESETS, ids=lambda r: f"{r.name}-{r.first}")

every_seed = pytest.mark.parametrize("seed", range(4))
some_eyes = pytest.mark.parametrize("eyes", [HOST, GUEST, SPECTATOR], ids=lambda eyes: eyes.word)


@every_ruleset
@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_sees_afterwards_what_it_saw_then(ruleset: Ruleset, seat: int) -> None:
    """At every entry of a finished game: the position that the player's own client showed at that time."""
    table = new_game(7, ruleset)
    then = {}
    while table.course.status == "playing":
        mine = tuple(o for o in table.refereed.openings if table.lines[o.seq].entry.by == NAMES[seat])
        own = replay_own(table.lines, seat, referee.view(table.refereed, seat), mine).course
        assert own is not None
        then[own.seq] = own
        table.play(1)
    seen = see(replay(table.lines), (HOST, GUEST)[seat])
    compared = 0
    for step in seen.steps:
        if step.entry.seq in then:
            assert step.course.state == then[step.entry.seq].state
            assert step.course.dealt == then[step.entry.seq].dealt
            compared += 1
    assert compared == len(then) >= 12


@every_ruleset
@every_seed
@some_eyes
def test_eyes_are_the_projection(ruleset: Ruleset, seed: int, eyes: Eyes) -> None:
    full = replayed(seed, ruleset)
    seen = see(full, eyes)
    for step, known in zip(seen.steps, full.steps, strict=True):
        assert step.events == tuple(project(event, eyes.seat, ruleset.public) for event in known.events)
        assert step.course.state == known.course.state.project(eyes.seat)
        assert (step.entry, step.body) == (known.entry, known.body)
    assert see(full, ALL) is full
    assert see(seen, eyes) == seen


@every_ruleset
@every_seed
@some_eyes
def test_eyes_do_not_depend_on_hidden_cards(ruleset: Ruleset, seed: int, eyes: Eyes) -> None:
    full = replayed(seed, ruleset)
    other = retold(full, eyes.seat, random.Random(seed))
    assert see(other, eyes) == see(full, eyes)
    assert other != full


def test_an_unknown_card_is_not_shown() -> None:
    table = new_game(5).play(8)
    public = replay(table.lines)
    assert not knows(public, 0)
    assert not knows(public, 1)
    for eyes in (HOST, GUEST):
        with pytest.raises(IllegalError, match=f"does not reveal what the {eyes.word} saw"):
            see(public, eyes)
    assert see(public, SPECTATOR).events == public.events
    own = replay_own(table.lines, 0, referee.view(table.refereed, 0), referee.own_openings(table.refereed, 0))
    assert see(own, HOST).events == own.events
    with pytest.raises(IllegalError, match="does not reveal what the guest saw"):
        see(own, GUEST)


def test_before_the_cards_are_dealt_everybody_knows_as_much() -> None:
    before = replay(new_game(5).lines[:4])
    assert all(len(see(before, eyes).steps) == 4 for eyes in EVERY)
    assert see(Replay(()), HOST) == Replay(())


def test_words_for_eyes() -> None:
    names = ("alice", "bob")
    assert [parse_eyes(each.word, names) for each in EVERY] == list(EVERY)
    assert parse_eyes("alice", names) == HOST
    assert parse_eyes("bob", names) == GUEST
    assert parse_eyes("guest", ("guest", "bob")) == GUEST
    with pytest.raises(UsageError, match="no eyes of 'carol'") as caught:
        parse_eyes("carol", names)
    assert "alice, bob" in caught.value.hint


@every_ruleset
def test_an_unopened_seed_keeps_the_hands_until_the_unseal(ruleset: Ruleset) -> None:
    table = Table(ruleset, 3, deal=("5e" * 16, "7a" * 32)).begin().play()
    unopened = replay(table.lines)
    for eyes in (HOST, GUEST):
        with pytest.raises(IllegalError):
            see(unopened, eyes)
    spectator = see(unopened, SPECTATOR)
    table.unseal()
    full = replay(table.lines)
    # Cards opened at the end were face down for a spectator of the time.
    assert see(full, SPECTATOR).events == spectator.events
    for eyes in (HOST, GUEST):
        assert see(full, eyes).steps[-2].course.state == full.steps[-2].course.state.project(eyes.seat)


# --- stops ------------------------------------------------------------------------------------------------------------


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
