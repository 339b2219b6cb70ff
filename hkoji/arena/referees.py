"""The referee of a match's game: its protocol, and one that uses only the rules, for speed.

A `MatchReferee` takes decisions and returns the events, with all cards known. It deals, draws and reveals by itself
until the next decision is due. The referee that writes a signed log is in `hkoji.arena.logging_referee`.
"""

from __future__ import annotations

from typing import Protocol

from hkoji.game.dealer import Dealer
from hkoji.rules.events import Deal, Decision, Draw, Event, Reveal
from hkoji.rules.protocol import DECISION_KINDS, Due, Ruleset, State


class MatchReferee(Protocol):
    """A game in progress."""

    @property
    def state(self) -> State:
        """The position, with all cards known."""

    def begin(self) -> tuple[Event, ...]:
        """Starts the game and returns the events up to the first decision."""

    def decide(self, action: str) -> tuple[Event, ...]:
        """Applies the actor's decision, in canonical notation, and returns the events up to the next decision.

        Raises `HkojiError`, and changes nothing, if the decision is not possible.
        """


class RulesReferee:
    """A referee that applies events and keeps nothing else."""

    def __init__(self, ruleset: Ruleset, dealer: Dealer) -> None:
        self._ruleset = ruleset
        self._dealer = dealer
        self._counting: dict[int, str] = {}
        self._state: State = ruleset.initial()

    @property
    def state(self) -> State:
        """The position."""
        return self._state

    def begin(self) -> tuple[Event, ...]:
        """Applies chance, the first deal and the first draw."""
        return self._go_on(())

    def decide(self, action: str) -> tuple[Event, ...]:
        """Applies the actor's decision."""
        state = self._state
        seat = state.actor
        assert seat is not None
        event: Decision = DECISION_KINDS[state.due](seat, action)
        self._state = state.apply(event)
        if state.due is Due.ACT:
            for hidden in self._ruleset.hidden(action):
                if hidden.counts:
                    self._counting[seat] = hidden.cards
        return self._go_on((event,))

    def _go_on(self, happened: tuple[Event, ...]) -> tuple[Event, ...]:
        """Applies the events that follow without a decision."""
        state, events = self._state, list(happened)
        width = self._ruleset.pack.width
        while True:
            event: Event | None
            match state.due:
                case Due.DRAW:
                    assert state.actor is not None
                    event = Draw(state.actor, state.deck[:width])
                case Due.DEAL:
                    event = self._deal(state.round + 1)
                case Due.REVEAL:
                    seat = state.due_reveals()[0]
                    event = Reveal(seat, self._counting.pop(seat))
                case Due.CHANCE:
                    event = self._dealer.chance()
                    assert event is not None
                case _:
                    break
            state = state.apply(event)
            events.append(event)
        self._state = state
        return tuple(events)

    def _deal(self, round_number: int) -> Deal:
        """Returns a deal with sorted hands, as in a log's replay."""
        raw, pack = self._dealer.deal(round_number), self._ruleset.pack
        hands = (pack.decode(pack.encode(raw.hands[0])), pack.decode(pack.encode(raw.hands[1])))
        return Deal(hands, raw.rest, raw.aside)
