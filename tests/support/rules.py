"""Random games of every ruleset, for the laws in tests/rules.

Everything here uses the protocols of `hkoji.rules.protocol`: another game is one more line in `GAMES`. All randomness
comes from a seed, so that a failing game can be played again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from hkoji.errors import HkojiError, IllegalActionError, IllegalEventError, NotYourTurnError
from hkoji.rules.events import (
    SEATS,
    Act,
    Chance,
    Close,
    Deal,
    Draw,
    Event,
    Outcome,
    Reveal,
    Seat,
    project,
)
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, Json, Ruleset, State
from hkoji.rules.transcript import parse_transcript
from tests.toy.showdown import Showdown

OBSERVERS: Final[tuple[Seat | None, ...]] = (0, 1, None)


@dataclass(frozen=True)
class Game:
    """One game with all its options.

    `cards` gives the names of all cards in a position's JSON, wherever they are; `hidden` are the JSON's keys under
    which an observer may see nothing.
    """

    name: str
    rulesets: tuple[Ruleset, ...]
    cards: Callable[[dict[str, Json]], str]
    hidden: tuple[str, ...]


def _hanamikoji_cards(position: dict[str, Json]) -> str:
    places: list[str] = [str(position["deck"]), str(position["removed"]), str(position["offer"] or "")[1:]]
    for pair in ("hands", "rows", "secrets", "trade_offs"):
        both = position[pair]
        assert isinstance(both, list)
        places.extend(str(cards) for cards in both)
    return "".join(places)


def _geishas_road_cards(position: dict[str, Json]) -> str:
    places: list[str] = [str(position["deck"]), str(position["offer"] or "")[1:], str(position["left"] or "")]
    for pair in ("hands", "tableaus", "intrigues", "discards"):
        both = position[pair]
        assert isinstance(both, list)
        places.extend(str(cards) for cards in both)
    return "".join(places)


def _showdown_cards(position: dict[str, Json]) -> str:
    places: list[str] = [str(position["deck"]), str(position["removed"]), str(position["offer"])]
    for pair in ("hands", "rows", "down"):
        both = position[pair]
        assert isinstance(both, list)
        places.extend(str(cards) for cards in both)
    return "".join(places)


_LIMITS: Final = ((0, "geisha"), *((rounds, tiebreak) for rounds in range(1, 6) for tiebreak in ("geisha", "charm")))

GAMES: Final = (
    Game(
        "hanamikoji",
        tuple(Hanamikoji(first, *limit) for first in ("host", "guest", "random") for limit in _LIMITS),
        _hanamikoji_cards,
        ("hands", "secrets", "trade_offs", "deck", "removed"),
    ),
    Game(
        "geishas-road",
        tuple(GeishasRoad(first, markers) for first in ("host", "guest", "random") for markers in ("choose", "random")),
        _geishas_road_cards,
        ("hands", "intrigues", "discards", "deck"),
    ),
    Game(
        "showdown",
        tuple(Showdown(first, rounds) for first in ("host", "guest", "random") for rounds in range(1, 5)),
        _showdown_cards,
        ("hands", "down", "deck", "removed"),
    ),
)
fewer = settings(max_examples=max(1, settings().max_examples // 3))
"""The number of examples for tests whose examples are expensive; scales with the profile."""
every_game = pytest.mark.parametrize("game", GAMES, ids=[game.name for game in GAMES])


@dataclass(frozen=True)
class Played:
    """A game as the referee knows it. `known` are its positions, if whoever played it has them."""

    ruleset: Ruleset
    events: tuple[Event, ...]
    known: tuple[State, ...] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The position before the first event and after each one."""
        return self.known or tuple(folds(self.ruleset, self.events))

    def until(self, length: int) -> Played:
        """The game after its first `length` events."""
        return Played(self.ruleset, self.events[:length], self.states[: length + 1])

    def then(self, event: Event) -> Played:
        """The game with one more event."""
        return Played(self.ruleset, (*self.events, event), (*self.states, self.states[-1].apply(event)))

    def seen_by(self, seat: Seat | None) -> tuple[Event, ...]:
        """The information state: the events as `seat` sees them."""
        return tuple(project(event, seat, self.ruleset.public) for event in self.events)


def fold(ruleset: Ruleset, events: Iterable[Event]) -> State:
    """The position after `events`."""
    return reduce(lambda state, event: state.apply(event), events, ruleset.initial())


def folds(ruleset: Ruleset, events: Iterable[Event]) -> Iterator[State]:
    """The position before the first event and after each one."""
    state = ruleset.initial()
    yield state
    for event in events:
        state = state.apply(event)
        yield state


def dealt(text: str) -> Deal:
    """A deal written out: `=`, both hands, the deck, and what is removed where a card is."""
    host, guest, rest, *aside = text.removeprefix("=").split("/")
    return Deal((host, guest), rest, "".join(aside))


def read(text: str) -> Played:
    """The game of a transcript."""
    transcript = parse_transcript(text)
    return Played(transcript.ruleset, transcript.events)


def random_game(ruleset: Ruleset, seed: int, most_rounds: int = 6) -> Played:
    """A game to its end; after `most_rounds` rounds it stops, unfinished."""
    chance = random.Random(seed)
    state: State = ruleset.initial()
    states, events = [state], list[Event]()
    while state.due is not Due.OVER and not (state.due is Due.DEAL and state.round == most_rounds):
        event = next_event(ruleset, events, state, chance)
        state = state.apply(event)
        states.append(state)
        events.append(event)
    return Played(ruleset, tuple(events), tuple(states))


