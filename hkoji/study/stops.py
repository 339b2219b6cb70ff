"""Going through a finished game: the stops of a replay, and the eyes through which it is seen.

The stops are the beginning of play, every decision, the scoring of a round, and the next deal. They know entries,
rounds and decisions, but no game. A stop's number counts decisions from 1; the beginning is 0. Stops without a decision
(a round's end, a deal, the result) have the number of the decision before them.

Eyes show what a seat saw at the time, what a spectator could see, or all that is known. A seat's view is made only from
its projected events and the positions folded from them, so it cannot show anything that the seat could not know. A log
reveals a seat's cards with its end. Before that, only a spectator's view is possible.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.errors import IllegalError, UsageError
from hkoji.game.replay import Replay, Step
from hkoji.messages.text import shorten, tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import DECISIONS, SEATS, Act, Deal, Draw, Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


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


class Eyes(NamedTuple):
    """The observer of a game. `seat` is None for a spectator and for `open_`, which shows all seats' known cards."""

    word: str
    seat: Seat | None
    open_: bool = False


HOST: Final = Eyes("host", 0)
GUEST: Final = Eyes("guest", 1)
ALL: Final = Eyes("all", None, True)
SPECTATOR: Final = Eyes("spectator", None)
EVERY: Final = (HOST, GUEST, ALL, SPECTATOR)
"""All eyes, in the order in which a reader switches through them."""


def parse_eyes(text: str, names: tuple[str | None, str | None]) -> Eyes:
    """Parses `host`, `guest`, `all`, `spectator`, or a player's name; the four words take precedence over names.

    Raises `UsageError`.
    """
    for eyes in EVERY:
        if text == eyes.word:
            return eyes
    if text in names:
        return EVERY[names.index(text)]
    known = ", ".join(name for name in names if name)
    raise UsageError(
        tell("there are no eyes of {text!r}", text=shorten(text)),
        hint=tell("one of host, guest, all, spectator, or a player: {names}", names=known)
        if known
        else tell("one of host, guest, all, spectator"),
    )


def knows(replay: Replay, seat: Seat) -> bool:
    """Reports whether the replay knows all that `seat` has seen: every card it was dealt, has drawn and has played."""
    return not any(UNKNOWN in _own(event, seat) for event in replay.events)


def _own(event: Event, seat: Seat) -> str:
    match event:
        case Deal(hands):
            return hands[seat]
        case Draw(owner, card) if owner == seat:
            return card
        case Act(owner, action) if owner == seat:
            return action
        case _:
            return ""


def see(replay: Replay, eyes: Eyes) -> Replay:
    """Returns the same game through `eyes`. Raises `IllegalError` for a seat whose cards the replay does not know."""
    if eyes.open_ or not replay.steps:
        return replay
    if eyes.seat is not None and not knows(replay, eyes.seat):
        raise IllegalError(
            tell("this log does not reveal what the host saw")
            if eyes.seat == 0
            else tell("this log does not reveal what the guest saw"),
            hint=tell("in a sealed game you see only your own cards, and only with its sealed key")
            if replay.steps[-1].course.sealed is not None
            else tell("a log reveals its cards with its end; a game that is not over can be seen as --eyes spectator"),
        )
    state: State = replay.steps[0].course.setup.ruleset.initial()
    steps: list[Step] = []
    for step in replay.steps:
        ruleset = step.course.setup.ruleset
        events = tuple(project(event, eyes.seat, ruleset.public) for event in step.events)
        for event in events:
            state = state.apply(event)
        dealt = tuple(_seen_dealt(ruleset, hands, eyes.seat) for hands in step.course.dealt)
        steps.append(step._replace(events=events, course=step.course._replace(state=state, dealt=dealt)))
    return Replay(tuple(steps), replay.stop)


def _seen_dealt(ruleset: Ruleset, hands: tuple[str, str], seat: Seat | None) -> tuple[str, str]:
    host, guest = (
        cards if owner == seat else UNKNOWN * len(ruleset.pack.split(cards))
        for owner, cards in zip(SEATS, hands, strict=True)
    )
    return host, guest
