"""Positions of Geisha's Road, written as the rounds of a transcript.

From a deal of `X` only, any cards can be played, so a test need not deal the cards that it plays.
"""

from __future__ import annotations

from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from tests.support.rules import Played, read

UNSEEN = "=XXXXXX/XXXXXX"


def game(rounds: str, first: str = "host", markers: str = "random") -> Played:
    """The game of a transcript's rounds. If no chance is given, markers A and B are drawn."""
    chance = "*AB\n" if markers == "random" and "*" not in rounds else ""
    return read(f'[Ruleset "geishas-road/1 first={first} markers={markers}"]\n{chance}{rounds}')


def position(rounds: str, first: str = "host", markers: str = "random") -> GeishasRoadState:
    """The last position of `game`."""
    state = game(rounds, first, markers).states[-1]
    assert isinstance(state, GeishasRoadState)
    return state


def unseen(moves: str, before: str = "") -> str:
    """A round with only its moves: `before` are picks, each token of `moves` comes after a draw."""
    return " ".join([UNSEEN, *before.split(), *(f"+X {token}" for token in moves.split())])
