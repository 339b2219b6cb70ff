"""The `Bot` protocol, and the information state that a bot sees.

The information state is the events of a game as one seat has seen them; their fold is that seat's view. A bot gets
both, so that it can use the history without folding it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from hkoji.rules.events import Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


class Seen(NamedTuple):
    """An information state: the events that `seat` has seen of a game so far, and the view that results."""

    seat: Seat
    events: tuple[Event, ...]
    view: State


class Bot(Protocol):
    """A player of one seat of one game at a time. A bot may keep any state between decisions."""

    def decide(self, seen: Seen) -> str:
        """Returns one of `seen.view.legal_actions()`, which is not empty: the seat's own decision is due."""

    def close(self) -> None:
        """Releases the bot's resources (processes, files); most bots have none. `decide` is not called again."""


def see(ruleset: Ruleset, events: Iterable[Event], seat: Seat) -> Seen:
    """Returns what `seat` sees of a game's events, which are the referee's or already those that the seat sees."""
    seen = tuple(project(event, seat, ruleset.public) for event in events)
    view: State = ruleset.initial()
    for event in seen:
        view = view.apply(event)
    return Seen(seat, seen, view)


class Watcher:
    """Watches a game from `seat`. At any time, `seen` equals what `see` returns for all events."""

    def __init__(self, ruleset: Ruleset, seat: Seat) -> None:
        self._hide = ruleset.public
        self.seen = Seen(seat, (), ruleset.initial())

    def watch(self, events: Iterable[Event]) -> None:
        """Adds the referee's `events`, as the seat sees them. Raises what `State.apply` raises."""
        seat, before, view = self.seen
        state: State = view
        seen = tuple(project(event, seat, self._hide) for event in events)
        for event in seen:
            state = state.apply(event)
        self.seen = Seen(seat, before + seen, state)
