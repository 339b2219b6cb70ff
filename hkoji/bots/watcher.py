"""What a seat sees of a game as it goes on: each event is projected and applied once, and never folded again."""

from __future__ import annotations

from collections.abc import Iterable

from hkoji.bots.protocol import Seen
from hkoji.rules.events import Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


class Watcher:
    """Watches a game from `seat`. After any events, `seen` is what `hkoji.bots.protocol.see` makes of all of them."""

    def __init__(self, ruleset: Ruleset, seat: Seat) -> None:
        self._hide = ruleset.public
        self.seen = Seen(seat, (), ruleset.initial())

    def watch(self, events: Iterable[Event]) -> None:
        """Sees what has happened; `events` are the referee's. Raises what `State.apply` raises."""
        seat, before, view = self.seen
        state: State = view
        seen = tuple(project(event, seat, self._hide) for event in events)
        for event in seen:
            state = state.apply(event)
        self.seen = Seen(seat, before + seen, state)
