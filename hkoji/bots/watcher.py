"""A seat's information state of a game in progress: each event is projected and applied only once."""

from __future__ import annotations

from collections.abc import Iterable

from hkoji.bots.protocol import Seen
from hkoji.rules.events import Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


class Watcher:
    """Watches a game from `seat`. At any time, `seen` equals what `hkoji.bots.protocol.see` returns for all events."""

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
