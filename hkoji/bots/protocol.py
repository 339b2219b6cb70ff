"""What a bot is, and all that it sees.

The information state is the events of a game as one seat has seen them; their fold is that seat's view. Both are
handed over, so that a bot may reason from the history without folding it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from hkoji.rules.events import Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


class Seen(NamedTuple):
    """An information state: what `seat` has seen of a game so far (`events`), and the view it makes (`view`)."""

    seat: Seat
    events: tuple[Event, ...]
    view: State


class Bot(Protocol):
    """A player. A bot may keep what it likes between decisions; it plays one seat of one game at a time."""

    def decide(self, seen: Seen) -> str:
        """One of `seen.view.legal_actions()`, which are not empty: the seat's own decision is due."""

    def close(self) -> None:
        """Gives back what the bot holds (processes, files); it is not asked again."""


def see(ruleset: Ruleset, events: Iterable[Event], seat: Seat) -> Seen:
    """What `seat` sees of a game's events, be they the referee's or already the seat's own."""
    seen = tuple(project(event, seat, ruleset.public) for event in events)
    view: State = ruleset.initial()
    for event in seen:
        view = view.apply(event)
    return Seen(seat, seen, view)
