"""Where a replay stops: as play begins, after every decision, when a round is scored, and after its next deal.

Knows entries, rounds and decisions, and nothing of any game. A stop's number counts decisions from 1; the beginning
is 0, and what nobody decided (a round's end, a deal, the result) stands at the number of the decision before it.
"""

from __future__ import annotations

from typing import NamedTuple

from hkoji.game.replay import Replay, Step
from hkoji.rules.events import DECISIONS, Deal


class Stop(NamedTuple):
    """A position to look at: the game up to `step`, of which the events may be only those before the next deal."""

    place: int
    """The step's place in the replay."""
    step: Step
    decision: int
    """How many decisions have been made."""
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
        """`replay`, to which this stop belongs, as far as this stop."""
        return Replay((*replay.steps[: self.place], self.step))


def stops(replay: Replay) -> tuple[Stop, ...]:
    """The stops of a replay that has steps, in order; a game that has not begun has one, after its last entry."""
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
    """`step` with its first `length` events only."""
    events = step.events[:length]
    state = previous.course.state
    for event in events:
        state = state.apply(event)
    return step._replace(events=events, course=step.course._replace(state=state))


def at_entry(found: tuple[Stop, ...], seq: int) -> int | None:
    """The index of the stop after entry `seq`; the first one if the entry comes before play; None if there is none."""
    if 0 <= seq < found[0].seq:
        return 0
    return next((index for index, stop in reversed([*enumerate(found)]) if stop.seq == seq), None)


def at_decision(found: tuple[Stop, ...], number: int) -> int | None:
    """The index of the stop after decision `number`; 0 is the beginning. None if there is no such decision."""
    if number == 0:
        return 0
    return next((index for index, stop in enumerate(found) if stop.made and stop.decision == number), None)


def at_round(found: tuple[Stop, ...], number: int) -> int | None:
    """The index of the stop at which round `number` begins; None if there is no such round."""
    return next((index for index, stop in enumerate(found) if stop.round == number), None)
