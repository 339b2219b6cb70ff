"""Positions of random games in which a player decides, for bots; and the simplest program that decides there."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from hkoji.bots.protocol import Seen, see
from hkoji.rules.events import Event
from hkoji.rules.protocol import DECISION_DUE, Ruleset, State
from tests.support.rules import Game, random_game

FIRST: Final = """
import json, sys
for line in sys.stdin:
    print(json.loads(line)["legal"][0], flush=True)
"""
"""A bot that plays the first legal move; it works both ways: started for one request, or kept running."""


class Position(NamedTuple):
    """A position in which a player decides, and what led to it."""

    ruleset: Ruleset
    events: tuple[Event, ...]
    state: State

    @property
    def seen(self) -> Seen:
        """The information state of the seat that decides."""
        return self.seen_after(self.events)

    def seen_after(self, events: tuple[Event, ...]) -> Seen:
        """The information state after other events."""
        assert self.state.actor is not None
        return see(self.ruleset, events, self.state.actor)


def positions(game: Game, seed: int, number: int, of_each: int = 2) -> list[Position]:
    """Some positions of random games, so many of each game."""
    chance = random.Random(seed)
    found: list[Position] = []
    while len(found) < number:
        play = random_game(chance.choice(game.rulesets), chance.randrange(2**32))
        places = [i for i, state in enumerate(play.states) if state.due in DECISION_DUE]
        for place in chance.sample(places, of_each):
            found.append(Position(play.ruleset, play.events[:place], play.states[place]))
    return found


def decisions(game: Game, seed: int, number: int) -> list[Seen]:
    """Information states of the seat that decides, each from a random game of its own."""
    return [position.seen for position in positions(game, seed, number, of_each=1)]
