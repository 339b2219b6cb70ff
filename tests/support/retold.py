"""A finished game with other cards wherever an observer could not see them.

The entries stay as they are, so the log would not hold; but no output for the observer may differ.
"""

from __future__ import annotations

import random
from typing import Final

from hkoji.game.replay import Replay, replay
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Deal, Draw, Event, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset, State
from hkoji.rules.transcript import format_ruleset
from tests.support.redistribution import redistribute
from tests.support.table import whole_game

RULESETS: tuple[Ruleset, ...] = (Hanamikoji("random", 2, "charm"), GeishasRoad(), GeishasRoad("random", "random"))
"""The games that are retold."""

_PLAYED: Final[dict[tuple[int, str], Replay]] = {}


def replayed(seed: int, ruleset: Ruleset) -> Replay:
    """A random game to its end, replayed. It is played once for all tests of a process."""
    key = seed, format_ruleset(ruleset)
    if key not in _PLAYED:
        _PLAYED[key] = replay(whole_game(seed, ruleset).lines)
    return _PLAYED[key]


def retold(replay: Replay, observer: Seat | None, chance: random.Random) -> Replay:
    """`replay`, which knows everything, with redistributed cards, and events, positions and dealt cards to match."""
    ruleset = replay.steps[0].course.setup.ruleset
    events = list(redistribute(ruleset, replay.events, observer, chance))
    state: State = ruleset.initial()
    dealt: tuple[tuple[str, str], ...] = ()
    steps = []
    for step in replay.steps:
        told: list[Event] = [events.pop(0) for _ in step.events]
        for event in told:
            state = state.apply(event)
            if isinstance(event, Deal):
                dealt = (*dealt, event.hands)
            elif isinstance(event, Draw):
                assert event.card != UNKNOWN
                host, guest = dealt[-1]
                got = (host + event.card, guest) if event.seat == 0 else (host, guest + event.card)
                dealt = (*dealt[:-1], got)
        # The observer knows the order in which its own cards came, but no event says it.
        own = [list(now) for now in dealt]
        if observer is not None:
            for mine, was in zip(own, step.course.dealt, strict=True):
                mine[observer] = was[observer]
        seen = tuple((host, guest) for host, guest in own)
        steps.append(step._replace(events=tuple(told), course=step.course._replace(state=state, dealt=seen)))
    return Replay(tuple(steps), replay.stop)
