"""The facts of one game for statistics: a small value made from its replay, without any card.

It works for every game: an action's kind is the first character of its notation, a round's starting player is the seat
that acts first in it, and its winner is the seat whose count of won rounds (`State.wins`) has grown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hkoji.game.replay import Replay
from hkoji.rules.events import DECISIONS, Act, Answer, Deal, Event, Order, Seat
from hkoji.rules.protocol import Due, State


class Round(NamedTuple):
    """A round. If it was broken off, `scored` is False and the other fields count what was played of it."""

    first: Seat | None = None
    """The seat that acts first; None if no seat acted."""
    actions: tuple[str, str] = ("", "")
    """Each seat's actions in the order in which it took them: `4132`."""
    decisions: int = 0
    offers: int = 0
    """The number of answered proposals."""
    orders: int = 0
    """The number of answered proposals after which the actor had to choose an order."""
    hand_overs: int = 0
    """The number of decisions that were followed, in the same round, by a decision of the other seat."""
    scored: bool = False
    winner: Seat | None = None
    """The winner, in a game whose rounds are won."""


class GameRecord(NamedTuple):
    """A game. `seconds` is the time from the guest's joining to the last entry, by receipts; None without receipts."""

    game: str
    ruleset: str
    """The game and its options, as in a transcript's tag."""
    name: str
    names: tuple[str | None, str | None]
    finished: bool
    reason: str | None
    winner: Seat | None
    rounds: tuple[Round, ...]
    seconds: int | None = None

    @property
    def decisions(self) -> int:
        """All decisions of the game."""
        return sum(each.decisions for each in self.rounds)


def record(replay: Replay, ruleset: str, seconds: int | None = None) -> GameRecord:
    """Makes the record of a replay that has steps. `ruleset` names game and options."""
    course = replay.steps[-1].course
    outcome = course.outcome
    rounds: list[_Counting] = []
    for step in replay.steps:
        for event in step.events:
            if isinstance(event, Deal):
                rounds.append(_Counting())
            elif rounds:
                rounds[-1].count(event)
    # A round followed by another has been scored. The last one has been scored only if the rules ended it.
    scored = course.state.due is Due.DEAL or (outcome is not None and outcome.reason in course.setup.ruleset.reasons)
    counted = [each.done(scored=scored or each is not rounds[-1]) for each in rounds]
    for number, winner in _round_winners(step.course.state for step in replay.steps).items():
        counted[number - 1] = counted[number - 1]._replace(winner=winner)
    finished = course.finished
    return GameRecord(
        game=course.setup.game,
        ruleset=ruleset,
        name=course.setup.ruleset.name,
        names=course.setup.names,
        finished=finished,
        reason=outcome.reason if outcome and finished else None,
        winner=outcome.winner if outcome and finished else None,
        rounds=tuple(counted),
        seconds=seconds,
    )


def _round_winners(states: Iterable[State]) -> dict[int, Seat]:
    """Returns each round's winner by the round's number.

    It leaves out shared rounds, and all rounds in a game that does not count them as won.
    """
    found: dict[int, Seat] = {}
    before = (0, 0)
    for state in states:
        if state.wins is not None and state.wins != before:
            # The entry that scores a round brings the next deal with it, if there is one.
            scored = state.round if state.due is Due.OVER else state.round - 1
            found[scored] = int(state.wins[1] > before[1])
            before = state.wins
    return found


class _Counting:
    def __init__(self) -> None:
        self.first: Seat | None = None
        self.last: Seat | None = None
        self.actions = ["", ""]
        self.decisions = self.offers = self.orders = self.hand_overs = 0

    def count(self, event: Event) -> None:
        if not isinstance(event, DECISIONS):
            return
        self.decisions += 1
        self.hand_overs += self.last is not None and self.last != event.seat
        self.last = event.seat
        if isinstance(event, Act):
            self.first = event.seat if self.first is None else self.first
            self.actions[event.seat] += event.action[0]
        self.offers += isinstance(event, Answer)
        self.orders += isinstance(event, Order)

    def done(self, *, scored: bool) -> Round:
        host, guest = self.actions
        return Round(
            self.first,
            (host, guest),
            self.decisions,
            self.offers,
            self.orders,
            self.hand_overs,
            scored,
        )
