"""The stops of a replay: the beginning of play, every decision, the scoring of a round, and the next deal.

This module knows entries, rounds and decisions, but no game. A stop's number counts decisions from 1; the beginning is
0. Stops without a decision (a round's end, a deal, the result) have the number of the decision before them.
"""

from __future__ import annotations

from typing import NamedTuple

from hkoji.game.replay import Replay, Step
from hkoji.rules.events import DECISIONS, Deal


class Stop(NamedTuple):
    """A position to look at: the game up to `step`, whose events may be cut before the next deal."""

    place: int
    """The step's place in the replay."""
    step: Step
    decision: int
    """The number of decisions made so far."""
    made: bool
    """Whether this step made one."""

    @property
    def seq(self) -> int:
        """The number of the entry."""
        return self.step.entry.seq

    @property
    def round(self) -> int:
        """The current round from 1; 0 before the first deal."""
        return self.step.course.state.round

    def until(self, replay: Replay) -> Replay:
        """Returns `replay`, to which this stop belongs, up to this stop."""
        return Replay((*replay.steps[: self.place], self.step))


def stops(replay: Replay) -> tuple[Stop, ...]:
    """Returns the stops of a replay that has steps, in order.

    A game that has not begun has one stop, after its last entry.
    """
    found: list[Stop] = []
    decision = 0
    for index, step in enumerate(replay.steps):
        made = any(isinstance(event, DECISIONS) for event in step.events)
        decision += made
        deal = next((at for at, event in enumerate(step.events) if isinstance(event, Deal)), 0)
        if deal and found:
            found.append(Stop(index, _before(replay.steps[index - 1], step, deal), decision, made))
            made = False
        if step.course.state.round or index == len(replay.steps) - 1:
            found.append(Stop(index, step, decision, made))
    return tuple(found)


def _before(previous: Step, step: Step, length: int) -> Step:
    """Returns `step` with only its first `length` events."""
    events = step.events[:length]
    state = previous.course.state
    for event in events:
        state = state.apply(event)
    return step._replace(events=events, course=step.course._replace(state=state))


def at_entry(found: tuple[Stop, ...], seq: int) -> int | None:
    """Finds the index of the stop after entry `seq`: the first stop for an entry before play; None if there is none."""
    if 0 <= seq < found[0].seq:
        return 0
    return next((index for index, stop in reversed([*enumerate(found)]) if stop.seq == seq), None)


def at_decision(found: tuple[Stop, ...], number: int) -> int | None:
    """Finds the index of the stop after decision `number`; 0 is the beginning. None if there is no such decision."""
    if number == 0:
        return 0
    return next((index for index, stop in enumerate(found) if stop.made and stop.decision == number), None)


def at_round(found: tuple[Stop, ...], number: int) -> int | None:
    """Finds the index of the stop at which round `number` begins; None if there is no such round."""
    return next((index for index, stop in enumerate(found) if stop.round == number), None)