def next_event(ruleset: Ruleset, events: list[Event], state: State, chance: random.Random) -> Event:
    """A random event that may come next."""
    match state.due:
        case Due.CHANCE:
            decided = ruleset.chance()
            first = chance.randrange(2) if "first" in decided else None
            markers = "".join(chance.sample(ruleset.markers, 2)) if "markers" in decided else None
            return Chance(first, markers)
        case Due.DEAL:
            deck = [kind for _, kind in ruleset.pack.deck()]
            chance.shuffle(deck)
            return ruleset.deal(tuple(deck))
        case Due.DRAW:
            assert state.actor is not None
            return Draw(state.actor, state.deck[: ruleset.pack.width])
        case Due.REVEAL:
            seat = chance.choice(state.due_reveals())
            return Reveal(seat, secret_of(ruleset, events, seat))
    assert state.actor is not None
    return DECISION_KINDS[state.due](state.actor, choose(state.legal_actions(), chance))


def choose(actions: tuple[str, ...], chance: random.Random) -> str:
    """One of `actions`: first the kind is chosen, then the action, so that the many competitions do not dominate."""
    kind = chance.choice(sorted({action[0] for action in actions}))
    return chance.choice([action for action in actions if action[0] == kind])


def secret_of(ruleset: Ruleset, events: list[Event], seat: Seat) -> str:
    """The face-down card of `seat` that counts in the current round."""
    for event in reversed(events):
        if isinstance(event, Act) and event.seat == seat:
            counting = [hidden.cards for hidden in ruleset.hidden(event.action) if hidden.counts]
            if counting:
                return counting[0]
    raise AssertionError("no face-down card counts")


@cache  # or Hypothesis would validate it anew for each example
def played(game: Game) -> st.SearchStrategy[Played]:
    """Complete games under any options."""
    return st.builds(random_game, st.sampled_from(game.rulesets), st.integers(0, 2**32 - 1))


def decisions(play: Played) -> Iterator[State]:
    """The positions in which a player decides."""
    return (state for state in play.states if state.due in DECISION_DUE)


def text_of(state: State) -> str:
    """A position's JSON as canonical text."""
    return json.dumps(state.to_json(), sort_keys=True, separators=(",", ":"))


def refuses(state: State, event: Event, error: type[HkojiError] = HkojiError, *words: str) -> HkojiError:
    """Asserts that `event` raises `error`, that its message has all `words`, and that nothing has changed.

    The error's data are true of the position: what is due, who must act, what is legal.
    """
    with unchanged(state):
        return refuses_also(state, event, (repr(state), hash(state)), error, *words)


@contextmanager
def unchanged(state: State) -> Iterator[tuple[str, int]]:
    """Asserts that a block leaves a position as it is. Gives what `refuses_also` compares after each event."""
    text, before = text_of(state), (repr(state), hash(state))
    yield before
    assert (text_of(state), repr(state), hash(state)) == (text, *before)


def refuses_also(
    state: State, event: Event, before: tuple[str, int], error: type[HkojiError] = HkojiError, *words: str
) -> HkojiError:
    """`refuses` for one of many events in a block of `unchanged`, which writes the position as JSON once for all."""
    try:
        state.apply(event)
    except error as caught:
        raised = caught
    else:
        raise AssertionError(f"{event} is taken")
    assert (repr(state), hash(state)) == before
    message = str(raised)
    for word in words:
        assert word in message, f"{word!r} is not in {message!r}"
    match raised:
        case IllegalEventError(due=due):
            assert due == state.due.value
        case NotYourTurnError(actor=actor):
            assert actor == state.actor
        case IllegalActionError(shape=shape):
            assert shape == state.shape()
    return raised


def takes_only(state: State, legal: set[str], texts: Iterable[str]) -> None:
    """Asserts that the actor can take exactly the legal ones of `texts`; every other one is refused."""
    assert state.actor is not None
    with unchanged(state) as before:
        for text in texts:
            event = DECISION_KINDS[state.due](state.actor, text)
            if text in legal:
                state.apply(event)
            else:
                refuses_also(state, event, before)


def strays(ruleset: Ruleset, state: State, actions: Iterable[str]) -> Iterator[Event]:
    """Events of the wrong kind or by the wrong seat, none of which may come next."""
    if state.due is not Due.CHANCE:
        yield from (Chance(0), Chance(1), Chance(), Chance(None, "".join(ruleset.markers[:2]) or None))
    if state.due is not Due.DEAL:
        yield ruleset.deal(tuple(kind for _, kind in ruleset.pack.deck()))
        yield ruleset.deal(("X",) * ruleset.pack.size)
    cards = ("X", state.deck[: ruleset.pack.width], ruleset.pack.kinds[0])
    for seat in (*SEATS, 2, -1):
        if state.due is not Due.DRAW or seat != state.actor:
            yield from (
                Draw(seat, "X"),
                Draw(seat, state.deck[: ruleset.pack.width]),
                Draw(seat, ruleset.pack.kinds[0]),
            )
        if seat not in state.due_reveals():
            yield from (Reveal(seat, card) for card in cards)
        for due, kind in DECISION_KINDS.items():
            if state.due is not due or seat != state.actor:
                yield from (kind(seat, action) for action in actions)
    if state.due is Due.OVER:
        yield from (Close(Outcome("resign", 0)), Close(Outcome("cancel", None)))
