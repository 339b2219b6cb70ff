"""The random games that the laws of tests/rules go through: as few as meet every kind of position of `KINDS`.

They are made once for all laws. The profiles of Hypothesis say how many there are at least.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from hypothesis import settings

from hkoji.rules.events import SEATS, Close, Outcome
from hkoji.rules.protocol import Due
from tests.support.rules import Game, Played, random_game

_LEAST: Final = max(8, settings().max_examples // 5)
_MOST: Final = 10 * _LEAST + 400
_STARTS: Final = frozenset({"host starts", "guest starts", "random starts"})
_ENDS: Final = ("resign", "timeout", "cancel")
_REVEALS: Final = frozenset({"reveal 0, 1", "reveal 0", "reveal 1"})
_CLOSED: Final = frozenset({"resign 0", "resign 1", "timeout 0", "timeout 1", "cancel None"})
_ROUNDS: Final = frozenset(
    f"{due} in {time} round" for due in ("deal", "draw", "act", "answer", "reveal") for time in ("the first", "a later")
) | {"chance in no round", "deal in no round"}
KINDS: Final = {
    "hanamikoji": _STARTS
    | _REVEALS
    | _CLOSED
    | _ROUNDS
    | {"reveal 1, 0", "act 1", "act 2", "act 3", "act 4", "answer -"}
    | {"charm 0", "charm 1", "geisha 0", "geisha 1", "limit 0", "limit 1", "limit None"},
    "geishas-road": _STARTS
    | _REVEALS
    | _CLOSED
    | _ROUNDS
    | {"reveal 1, 0", "act R", "act I", "act G", "act C", "answer -", "pick !", "pick ^", "order >"}
    | {"pick in the first round", "pick in a later round", "order in the first round", "order in a later round"}
    | {"rounds 0", "rounds 1"},
    "showdown": _STARTS
    | _REVEALS
    | _CLOSED
    | _ROUNDS
    | {"act H", "act O", "answer -", "points 0", "points 1", "points None"},
}
"""The contents of each game: the starter; the entries that are due, with their actions; reveals; ends."""


def kinds(play: Played) -> Iterator[str]:
    """The kinds of the positions of a game."""
    yield f"{play.ruleset.to_json()['first']} starts"
    for state in play.states:
        if state.outcome is not None:
            yield f"{state.outcome.reason} {state.outcome.winner}"
            continue
        yield f"{state.due.value} in {('no', 'the first', 'a later')[min(state.round, 2)]} round"
        if state.due is Due.REVEAL:
            yield f"reveal {', '.join(map(str, state.due_reveals()))}"
        yield from (f"{state.due.value} {shape[0]}" for shape in state.shape())


@cache
def whole_plays(game: Game) -> tuple[Played, ...]:
    """Random games to their end, under any options."""
    found, missing = list[Played](), set(KINDS[game.name])
    chance = random.Random(game.name)
    for number in range(_MOST):
        play = random_game(chance.choice(game.rulesets), chance.getrandbits(32))
        new = missing.intersection(kinds(play))
        if number < _LEAST or new:
            found.append(play)
            missing -= new
        elif missing <= _CLOSED:
            break
    return tuple(found)


@cache
def plays(game: Game) -> tuple[Played, ...]:
    """The games of `whole_plays`, and every second one also stopped anywhere: unfinished, or ended by a player."""
    chance = random.Random(game.name)
    ends = [None, *(Outcome(end, None if end == "cancel" else seat) for end in _ENDS for seat in SEATS)]
    stopped = []
    for number, whole in enumerate(whole_plays(game)[::2]):
        part = whole.until(chance.randrange(len(whole.events)))
        end = ends[number % len(ends)]
        stopped.append(part if end is None else part.then(Close(end)))
    return (*whole_plays(game), *stopped)


def in_each(law: Callable[[Game, Played], None]) -> Callable[[Game], None]:
    """Makes a law of one play a test that goes through `plays`. A failure says in which one."""

    def test(game: Game) -> None:
        for play in plays(game):
            try:
                law(game, play)
            except Exception as error:
                error.add_note(f"in {play}")
                raise

    test.__name__, test.__doc__ = law.__name__, law.__doc__
    return test
